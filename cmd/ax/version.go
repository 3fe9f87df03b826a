package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// programVersion says what program this is, as its build recorded it.
type programVersion struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Changed bool   `json:"changed,omitempty"` // the source differed from the commit
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersion(c *call) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show what program this is",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := ownVersion()
			return c.show(v, v.text)
		},
	}
}

func ownVersion() programVersion {
	v := programVersion{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Changed = s.Value == "true"
		}
	}
	return v
}

func (v programVersion) text() string {
	text := fmt.Sprintf("ax %s, %s %s/%s", v.Version, v.Go, v.OS, v.Arch)
	if v.Commit != "" {
		text += ", commit " + v.Commit
	}
	if v.Changed {
		text += " with changes"
	}
	return text + "\n"
}

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

const someContexts = `
context: prod
contexts:
  prod: {server: "https://ax.example", token: secret, namespace: finance, output: yaml}
  here: {server: "http://127.0.0.1:1"}
`

// configured returns what a verb would know with some arguments, environment and config file.
func configured(t *testing.T, file string, env map[string]string, args ...string) (*call, error) {
	t.Helper()
	if env == nil {
		env = map[string]string{}
	}
	if file != "" {
		env["AX_CONFIG"] = filepath.Join(t.TempDir(), "config.yaml")
		require.NoError(t, os.WriteFile(env["AX_CONFIG"], []byte(file), 0o600))
	}
	c := shell{env: env}.call(nil, nil)
	root := newRoot(c)
	var url string
	probe := &cobra.Command{Use: "probe", RunE: func(*cobra.Command, []string) error { return nil }}
	databaseFlag(probe, &url)
	root.AddCommand(probe)
	root.SetArgs(append([]string{"probe"}, args...))
	err := root.Execute()
	if url != "" {
		c.remote.token = "url " + url
	}
	return c, err
}

func TestSettingsComeFromTheNearestPlace(t *testing.T) {
	local := remote{server: "http://" + defaultListen, namespace: "default"}
	prod := remote{server: "https://ax.example", token: "secret", namespace: "finance"}
	with := func(r remote, change func(*remote)) remote { change(&r); return r }
	for _, c := range []struct {
		name, file string
		env        map[string]string
		args       []string
		want       remote
		output     string
	}{
		{name: "nothing said", want: local, output: "table"},
		{name: "the file's own context", file: someContexts, want: prod, output: "yaml"},
		{name: "a named context", file: someContexts, args: []string{"--context", "here"}, output: "table",
			want: with(local, func(r *remote) { r.server, r.context = "http://127.0.0.1:1", "here" })},
		{name: "a context of the environment", file: someContexts, env: map[string]string{"AX_CONTEXT": "here"}, output: "table",
			want: with(local, func(r *remote) { r.server, r.context = "http://127.0.0.1:1", "here" })},
		{name: "the environment before the file", file: someContexts, env: map[string]string{"AX_NAMESPACE": "ops", "AX_OUTPUT": "json", "AX_TOKEN": ""},
			want: with(prod, func(r *remote) { r.namespace = "ops" }), output: "json"},
		{name: "flags before the environment", file: someContexts, env: map[string]string{"AX_NAMESPACE": "ops"}, args: []string{"--namespace", "hr", "-o", "table"},
			want: with(prod, func(r *remote) { r.namespace = "hr" }), output: "table"},
		{name: "inside a command node", env: map[string]string{"AX_OUTPUT": "/tmp/output.json"}, want: local, output: "table"},
		{name: "flags of verbs", env: map[string]string{"AX_DATABASE_URL": "postgres://x"}, want: with(local, func(r *remote) { r.token = "url postgres://x" }), output: "table"},
		{name: "an empty file", file: "\n", want: local, output: "table"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := configured(t, c.file, c.env, c.args...)
			require.NoError(t, err)
			require.Equal(t, c.want, got.remote)
			require.Equal(t, c.output, got.output)
		})
	}
}

func TestSettingsThatAreWrong(t *testing.T) {
	for says, c := range map[string]struct {
		file string
		env  map[string]string
	}{
		`has no context "nope"`: {file: someContexts, env: map[string]string{"AX_CONTEXT": "nope"}},
		"unknown field":         {file: "contexts: {a: {sever: x}}"},
		`there is no config file for the context "prod"`: {env: map[string]string{"AX_CONTEXT": "prod"}},
		"open /nope: no such file":                       {env: map[string]string{"AX_CONFIG": "/nope"}},
		"no such file":                                   {env: map[string]string{"AX_CONTEXT": "prod", "AX_CONFIG": "/nowhere/config.yaml"}},
		`-o "xml" is unknown: write table, json or yaml`: {file: "context: a\ncontexts: {a: {output: xml}}"},
		"read config file: read /: is a directory":       {env: map[string]string{"AX_CONFIG": "/"}},
	} {
		_, err := configured(t, c.file, c.env)
		require.ErrorContains(t, err, says)
	}
}

func TestConfigPath(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"/a/config.yaml":            {"AX_CONFIG": "/a/config.yaml", "XDG_CONFIG_HOME": "/b", "HOME": "/c"},
		"/b/ax/config.yaml":         {"XDG_CONFIG_HOME": "/b", "HOME": "/c"},
		"/c/.config/ax/config.yaml": {"HOME": "/c"},
	} {
		path, err := shell{env: env}.call(nil, nil).configPath()
		require.NoError(t, err)
		require.Equal(t, want, path)
	}
}

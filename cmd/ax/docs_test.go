package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// docs/cli.md is what the verbs say of themselves.
func TestReferenceIsFresh(t *testing.T) {
	root := newRoot(shell{}.call(nil, nil))
	var b strings.Builder
	b.WriteString("# Command line\n\n<!-- Written by `go test ./cmd/ax -run TestReferenceIsFresh -update` from the commands themselves. -->\n\n" + root.Long + "\n\n")
	b.WriteString("Flags of every verb:\n\n" + flagList(root.PersistentFlags()))
	b.WriteString("\nThese flags may also be said as variables of the environment (`AX_SERVER` for `--server`): " + strings.Join(settable, ", ") + ".\n\n")
	b.WriteString("The config file is `~/.config/ax/config.yaml`, or what `AX_CONFIG` names:\n\n```yaml\n" + strings.TrimSpace(someContexts) + "\n```\n\n")
	b.WriteString("Exit codes:\n\n```\n" + exitHelp + "```\n")
	for _, verb := range root.Commands() {
		describe(&b, verb)
	}
	golden(t, "../../../docs/cli.md", b.String())
}

func describe(b *strings.Builder, cmd *cobra.Command) {
	if cmd.GroupID == "" && cmd.Parent().Name() == "ax" {
		return
	}
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	if cmd.HasSubCommands() {
		fmt.Fprintf(b, "\n## %s\n\n%s\n", cmd.CommandPath(), text)
		for _, verb := range cmd.Commands() {
			describe(b, verb)
		}
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n```\n%s\n```\n\n%s\n", cmd.CommandPath(), cmd.UseLine(), text)
	if list := flagList(cmd.NonInheritedFlags()) + flagList(inheritedHere(cmd)); list != "" {
		b.WriteString("\n" + list)
	}
	if cmd.Example != "" {
		b.WriteString("\n```sh\n" + regexp.MustCompile(`(?m)^  `).ReplaceAllString(cmd.Example, "") + "\n```\n")
	}
}

// inheritedHere are the flags of commands between the root and a verb.
func inheritedHere(cmd *cobra.Command) *pflag.FlagSet {
	if parent := cmd.Parent(); parent.HasParent() {
		return parent.PersistentFlags()
	}
	return pflag.NewFlagSet("", pflag.ContinueOnError)
}

func flagList(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name += ", `-" + f.Shorthand + "`"
		}
		fmt.Fprintf(&b, "- %s: %s", name, f.Usage)
		if d := f.DefValue; d != "" && d != "[]" && d != "false" && d != "0" && d != "0s" {
			fmt.Fprintf(&b, " (%s)", d)
		}
		b.WriteString("\n")
	})
	return b.String()
}

// The definition that the README shows is a good one.
func TestDefinitionOfTheReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	require.NotEmpty(t, shown)
	for _, s := range shown {
		require.Contains(t, shell{input: string(s[1])}.ax("validate", "-").good(t), ": ok: ")
	}
}

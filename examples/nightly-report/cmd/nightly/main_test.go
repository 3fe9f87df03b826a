package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// call runs one step in this process on the given inputs.
func call(t *testing.T, input string, args ...string) (output, log string, err error) {
	t.Helper()
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.WriteFile(in, []byte(input), 0o600))
	env := map[string]string{"AX_INPUT": in, "AX_OUTPUT": out}
	var logged bytes.Buffer
	err = run(context.Background(), args, func(k string) string { return env[k] }, &logged)
	if text, readErr := os.ReadFile(out); readErr == nil {
		output = string(text)
	}
	return output, logged.String(), err
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		name, input string
		args        []string
		code        int
		says        string
	}{
		{"no step", `{}`, nil, exitUsage, "usage: nightly STEP"},
		{"unknown step", `{}`, []string{"extrac"}, exitUsage, `there is no step "extrac"`},
		{"unknown region", `{}`, []string{"aggregate", "east"}, exitUsage, `there is no region "east"`},
		{"region missing", `{}`, []string{"aggregate"}, exitUsage, `there is no step "aggregate"`},
		{"not JSON", `{`, []string{"extract"}, exitData, "inputs: unexpected EOF"},
		{"unknown input", `{"day": 1}`, []string{"extract"}, exitData, `unknown field "day"`},
		{"wrong type", `{"date": 1}`, []string{"extract"}, exitData, "cannot unmarshal number"},
		{"a date without data", `{"date": "2026-11-30"}`, []string{"extract"}, exitData, "the data covers"},
		{"a dirty record", `{"day": {"date": "2001-03-12", "suspects": [{"region": "midwest", "problem": "bad"}]}}`,
			[]string{"aggregate", "midwest"}, exitData, "aggregate midwest: 2001-03-12: bad"},
		{"a folder that cannot be", `{"page": {"date": "2001-01-15", "html": "x"}, "folder": "/dev/null/x"}`,
			[]string{"publish"}, exitFailed, "not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			output, _, err := call(t, c.input, c.args...)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.code, exitCode(err))
			require.Empty(t, output, "a failed step leaves no output")
		})
	}
}

func TestStepLogsWhatItDid(t *testing.T) {
	output, log, err := call(t, `{"date": "2001-01-15"}`, "extract")
	require.NoError(t, err)
	require.Equal(t, "212 flights departed on 2001-01-15\n", log)
	require.Contains(t, output, `{"date":"2001-01-15","flights":[{"departed":"00:`)
}

func TestHelp(t *testing.T) {
	_, log, err := call(t, "", "--help")
	require.NoError(t, err)
	require.Equal(t, usage, log)
}

func TestFilesMustBeNamedAndThere(t *testing.T) {
	none := func(string) string { return "" }
	err := run(context.Background(), []string{"extract"}, none, os.Stdout)
	require.ErrorContains(t, err, "AX_INPUT and AX_OUTPUT must name files")
	require.Equal(t, exitUsage, exitCode(err))

	absent := func(string) string { return filepath.Join(t.TempDir(), "none", "file") }
	err = run(context.Background(), []string{"extract"}, absent, os.Stdout)
	require.ErrorContains(t, err, "read inputs")
	require.Equal(t, exitFailed, exitCode(err))
}

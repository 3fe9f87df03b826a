package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
)

func TestValidateListsEveryProblem(t *testing.T) {
	d := shell{}.ax("validate", "testdata/broken", "testdata/good.yaml")
	d.fails(t, exitUsage, "problems in 8 files")
	golden(t, "validate.golden", d.out+d.err)
}

func TestValidateAsJSON(t *testing.T) {
	d := shell{}.ax("validate", "testdata/broken/cycle.yaml", "-o", "json")
	require.Equal(t, exitUsage, d.code)
	golden(t, "validate_json.golden", d.out)
}

func TestValidateGoodDefinitions(t *testing.T) {
	require.Equal(t, "testdata/good.yaml: ok: workflow good.one, 2 nodes\n", shell{}.ax("validate", "testdata/good.yaml").good(t))
	text, err := os.ReadFile("testdata/good.yaml")
	require.NoError(t, err)
	require.Equal(t, "<stdin>: ok: workflow good.one, 2 nodes\n", shell{input: string(text)}.ax("validate", "-").good(t))
}

func TestValidateFolders(t *testing.T) {
	place := t.TempDir()
	good, err := os.ReadFile("testdata/good.yaml")
	require.NoError(t, err)
	for _, name := range []string{"one.yaml", "below/two.yml", ".hidden/three.yaml", ".four.yaml", "notes.txt"} {
		path := filepath.Join(place, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, good, 0o644))
	}
	d := shell{}.ax("validate", place, filepath.Join(place, "one.yaml"))
	d.fails(t, exitUsage, "1 problem in 1 file")
	require.Contains(t, d.out, "one.yaml: error: workflow: the workflow good.one is defined in "+place+"/below/two.yml already [duplicate_name]")
	require.Equal(t, 1, strings.Count(d.out, ": ok: "), d.out)

	shell{}.ax("validate", t.TempDir()).fails(t, exitUsage, "has no definition")
	shell{}.ax("validate", "testdata/nowhere.yaml").fails(t, exitUsage, "there is no definition at testdata/nowhere.yaml")
}

func TestValidateHugeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge.yaml")
	require.NoError(t, os.WriteFile(path, []byte("workflow: huge\n"+strings.Repeat("# nothing\n", 1<<20)), 0o644))
	d := shell{}.ax("validate", path)
	d.fails(t, exitUsage, "1 problem in 1 file")
	require.Contains(t, d.out, "huge.yaml is larger than the 8 MiB that are read ["+dag.CodeTooLarge+"]")
}

// What a file says cannot steer the terminal.
func TestProblemsArePrintable(t *testing.T) {
	d := shell{input: "workflow: \"x\\u001b[2J\"\nnodes: {a: {command: [\"true\"]}}\n"}.ax("validate", "-")
	require.Equal(t, exitUsage, d.code)
	require.NotContains(t, d.out, "\x1b")
}

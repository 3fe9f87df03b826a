package dag_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file, or writes it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to write the file")
	require.Equal(t, string(want), got)
}

// files lists the documents of a folder of testdata.
func files(t *testing.T, folder string) []string {
	t.Helper()
	found := filesOf(folder)
	require.NotEmpty(t, found)
	return found
}

func filesOf(folder string) []string {
	yaml, _ := filepath.Glob(filepath.Join("testdata", folder, "*.yaml")) // the pattern is sound
	json, _ := filepath.Glob(filepath.Join("testdata", folder, "*.json"))
	return append(yaml, json...)
}

func TestProblems(t *testing.T) {
	for _, path := range files(t, "problems") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			g, problems := dag.Load(data, dag.BuildOptions{})
			require.True(t, problems.Failed())
			require.Nil(t, g)
			got := problems.Error() + "\n"
			if problems.Unparsable() {
				got = "unparsable\n" + got
			}
			golden(t, path+".golden", got)
		})
	}
}

func TestValid(t *testing.T) {
	for _, path := range files(t, "valid") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			g, problems := dag.Load(data, dag.BuildOptions{})
			require.Empty(t, problems)
			var pretty bytes.Buffer
			require.NoError(t, json.Indent(&pretty, g.Canonical(), "", "  "))
			golden(t, strings.TrimSuffix(path, filepath.Ext(path))+".golden", pretty.String()+"\n")

			again, problems := dag.Load(g.Canonical(), dag.BuildOptions{})
			require.Empty(t, problems, "what Build writes out, Build accepts")
			require.Equal(t, g.Digest(), again.Digest(), "and it means the same")
			rebuilt, err := dag.Rebuild(g.Canonical())
			require.NoError(t, err)
			require.Equal(t, g.Digest(), rebuilt.Digest())
			require.Equal(t, g.Canonical(), rebuilt.Canonical())
		})
	}
}

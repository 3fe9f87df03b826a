package dag_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
)

// Whatever comes in, there is an answer: a graph, or problems with places; and what builds, rebuilds.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{"valid", "problems"} {
		for _, path := range filesOf(folder) {
			data, err := os.ReadFile(path)
			require.NoError(f, err)
			if len(data) < 10_000 && !strings.Contains(path, "bomb") { // each bomb takes too long to explore many
				f.Add(data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g, problems := dag.Load(data, dag.BuildOptions{})
		require.Equal(t, g == nil, problems.Failed())
		for _, p := range problems {
			require.NotEmpty(t, p.Code)
			require.NotEmpty(t, p.Message)
		}
		if g == nil {
			return
		}
		again, err := dag.Rebuild(g.Canonical())
		require.NoError(t, err)
		require.Equal(t, string(g.Canonical()), string(again.Canonical()))
	})
}

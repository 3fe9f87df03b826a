package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

func TestConstantInputsReachTheBody(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"echo": echo})
	run := b.launch(b.register(`
workflow: constants
nodes:
  a: {handler: echo, inputs: {big: 12345678901234567890, list: [1.50, "<&>", null], deep: {yes: true}}}
`), 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.JSONEq(t, `{"big": 12345678901234567890, "list": [1.50, "<&>", null], "deep": {"yes": true}}`, b.output(run, "a"))
	require.Contains(t, b.output(run, "a"), "12345678901234567890")
}

// output is what a node that succeeded returned.
func (b *bed) output(run store.RunID, node string) string {
	b.Helper()
	outs, err := b.store.Outputs(b.Context(), []store.RunID{run}, []string{node})
	require.NoError(b, err)
	require.Len(b, outs, 1)
	return string(outs[0].Output)
}

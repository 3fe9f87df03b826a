package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// A run that only waits for a person does not use up its own timeout (S17).
func TestClockStandsWhileOnlyAPersonIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"echo": echo})
	run := b.launch(b.register("workflow: slow\ntimeout: 3s\nnodes: {a: {handler: echo}, ask: {needs: [a], approval: {}}, b: {handler: echo, needs: [ask]}}"), 1, "{}")[0]
	b.until("its clock stands", func() bool {
		return b.count("SELECT count(*) FROM ax.runs WHERE id = $1 AND stopped_at IS NOT NULL", run) == 1
	})
	b.until("its timeout would have passed", func() bool {
		return b.count("SELECT count(*) FROM ax.runs WHERE id = $1 AND now() > deadline_at + interval '200 milliseconds'", run) == 1
	})
	require.NoError(t, b.engine.Decide(t.Context(), store.Attempt{Run: run, Node: "ask", Shard: store.WholeNode}, Decision{Actor: "user:lead", Approved: true}))
	require.Equal(t, progress.Succeeded, b.wait(run))
	var left time.Duration
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT deadline_at - finished_at FROM ax.runs WHERE id = $1", run).Scan(&left))
	require.Positive(t, left, "the time it stood was given back")
}

// A wait has no timeout unless one is given, and then it holds.
func TestWaitThatTakesTooLong(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"ok": succeed})
	run := b.launch(b.register("workflow: late\nnodes: {a: {wait: {for: 1h}, timeout: 1s, retry: {max_attempts: 1}}, b: {wait: {for: 1s}}}"), 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(run))
	require.Equal(t, map[string]string{"a": "failed", "b": "succeeded"}, b.nodes(run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'a' AND outcome = 'timeout'", run))
}

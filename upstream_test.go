package ax_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax"
	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// Ends by the fast path and by the general one, of runs and of nodes, start what waits for them, each once.
func TestWhatEndsStartsWhatWaitsForIt(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	noop := engine.ExecutorFunc(func(context.Context, *engine.Task) engine.Outcome { return engine.Outcome{} })
	flaky := engine.ExecutorFunc(func(_ context.Context, task *engine.Task) engine.Outcome {
		if task.Attempt.Number == 1 {
			return engine.Outcome{Err: &progress.Error{Class: progress.System, Code: "again", Message: "again"}}
		}
		return engine.Outcome{}
	})
	app := start(t, pool, ax.Config{Worker: engine.WorkerConfig{Handlers: map[string]engine.Executor{"noop": noop, "flaky": flaky}}})
	for _, text := range []string{
		"workflow: fast\nnodes: {a: {handler: noop}, b: {handler: noop, needs: [a]}}",
		"workflow: slow\nnodes: {a: {handler: flaky, retry: {delay: 10ms, max_attempts: 2}}}",
		"workflow: both\nupstream: {all: [{workflow: fast}, {workflow: slow}]}\nnodes: {a: {handler: noop}}",
		"workflow: node\nupstream: {all: [{workflow: both, node: a}]}\nnodes: {a: {handler: noop}}",
		"workflow: third\nupstream: {all: [{workflow: node, match: latest}]}\nnodes: {a: {handler: noop}}",
	} {
		graph, problems := dag.Load([]byte(text), dag.BuildOptions{DefaultTimezone: "UTC"})
		require.NoError(t, problems.Err())
		_, err := planner.Register(t.Context(), store.New(pool), planner.Registration{Namespace: "default", Graph: graph, Actor: "test"})
		require.NoError(t, err)
	}
	const days = 20
	for d := range days {
		for _, code := range []string{"fast", "slow"} {
			_, err := app.Trigger(t.Context(), nil, ax.Trigger{Workflow: code, LogicalTime: time.Date(2026, 12, d+1, 12, 0, 0, 0, time.UTC)})
			require.NoError(t, err)
		}
	}
	count := func(sql string) (n int) {
		require.NoError(t, pool.QueryRow(t.Context(), sql).Scan(&n))
		return n
	}
	require.Eventually(t, func() bool {
		return count("SELECT count(*) FROM ax.runs r JOIN ax.workflows w ON w.id = r.workflow_id WHERE w.code = 'third' AND r.state = 'succeeded'") == days
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, 3*days, count("SELECT count(*) FROM ax.runs WHERE trigger = 'upstream'"))
	require.Equal(t, 3*days, count("SELECT count(DISTINCT (workflow_id, logical_date)) FROM ax.runs WHERE trigger = 'upstream'"))
	require.Positive(t, count("SELECT count(*) FROM ax.runs r JOIN ax.workflows w ON w.id = r.workflow_id WHERE w.code = 'fast' AND r.clean"), "the fast path was taken")
}

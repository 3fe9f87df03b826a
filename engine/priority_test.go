package engine

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/store"
)

// A run's priority is that of its nodes, unless they have their own, by the fast path, by the general one, and out of the queue; and a
// queued run of better priority starts first (S24).
func TestARunsPriorityIsItsNodes(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	var mu sync.Mutex
	seen := make(map[store.RunID]map[string]int)
	b := newBed(t, nil)
	body := ExecutorFunc(func(ctx context.Context, task *Task) Outcome {
		var p int
		if err := b.pool.QueryRow(ctx, "SELECT priority FROM ax_river.river_job WHERE unique_key = ax.job_key($1, $2, -1)", task.Attempt.Run, task.Attempt.Node).Scan(&p); err != nil {
			return Outcome{Err: invalidOutput(err.Error())}
		}
		mu.Lock()
		defer mu.Unlock()
		if seen[task.Attempt.Run] == nil {
			seen[task.Attempt.Run] = make(map[string]int)
		}
		seen[task.Attempt.Run][task.Attempt.Node] = p
		return Outcome{}
	})
	b.engine = b.start("w", map[string]Executor{"x": body, "wait": ExecutorFunc(func(ctx context.Context, task *Task) Outcome { <-gate; return body(ctx, task) })})
	launch := func(version int64, priority int) store.RunID {
		var got []store.Launched
		require.NoError(t, b.store.InTx(t.Context(), func(tx pgx.Tx) (err error) {
			got, err = b.engine.Launch(t.Context(), tx, []store.Trigger{{Version: version, Kind: "backfill", Actor: "t", Priority: priority, ScheduledAt: time.Now(), LogicalDate: "2026-11-30"}})
			return err
		}))
		require.NoError(t, got[0].Err)
		return got[0].Run
	}
	fast := b.register("workflow: fast\nnodes: {a: {handler: x}, b: {handler: x, needs: [a]}, c: {handler: x, needs: [a], priority: 1}}")
	general := b.register("workflow: general\nnodes: {a: {handler: x, when: 'true'}, b: {handler: x, needs: [a], when: 'true'}}")
	runs := map[store.RunID]map[string]int{
		launch(fast, 3): {"a": 3, "b": 3, "c": 1}, launch(fast, 0): {"a": 2, "b": 2, "c": 1}, launch(general, 3): {"a": 3, "b": 3},
	}
	one := b.register("workflow: one\nconcurrency: {max_runs: 1}\nnodes: {a: {handler: wait}}")
	first, filling, live := launch(one, 2), launch(one, 3), launch(one, 0)
	runs[filling], runs[live] = map[string]int{"a": 3}, map[string]int{"a": 2}
	gate <- struct{}{}
	b.wait(first)
	require.Equal(t, "running", string(b.state(live)), "what is live goes before what is filled in")
	require.Equal(t, "queued", string(b.state(filling)))
	close(gate)
	for run, want := range runs {
		b.wait(run)
		mu.Lock()
		require.Equal(t, want, seen[run])
		mu.Unlock()
	}
}

package engine

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/pgdev"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/migrations"
)

// TestDatabaseGoesAwayInMidRun kills the database under running work, brings it back, and wants every run to end as if
// nothing had been.
func TestDatabaseGoesAwayInMidRun(t *testing.T) {
	t.Parallel()
	config := pgdev.Config{Dir: t.TempDir()}
	server, err := pgdev.Start(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, server.Stop(ctx))
	})
	require.NoError(t, migrations.Up(t.Context(), server.URL()))
	pool, err := pgxpool.New(t.Context(), server.URL())
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := &bed{T: t, pool: pool, store: store.New(pool)}
	b.engine = b.start("steady", map[string]Executor{"nap": ExecutorFunc(func(ctx context.Context, _ *Task) Outcome {
		select {
		case <-time.After(50 * time.Millisecond):
			return Outcome{}
		case <-ctx.Done():
			return Outcome{Err: &progress.Error{Class: progress.System, Code: "stopped", Message: ctx.Err().Error()}}
		}
	})})
	narrow := b.setPool("narrow", slots(4))
	runs := b.launch(b.register(`
workflow: outage
nodes:
  a: {handler: nap}
  b: {handler: nap, needs: [a]}
  c: {handler: nap, needs: [b], pool: narrow, retry: {max_lost: 10}}
  d: {handler: nap, needs: [c]}
`), 20, "{}")
	b.until("some nodes have ended", func() bool { return b.count("SELECT count(*) FROM ax.node_runs") >= 20 })
	require.NoError(t, server.Kill())
	server, err = pgdev.Start(t.Context(), config)
	require.NoError(t, err)
	for _, run := range runs {
		b.until("the run ends", func() bool {
			var state progress.State
			err := pool.QueryRow(t.Context(), "SELECT state FROM ax.runs WHERE id = $1", run).Scan(&state)
			return err == nil && state == progress.Succeeded
		})
	}
	require.Zero(t, b.count(`SELECT count(*) FROM (SELECT run_id, node FROM ax.node_runs WHERE state = 'succeeded'
		GROUP BY run_id, node HAVING count(*) > 1) twice`))
	b.free(narrow)
}

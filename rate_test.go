package ax_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax"
	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// schedulesPerSecond is how many schedules fire every second in TestManyPlannersAndWorkers.
const schedulesPerSecond = 100

// TestManyPlannersAndWorkers runs two planners and three workers on one database at 100 fires a second, and compares the
// ledger and the runs with the expected list. `make soak` lets it go on for a minute.
func TestManyPlannersAndWorkers(t *testing.T) {
	t.Parallel()
	lasts := 5 * time.Second
	if text := os.Getenv("AX_SOAK_SECONDS"); text != "" {
		var err error
		lasts, err = time.ParseDuration(text + "s")
		require.NoError(t, err)
	}
	pool := dbtest.New(t)
	apps := make([]*ax.App, 5)
	for i := range apps {
		config := ax.Config{Pool: pool, Parts: ax.Plan, KeepSchema: true, Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))}
		if i >= 2 {
			config.Parts = ax.Work
			config.Worker = engine.WorkerConfig{Name: fmt.Sprintf("worker-%d", i), Handlers: map[string]engine.Executor{
				"noop": engine.ExecutorFunc(func(context.Context, *engine.Task) engine.Outcome { return engine.Outcome{} })}}
		}
		app, err := ax.New(config)
		require.NoError(t, err)
		require.NoError(t, app.Start(t.Context()))
		apps[i] = app
	}
	for i := range schedulesPerSecond {
		graph, problems := dag.Load(fmt.Appendf(nil, "workflow: tick%d\nschedules: [{every: 1s}]\nnodes: {a: {handler: noop}, b: {handler: noop, needs: [a]}}", i),
			dag.BuildOptions{DefaultTimezone: "UTC"})
		require.NoError(t, problems.Err())
		_, err := planner.Register(t.Context(), store.New(pool), planner.Registration{Namespace: "default", Graph: graph, Actor: "test"})
		require.NoError(t, err)
	}
	stopped := make(chan struct{})
	time.AfterFunc(lasts, func() { close(stopped) })
	<-stopped
	for _, app := range apps[:2] {
		require.NoError(t, app.Stop(t.Context()))
	}
	require.Eventually(t, func() bool { return one(t, pool, "SELECT count(*) FROM ax.runs WHERE finished_at IS NULL") == 0 }, 20*time.Second, 20*time.Millisecond)
	for _, app := range apps[2:] {
		require.NoError(t, app.Stop(t.Context()))
	}
	requireExpectedFires(t, pool, int(lasts.Seconds()))
}

// requireExpectedFires compares what was fired with what every schedule owed from its registration until it was last planned.
func requireExpectedFires(t *testing.T, pool *pgxpool.Pool, seconds int) {
	t.Helper()
	fired := one(t, pool, "SELECT count(*) FROM ax.fires WHERE result = 'fired'")
	t.Logf("%d fires, the latest %d ms after its time", fired, one(t, pool, `SELECT (extract(epoch FROM max(r.created_at - r.scheduled_at)) * 1000)::int FROM ax.runs r`))
	require.GreaterOrEqual(t, fired, schedulesPerSecond*(seconds-2))
	require.Zero(t, one(t, pool, `SELECT count(*) FROM ax.schedules s
		CROSS JOIN LATERAL generate_series(s.anchor + interval '1 second', s.next_fire_at - interval '1 second', interval '1 second') AS due
		FULL JOIN ax.fires f ON f.schedule_id = s.id AND f.scheduled_at = due
		WHERE f.schedule_id IS NULL OR due IS NULL OR f.result <> 'fired'`), "missing, doubled or refused fires")
	require.Equal(t, fired, one(t, pool, "SELECT count(DISTINCT (schedule_id, scheduled_at)) FROM ax.runs WHERE state = 'succeeded'"))
	require.Equal(t, fired, one(t, pool, "SELECT count(*) FROM ax.runs"))
	require.Equal(t, 2*fired, one(t, pool, "SELECT count(*) FROM ax.node_runs WHERE state = 'succeeded'"))
}

func one(t *testing.T, pool *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(context.Background(), sql).Scan(&n))
	return n
}

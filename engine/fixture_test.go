package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
)

// quick are timings for tests: everything is looked at often, and a dead worker is lost in three seconds: a starved machine is not a dead one.
var quick = Timings{Beat: 500 * time.Millisecond, Misses: 3, Probe: 1500 * time.Millisecond, Look: 50 * time.Millisecond, Grace: 300 * time.Millisecond,
	Reconcile: 500 * time.Millisecond, Doubt: 4 * time.Second}

// bed is a database with an engine on it.
type bed struct {
	*testing.T
	pool   *pgxpool.Pool
	store  *store.Store
	engine *Engine
	// harmed says that the reconciler may find something.
	harmed bool
}

// newBed starts an engine whose worker has the given handlers.
func newBed(t *testing.T, handlers map[string]Executor) *bed {
	t.Helper()
	b := &bed{T: t, pool: dbtest.New(t)}
	t.Cleanup(func() { // when the engines have stopped
		checkInvariants(t, b.pool)
		if !b.harmed {
			var found []string
			require.NoError(t, b.pool.QueryRow(context.Background(),
				"SELECT COALESCE(array_agg(concat_ws(' ', kind, subject, detail)), '{}') FROM ax.findings WHERE state <> 'suspected'").Scan(&found))
			require.Empty(t, found, "the reconciler found something in a sound engine")
		}
	})
	b.store = store.New(b.pool)
	b.engine = b.start("worker", handlers)
	return b
}

// start starts one more engine on the bed's database; without handlers it has no worker.
func (b *bed) start(name string, handlers map[string]Executor) *Engine {
	b.Helper()
	config := Config{Pool: b.pool, Timings: quick, Logger: slog.New(slog.NewTextHandler(b.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))}
	if handlers != nil {
		config.Worker = &WorkerConfig{Name: name, Handlers: handlers}
	}
	e, err := New(config)
	require.NoError(b, err)
	require.NoError(b, e.Start(b.Context()))
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(b, e.Stop(ctx))
	})
	return e
}

// register stores a workflow and returns its version.
func (b *bed) register(definition string) int64 {
	b.Helper()
	def, problems := dag.Parse([]byte(definition))
	require.Empty(b, problems)
	graph, problems := dag.Build(def, dag.BuildOptions{DefaultTimezone: "UTC"})
	require.NoError(b, problems.Err())
	namespace, err := b.store.Namespace(b.Context(), "default")
	require.NoError(b, err)
	var version store.Version
	require.NoError(b, b.store.InTx(b.Context(), func(tx pgx.Tx) error {
		w, err := b.store.LockWorkflow(b.Context(), tx, namespace, def.Workflow)
		if err != nil {
			return err
		}
		digest := graph.Digest()
		version, err = b.store.SaveVersion(b.Context(), tx, store.NewVersion{Workflow: w.ID, Digest: digest[:], Definition: graph.Canonical(), Actor: "test"})
		if err != nil {
			return err
		}
		current := store.Current{Workflow: w.ID, Version: version.ID}
		if c := graph.Definition().Concurrency; c != nil && c.MaxRuns > 0 {
			current.MaxRuns, current.MaxQueued, current.Overflow = new(int32(c.MaxRuns)), new(int32(c.MaxQueued)), new(string(c.Overflow))
		}
		if err := b.store.SetCurrent(b.Context(), tx, current); err != nil {
			return err
		}
		return b.store.StirQueued(b.Context(), tx, w.ID)
	}))
	require.NoError(b, b.store.EnsureQueues(b.Context(), namespace, []string{"default"}))
	return version.ID
}

// launch starts runs of a version.
func (b *bed) launch(version int64, n int, params string) []store.RunID {
	b.Helper()
	triggers := make([]store.Trigger, n)
	for i := range triggers {
		triggers[i] = store.Trigger{Version: version, Kind: "manual", Actor: "user:test", ScheduledAt: time.Now(), LogicalDate: "2026-11-30", Params: []byte(params)}
	}
	var launched []store.Launched
	require.NoError(b, b.store.InTx(b.Context(), func(tx pgx.Tx) (err error) {
		launched, err = b.engine.Launch(b.Context(), tx, triggers)
		return err
	}))
	var runs []store.RunID
	for _, l := range launched {
		require.NoError(b, l.Err)
		require.Empty(b, l.Refused)
		runs = append(runs, l.Run)
	}
	return runs
}

// state is a run's state and reason.
func (b *bed) state(run store.RunID) (state progress.State) {
	b.Helper()
	require.NoError(b, b.pool.QueryRow(b.Context(), "SELECT state FROM ax.runs WHERE id = $1", run).Scan(&state))
	return state
}

// wait waits until a run is terminal, and checks that nothing is left of it.
func (b *bed) wait(run store.RunID) progress.State {
	b.Helper()
	b.until("run "+run.String()+" ends", func() bool { return b.state(run).Terminal() })
	b.until("nothing live is left", func() bool {
		return b.count("SELECT count(*) FROM ax_river.river_job WHERE unique_key >= int8send($1) AND unique_key < int8send($1 + 1)", run) == 0
	})
	require.Zero(b, b.count("SELECT count(*) FROM ax.held WHERE run_id = $1", run))
	return b.state(run)
}

func (b *bed) until(what string, holds func() bool) {
	b.Helper()
	require.Eventually(b, holds, 20*time.Second, 5*time.Millisecond, what)
}

func (b *bed) count(sql string, args ...any) (n int) {
	b.Helper()
	require.NoError(b, b.pool.QueryRow(b.Context(), sql, args...).Scan(&n))
	return n
}

// nodes are the newest states of a run's nodes.
func (b *bed) nodes(run store.RunID) map[string]string {
	b.Helper()
	rows, err := b.pool.Query(b.Context(), `SELECT DISTINCT ON (node) node, state FROM ax.node_runs WHERE run_id = $1
		ORDER BY node, generation DESC, attempt DESC`, run)
	require.NoError(b, err)
	out := make(map[string]string)
	var node, state string
	_, err = pgx.ForEachRow(rows, []any{&node, &state}, func() error { out[node] = state; return nil })
	require.NoError(b, err)
	return out
}

// succeed is a body that does nothing.
var succeed = ExecutorFunc(func(context.Context, *Task) Outcome { return Outcome{} })

// failing is a body that fails in a class.
func failing(class progress.Class) Executor {
	return ExecutorFunc(func(context.Context, *Task) Outcome {
		return Outcome{Err: &progress.Error{Class: class, Code: "boom", Message: "it broke"}}
	})
}

// echo returns its inputs.
var echo = ExecutorFunc(func(_ context.Context, t *Task) Outcome { return Outcome{Output: json.RawMessage(t.Inputs)} })

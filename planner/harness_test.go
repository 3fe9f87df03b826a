package planner_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// house is a database with a store and a planner that does not run yet.
type house struct {
	*testing.T
	store    *store.Store
	launcher *launcher
	planner  *planner.Planner
	observed chan planner.Observed
}

func newHouse(t *testing.T) *house {
	t.Helper()
	return newHouseOn(t, dbtest.New(t))
}

// newHouseAt is a house on a database that others connect to as well.
func newHouseAt(t *testing.T, url string) *house {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return newHouseOn(t, pool)
}

func newHouseOn(t *testing.T, pool *pgxpool.Pool) *house {
	h := &house{T: t, store: store.New(pool), observed: make(chan planner.Observed, 100_000)}
	h.launcher = &launcher{store: h.store}
	h.planner = h.newPlanner()
	return h
}

func (h *house) newPlanner() *planner.Planner {
	return planner.New(planner.Config{Store: h.store, Launcher: h.launcher, Repeater: h.launcher, Observe: func(o planner.Observed) { h.observed <- o }})
}

// launcher creates plain runs. What it is told to refuse or to fail at is chosen by schedule.
type launcher struct {
	store   *store.Store
	refused map[int64]string
	broken  map[int64]error
	// poison schedules spoil the whole transaction.
	poison map[int64]bool
	// full is how many of a launch's runs are let in before the rest is refused; nil is all.
	full *int
	// versions are those read before, by int64.
	versions sync.Map
}

func (l *launcher) version(ctx context.Context, id int64) (store.VersionSource, error) {
	if known, ok := l.versions.Load(id); ok {
		return known.(store.VersionSource), nil
	}
	v, err := l.store.VersionSource(ctx, id)
	l.versions.Store(id, v)
	return v, err
}

func (l *launcher) Launch(ctx context.Context, tx pgx.Tx, triggers []store.Trigger) ([]store.Launched, error) {
	ids, _, err := l.store.NextRuns(ctx, tx, len(triggers), nil)
	if err != nil {
		return nil, err
	}
	out := make([]store.Launched, len(triggers))
	var runs []store.NewRun
	for i, t := range triggers {
		if l.poison[t.Schedule] {
			if _, err := tx.Exec(ctx, "SELECT 1 / 0"); err != nil {
				return nil, fmt.Errorf("launch a run: %w", err)
			}
		}
		if l.full != nil && len(runs) >= *l.full {
			out[i].Refused = store.SkipOverlap
			continue
		}
		if out[i].Refused, out[i].Err = l.refused[t.Schedule], l.broken[t.Schedule]; out[i].Refused != "" || out[i].Err != nil {
			continue
		}
		v, err := l.version(ctx, t.Version)
		if err != nil {
			return nil, err
		}
		out[i].Run, out[i].State = ids[i], progress.Running
		runs = append(runs, store.NewRun{
			ID: ids[i], Namespace: v.Namespace, Workflow: v.Workflow, Version: t.Version, State: progress.Running, Priority: 2,
			Trigger: t.Kind, Actor: t.Actor, Schedule: t.Schedule, ScheduledAt: t.ScheduledAt, LogicalDate: t.LogicalDate,
			PreviousScheduledAt: t.PreviousScheduledAt, Params: t.Params, Timeout: time.Hour,
		})
	}
	if len(runs) == 0 {
		return out, nil
	}
	return out, l.store.InsertRuns(ctx, tx, runs, nil)
}

// Repeat makes runs for the times of others.
func (l *launcher) Repeat(ctx context.Context, tx pgx.Tx, wishes []store.Repeat) ([]store.Launched, error) {
	var out []store.Launched
	for _, w := range wishes {
		t := store.Trigger{Version: w.Version, Kind: w.Kind, Actor: w.Actor, Params: w.Params}
		err := tx.QueryRow(ctx, "SELECT scheduled_at, to_char(logical_date, 'YYYY-MM-DD') FROM ax.runs WHERE id = $1", w.Run).Scan(&t.ScheduledAt, &t.LogicalDate)
		if err != nil {
			return nil, err
		}
		got, err := l.Launch(ctx, tx, []store.Trigger{t})
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, "UPDATE ax.runs SET replay_of = $2, key = $3 WHERE id = $1", got[0].Run, w.Run, fmt.Sprint("whole ", w.Whole)); err != nil {
			return nil, err
		}
		out = append(out, got[0])
	}
	return out, nil
}

// graph makes a workflow of one node from its schedules and further keys, in YAML.
func graph(t require.TestingT, code, keys string) *dag.Graph {
	g, problems := dag.Load([]byte("workflow: "+code+"\nnodes: {a: {handler: x}}\n"+keys), dag.BuildOptions{DefaultTimezone: "UTC"})
	require.NoError(t, problems.Err())
	return g
}

func schedules(list string) string { return "schedules: [" + list + "]\n" }

func (h *house) register(code, keys string) planner.Registered {
	h.Helper()
	return h.registerGraph(graph(h, code, keys))
}

func (h *house) registerGraph(g *dag.Graph) planner.Registered {
	h.Helper()
	r, err := planner.Register(h.Context(), h.store, planner.Registration{Namespace: "default", Graph: g, Actor: "user:t"})
	require.NoError(h, err)
	return r
}

// fire lets the planner work until nothing is due.
func (h *house) fire() {
	h.Helper()
	for more := true; more; {
		var err error
		more, err = planner.FireBatch(h.Context(), h.planner)
		require.NoError(h, err)
	}
}

// back moves the schedules of a workflow into the past, as if nobody had planned for a while.
func (h *house) back(workflow int64, d time.Duration) {
	h.Helper()
	h.exec("UPDATE ax.schedules SET next_fire_at = now() - $2::interval WHERE workflow_id = $1", workflow, d)
}

func (h *house) exec(sql string, args ...any) {
	h.Helper()
	_, err := h.store.Pool().Exec(h.Context(), sql, args...)
	require.NoError(h, err)
}

// launch starts runs in a transaction of its own.
func (h *house) launch(triggers ...store.Trigger) (out []store.Launched) {
	h.Helper()
	require.NoError(h, h.store.InTx(h.Context(), func(tx pgx.Tx) (err error) {
		out, err = h.launcher.Launch(h.Context(), tx, triggers)
		return err
	}))
	return out
}

// one reads one value.
func one[T any](h *house, sql string, args ...any) T {
	h.Helper()
	rows, err := h.store.Pool().Query(h.Context(), sql, args...)
	require.NoError(h, err)
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(h, err)
	return v
}

// ledger counts a workflow's expected fires by what became of them.
func (h *house) ledger(workflow int64) map[string]int {
	h.Helper()
	rows, err := h.store.Pool().Query(h.Context(), `SELECT concat_ws(' ', result, reason), sum(count)::int FROM ax.fires f
		JOIN ax.schedules s ON s.id = f.schedule_id WHERE s.workflow_id = $1 GROUP BY 1`, workflow)
	require.NoError(h, err)
	counts := map[string]int{}
	var what string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&what, &n}, func() error { counts[what] = n; return nil })
	require.NoError(h, err)
	return counts
}

func (h *house) scheduleOf(workflow int64) int64 {
	h.Helper()
	return one[int64](h, "SELECT id FROM ax.schedules WHERE workflow_id = $1", workflow)
}

func (h *house) next(workflow int64) *time.Time {
	h.Helper()
	return one[*time.Time](h, "SELECT next_fire_at FROM ax.schedules WHERE workflow_id = $1", workflow)
}

package planner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// start runs planners until the test ends.
func (h *house) start(planners ...*planner.Planner) (stop func()) {
	h.Helper()
	for _, p := range planners {
		require.NoError(h, p.Start(h.Context()))
	}
	return func() {
		for _, p := range planners {
			require.NoError(h, p.Stop(context.WithoutCancel(h.Context())))
		}
	}
}

// await waits until planners have fired a number of runs.
func (h *house) await(runs int) {
	h.Helper()
	patience := time.After(time.Minute)
	for runs > 0 {
		select {
		case o := <-h.observed:
			if o.Result == store.Fired {
				require.Positive(h, o.Delay)
				runs--
			}
		case <-patience:
			require.FailNow(h, "planners do not fire", "%d runs are missing", runs)
		}
	}
}

// What the ledger of an interval must be: every instant from the first after the anchor, without a hole, once, each with the
// run of its time. The query returns what differs.
const wrongFires = `
WITH expected AS (
	SELECT s.id, i.at FROM ax.schedules s, (SELECT max(scheduled_at) AS last FROM ax.fires) l,
		generate_series(s.anchor + interval '1 second', l.last - interval '1 second', interval '1 second') i (at)
), fired AS (
	SELECT f.schedule_id, f.scheduled_at FROM ax.fires f JOIN ax.runs r ON r.id = f.run_id AND r.schedule_id = f.schedule_id AND r.scheduled_at = f.scheduled_at
	WHERE f.result = 'fired' AND f.count = 1 AND r.trigger = 'schedule' AND r.actor = 'planner'
		AND r.previous_scheduled_at IS NOT DISTINCT FROM (SELECT max(scheduled_at) FROM ax.fires p WHERE p.schedule_id = f.schedule_id AND p.scheduled_at < f.scheduled_at)
)
SELECT (SELECT count(*) FROM expected e WHERE NOT EXISTS (SELECT FROM fired f WHERE f.schedule_id = e.id AND f.scheduled_at = e.at))
	+ (SELECT count(*) FROM ax.fires) - (SELECT count(*) FROM fired)
	+ (SELECT count(*) FROM (SELECT FROM ax.runs GROUP BY schedule_id, scheduled_at HAVING count(*) > 1) doubles)
	+ abs((SELECT count(*) FROM ax.runs) - (SELECT count(*) FROM fired))`

func TestTwoPlannersFireEveryInstantOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const workflows = 20
	for i := range workflows {
		h.register(fmt.Sprintf("w%d", i), schedules("{name: a, every: 1s}, {name: b, every: 1s}"))
	}
	stop := h.start(h.planner, h.newPlanner())
	h.await(2 * workflows * 3)
	stop()
	require.Zero(t, one[int64](h, wrongFires))
}

func TestRegistrationWakesThePlanner(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	defer h.start(h.planner)()
	at := one[time.Time](h, "SELECT clock_timestamp() + interval '500 ms'")
	h.register("once", schedules("{at: "+at.Format(time.RFC3339Nano)+"}"))
	h.await(1)
	require.Nil(t, h.next(one[int64](h, "SELECT id FROM ax.workflows")))
}

func TestPlannerOutlivesLostConnections(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.register("w", schedules("{every: 1s}"))
	stop := h.start(h.planner)
	h.await(1)
	h.exec("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	h.await(2)
	stop()
	require.Zero(t, one[int64](h, wrongFires))
}

func TestPlannerStopsAndStartsAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.register("w", schedules("{every: 1s}"))
	h.start(h.planner)()
	stop := h.start(h.planner)
	h.await(1)
	stop()
}

func TestPoisonStopsNoOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var flows []int64
	for i := range 5 {
		flows = append(flows, h.register(fmt.Sprintf("w%d", i), schedules("{every: 1h}")).Workflow)
		h.back(flows[i], 2*time.Hour-time.Second)
	}
	h.launcher.poison = map[int64]bool{h.scheduleOf(flows[0]): true}
	h.launcher.broken = map[int64]error{h.scheduleOf(flows[1]): errors.New("param \x00region is missing")}
	h.launcher.refused = map[int64]string{h.scheduleOf(flows[2]): store.SkipOverlap}
	h.exec(`UPDATE ax.schedules SET spec = '{"every": 1}' WHERE workflow_id = $1`, flows[3])
	h.fire()
	require.Equal(t, map[string]int{"failed launch a run: ERROR: division by zero (SQLSTATE 22012)": 1}, h.ledger(flows[0]))
	require.Equal(t, map[string]int{"failed param region is missing": 1}, h.ledger(flows[1]))
	require.Equal(t, map[string]int{"skipped overlap": 1}, h.ledger(flows[2]))
	require.Len(t, h.ledger(flows[3]), 1) // failed, with what encoding/json says
	require.Equal(t, map[string]int{"fired": 1}, h.ledger(flows[4]))
	for _, f := range flows {
		require.True(t, h.next(f).After(time.Now()), "it goes on")
	}
}

// A row that exists already is the last line of defence: the run is not made again, and the schedule goes on.
func TestAnInstantInTheLedgerIsNotFiredAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", schedules("{every: 1m, catchup: all}")).Workflow
	h.back(w, 10*time.Minute)
	h.exec("UPDATE ax.schedules SET anchor = anchor - interval '1 day'")
	h.fire()
	fired := h.ledger(w)
	h.back(w, 10*time.Minute)
	h.fire()
	require.Equal(t, fired, h.ledger(w))
}

func TestManyRunsTakeSeveralTransactions(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i := range 4 {
		h.register(fmt.Sprintf("w%d", i), schedules("{every: 1s, catchup: all, catchup_limit: 600}"))
	}
	h.exec("UPDATE ax.schedules SET anchor = anchor - interval '1 day', next_fire_at = next_fire_at - interval '20 minutes'")
	more, err := planner.FireBatch(t.Context(), h.planner)
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, int64(500), one[int64](h, "SELECT count(*) FROM ax.runs"))
	h.fire()
	require.GreaterOrEqual(t, one[int64](h, "SELECT count(*) FROM ax.runs"), int64(4*659))
	require.Zero(t, one[int64](h, "SELECT count(*) FROM (SELECT FROM ax.runs GROUP BY schedule_id, scheduled_at HAVING count(*) > 1) doubles"))
}

func TestRunsCarryTheParamsOfTheirSchedule(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", "params: {id: {type: integer}, note: {type: string, default: n}}\n"+
		schedules("{every: 1h, timezone: Asia/Shanghai, params: {id: 9007199254740993}}")).Workflow
	h.back(w, 0)
	h.exec("UPDATE ax.schedules SET anchor = anchor - interval '1 hour', next_fire_at = anchor")
	h.fire()
	require.Equal(t, `{"id":9007199254740993}`, one[string](h, "SELECT params::text FROM ax.runs"))
	require.True(t, one[bool](h, "SELECT logical_date = (scheduled_at AT TIME ZONE 'Asia/Shanghai')::date FROM ax.runs"))
}

// lines is a logger that keeps its messages.
type lines struct {
	slog.Handler
	said chan string
}

func (l lines) Handle(_ context.Context, r slog.Record) error { l.said <- r.Message; return nil }

func TestPlannerTellsOnceThatTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/nothing")
	require.NoError(t, err)
	defer pool.Close()
	log := lines{slog.Default().Handler(), make(chan string, 100)}
	s := store.New(pool)
	p := planner.New(planner.Config{Store: s, Launcher: &launcher{store: s}, Logger: slog.New(log)})
	round := planner.Rounds(p)
	for range 3 {
		require.Positive(t, round(t.Context()), "it waits before it tries again")
	}
	require.Equal(t, "planner cannot work, and keeps trying", <-log.said)
	require.Empty(t, log.said)
}

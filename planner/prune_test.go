package planner_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

func (h *house) prune() int {
	h.Helper()
	steps, err := planner.Prune(h.Context(), h.planner)
	require.NoError(h, err)
	return steps
}

// hourly fills the ledger of a schedule with a row an hour of the last days.
func (h *house) hourly(sched int64, days int, result string) {
	h.Helper()
	h.exec(`INSERT INTO ax.fires (schedule_id, scheduled_at, result, run_id)
		SELECT $1, at, $3, CASE $3 WHEN 'fired' THEN extract(epoch FROM at)::bigint END FROM generate_series(date_trunc('hour', now()) - $2 * interval '1 day', now(), interval '1 hour') at`,
		sched, days, result)
}

func (h *house) rows(sched int64) int64 {
	h.Helper()
	return one[int64](h, "SELECT count(*) FROM ax.fires WHERE schedule_id = $1", sched)
}

func TestTheLedgerIsKeptAsLongAsItsWorkflowSays(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	usual := h.scheduleOf(h.register("usual", schedules("{cron: '0 * * * *'}")).Workflow)
	short := h.scheduleOf(h.register("short", "retention: {runs: 3d}\n"+schedules("{cron: '0 * * * *'}")).Workflow)
	h.hourly(usual, 200, "fired")
	h.hourly(short, 200, "fired")
	h.exec("INSERT INTO ax.fires (schedule_id, scheduled_at, until_at, count, result) VALUES ($1, now() - interval '300 days', now() - interval '2 days', 9, 'skipped')", short)
	steps := h.prune()
	require.Greater(t, steps, 4, "in steps")
	require.InDelta(t, 90*24, h.rows(usual), 2)
	require.InDelta(t, 3*24+1, h.rows(short), 2, "a stretch stays until all of it is old")
	require.Zero(t, one[int64](h, "SELECT count(*) FROM ax.fires WHERE schedule_id = $1 AND scheduled_at < now() - interval '90 days 1 hour'", usual))
	require.Equal(t, one[time.Time](h, "SELECT min(scheduled_at) - interval '1 hour' FROM ax.fires WHERE schedule_id = $1", usual),
		one[time.Time](h, "SELECT pruned_until FROM ax.ledger_starts WHERE schedule_id = $1", usual))
	before := h.rows(usual)
	h.prune()
	require.Equal(t, before, h.rows(usual))
}

// What planners go on from stays, however old it is.
func TestPruningKeepsWhatPlannersGoOnFrom(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.register("w", schedules("{cron: '0 * * * *', catchup: none}"))
	sched := h.scheduleOf(r.Workflow)
	h.hourly(sched, 400, "fired")
	h.exec("DELETE FROM ax.fires WHERE scheduled_at > now() - interval '300 days'")
	last := one[time.Time](h, "SELECT max(scheduled_at) FROM ax.fires")
	h.exec(`INSERT INTO ax.fires (schedule_id, scheduled_at, result, reason) SELECT $1, at, 'skipped', 'paused'
		FROM generate_series($2::timestamptz + interval '1 hour', $2::timestamptz + interval '20 days', interval '1 hour') at`, sched, last)
	h.prune()
	require.Equal(t, int64(2), h.rows(sched), "the newest row and the newest run")
	h.exec("UPDATE ax.schedules SET next_fire_at = date_trunc('hour', now())")
	h.exec("UPDATE ax.schedules SET spec = jsonb_set(spec::jsonb, '{misfire_threshold}', '\"2h\"')::json")
	h.fire()
	require.Equal(t, last, one[time.Time](h, "SELECT previous_scheduled_at FROM ax.runs WHERE trigger = 'schedule'").In(last.Location()))
}

// A backfill does not take what is not kept any more for what never ran.
func TestBackfillBeforeTheLedgerBegins(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.daily("retention: {runs: 30d}\n" + schedules("{cron: '0 2 * * *'}"))
	sched := h.scheduleOf(r.Workflow)
	h.exec("UPDATE ax.schedules SET created_at = '2026-03-03T12:00:00Z'")
	h.exec("INSERT INTO ax.fires (schedule_id, scheduled_at, result, run_id) SELECT $1, at, 'fired', 1 FROM generate_series('2026-03-04T02:00:00Z', now(), interval '1 day') at", sched)
	h.prune()
	ask := planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-10"}
	seen := h.preview(ask)
	require.Equal(t, map[planner.Verdict]int{planner.VerdictRun: 3, planner.VerdictNone: 7}, seen.Counts, "the first three were never owed")
	require.Equal(t, map[string]int{planner.NoneExpired: 7}, seen.Reasons)
	id := h.backfill(ask)
	h.finish("succeeded")
	require.Equal(t, store.BackfillCounts{Total: 10, Passed: 7, Succeeded: 3}, h.state(id).Counts)
	ask.Reprocess = store.ReprocessAll
	require.Equal(t, 10, h.preview(ask).Counts[planner.VerdictRun]+h.preview(ask).Counts[planner.VerdictRepeat])
}

func TestWhatIsLongOverIsRemoved(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.upstreams("{all: [{workflow: a}]}", "a", "b")
	a, down := w["a"].Workflow, w["down"].Workflow
	keep := h.register("c", "retention: {runs: 10d}\n").Workflow
	h.register("waits", "upstream: {all: [{workflow: c}]}\n")
	delayed := []store.DelayedRun{}
	for _, of := range []int64{a, a, a, keep} {
		delayed = append(delayed, store.DelayedRun{Namespace: 1, Workflow: of, Params: []byte("{}"), RunAt: time.Now(), ScheduledAt: time.Now(), LogicalDate: "2026-11-30", Actor: "user:t"})
	}
	var ids []store.RunID
	require.NoError(t, h.store.InTx(t.Context(), func(tx pgx.Tx) (err error) {
		ids, err = h.store.AddDelayed(t.Context(), tx, delayed)
		return err
	}))
	for i, days := range []int{200, 50, 0, 50} {
		if days > 0 {
			h.exec("UPDATE ax.delayed_runs SET state = 'canceled', due_at = NULL, ended_at = now() - $2 * interval '1 day' WHERE id = $1", ids[i], days)
		}
	}
	for key, state := range map[string]string{"run:x:1": "fired", "2020-01-01": "fired", "2020-01-02": "expired", "2020-01-03#x": "fired"} {
		h.exec(`INSERT INTO ax.upstream_sets (workflow_id, key, state, scheduled_at, logical_date, expires_at, ended_at)
			VALUES ($1, $2, $3, now(), now(), now(), now() - interval '200 days')`, down, key, state)
	}
	h.exec(`INSERT INTO ax.upstream_sets (workflow_id, key, state, scheduled_at, logical_date, expires_at, ended_at) VALUES ($1, 'run:y:1', 'fired', now(), now(), now(), now())`, down)
	// Of a the old one counts still, of b nobody waits, and c says how long.
	for of, ages := range map[int64][]int{a: {200}, w["b"].Workflow: {0, 200}, keep: {5, 20}} {
		for _, days := range ages {
			h.exec(`INSERT INTO ax.watched_runs (run_id, workflow_id, scheduled_at, logical_date, ended)
				SELECT ax.run_id_at(at) + $1, $1, at, at, true FROM (SELECT now() - $2 * interval '1 day' AS at) t`, of, days)
		}
	}
	// The date is old, and the run is not.
	h.exec(`INSERT INTO ax.watched_runs (run_id, workflow_id, scheduled_at, logical_date, ended) VALUES (ax.run_id_at(now()), $1, '2020-01-01', '2020-01-01', true)`, keep)
	h.prune()
	require.Equal(t, int64(2), one[int64](h, "SELECT count(*) FROM ax.delayed_runs"))
	require.Equal(t, int64(1), one[int64](h, "SELECT count(*) FROM ax.delayed_runs WHERE due_at IS NOT NULL"))
	require.Equal(t, []string{"2020-01-01", "2020-01-02", "2020-01-03", "run"}, h.keys(down))
	watched := func(of int64) int64 {
		return one[int64](h, "SELECT count(*) FROM ax.watched_runs WHERE workflow_id = $1", of)
	}
	require.Equal(t, []int64{1, 0, 2}, []int64{watched(a), watched(w["b"].Workflow), watched(keep)})
}

// keys are those of a workflow's sets, without what follows the date or the word.
func (h *house) keys(workflow int64) []string {
	h.Helper()
	rows, err := h.store.Pool().Query(h.Context(), "SELECT split_part(split_part(key, '#', 1), ':', 1) FROM ax.upstream_sets WHERE workflow_id = $1 ORDER BY key", workflow)
	require.NoError(h, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(h, err)
	return got
}

func TestBackfillsThatAreLongOverAreRemoved(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.daily(schedules("{cron: '* * * * *'}"))
	old := h.backfill(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-01"})
	h.exec("UPDATE ax.backfills SET state = 'completed', look_at = NULL, ended_at = now() - interval '100 days'")
	h.exec(`INSERT INTO ax.backfill_slots (backfill_id, schedule_id, scheduled_at, state, round)
		SELECT $1, 1, at, 'succeeded', 1 FROM generate_series('2026-03-01'::timestamptz, '2026-03-04', interval '1 minute') at`, old)
	newer := h.backfill(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-01"})
	h.prune()
	require.Equal(t, newer, one[store.RunID](h, "SELECT id FROM ax.backfills"))
	require.Zero(t, one[int64](h, "SELECT count(*) FROM ax.backfill_slots"))
}

// Two planners do not prune at once, and one that works on the ledger does not wait for one that prunes.
func TestPruningIsDoneByOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	sched := h.scheduleOf(h.register("w", schedules("{cron: '* * * * *'}")).Workflow)
	h.hourly(sched, 200, "fired")
	step := store.PruneStep{What: store.PruneFires, Owners: 10, Rows: 10, Keep: time.Hour}
	require.NoError(t, h.store.InTx(t.Context(), func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock(hashtextextended('ax.prune', 0))")
		require.NoError(t, err)
		got, err := h.store.Prune(t.Context(), step)
		require.NoError(t, err)
		require.True(t, got.Busy)
		h.exec("UPDATE ax.schedules SET next_fire_at = now()")
		h.fire()
		return nil
	}))
	got, err := h.store.Prune(t.Context(), step)
	require.NoError(t, err)
	require.Equal(t, store.Pruned{Last: sched, Gone: 10}, got)
}

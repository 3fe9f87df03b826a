package planner_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// daily registers a workflow as if that had been on a day long ago.
func (h *house) daily(keys string) planner.Registered {
	h.Helper()
	r := h.register("w", keys)
	h.exec("UPDATE ax.schedule_specs SET valid_from = '2026-01-01'")
	return r
}

func (h *house) backfill(r planner.Backfilling) store.RunID {
	h.Helper()
	r.Namespace, r.Actor = 1, "user:b"
	id, err := planner.StartBackfill(h.Context(), h.store, r, "")
	require.NoError(h, err)
	return id
}

func (h *house) preview(r planner.Backfilling) planner.BackfillPreview {
	h.Helper()
	r.Namespace = 1
	got, err := planner.PreviewBackfill(h.Context(), h.store, r)
	require.NoError(h, err)
	return got
}

// feed looks at backfills until there is nothing to do.
func (h *house) feed() {
	h.Helper()
	for found := true; found; {
		var err error
		found, err = planner.FeedBackfill(h.Context(), h.planner)
		require.NoError(h, err)
	}
}

// allEnd ends the runs that go on.
func (h *house) allEnd(state string) {
	h.Helper()
	h.exec("UPDATE ax.runs SET state = $1 WHERE state = 'running'", state)
}

// finish feeds backfills and ends their runs until none is running.
func (h *house) finish(state string) {
	h.Helper()
	for one[bool](h, "SELECT EXISTS (SELECT FROM ax.backfills WHERE state = 'running')") {
		h.feed()
		h.allEnd(state)
	}
}

func (h *house) state(id store.RunID) store.Backfill {
	h.Helper()
	b, err := h.store.Backfill(h.Context(), 1, id)
	require.NoError(h, err)
	h.counted(b)
	return b
}

// counted requires the counts of a backfill to be those of its rows.
func (h *house) counted(b store.Backfill) {
	h.Helper()
	of := func(s store.SlotState) int {
		return one[int](h, "SELECT count(*)::int FROM ax.backfill_slots WHERE backfill_id = $1 AND state = $2", b.ID, s)
	}
	c := b.Counts
	require.Equal(h, []int{of(store.SlotWaiting), of(store.SlotActive), of(store.SlotSucceeded), of(store.SlotFailed)}, []int{c.Waiting, c.Active, c.Succeeded, c.Failed})
	if b.State == store.BackfillCompleted || b.State == store.BackfillWithFailures {
		require.Equal(h, c.Total, c.Passed+c.Succeeded+c.Failed)
	}
}

// made are the logical times of a backfill's runs in the order in which they were made.
func (h *house) made(zone string) []string {
	h.Helper()
	rows, err := h.store.Pool().Query(h.Context(), `SELECT to_char(scheduled_at AT TIME ZONE $1, 'MM-DD HH24:MI') || ' ' || to_char(logical_date, 'DD') FROM ax.runs
		WHERE trigger = 'backfill' ORDER BY id`, zone)
	require.NoError(h, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(h, err)
	return got
}

func TestBackfillMakesWhatIsMissing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.daily("params: {n: {type: integer, default: 0}, m: {type: number, default: 0}}\n" +
		schedules("{cron: '0 2 * * *', timezone: Asia/Shanghai, params: {n: 7}}"))
	require.NoError(t, h.store.Pause(t.Context(), r.Workflow, "user:t", "")) // backfill runs start all the same (S33)
	ask := planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-05", Params: []byte(`{"m": 9007199254740993}`)}
	seen := h.preview(ask)
	require.Equal(t, map[planner.Verdict]int{planner.VerdictRun: 5}, seen.Counts)
	require.Equal(t, 5, seen.Total)
	require.Equal(t, "2026-03-01T02:00:00+08:00", seen.Slots[0].At.Format(time.RFC3339))

	id := h.backfill(ask)
	h.feed()
	require.Equal(t, 1, h.state(id).Counts.Active, "one at a time unless said")
	h.finish("succeeded")
	require.Equal(t, []string{"03-01 02:00 01", "03-02 02:00 02", "03-03 02:00 03", "03-04 02:00 04", "03-05 02:00 05"}, h.made("Asia/Shanghai"))
	b := h.state(id)
	require.Equal(t, store.BackfillCompleted, b.State)
	require.NotNil(t, b.EndedAt)
	require.Equal(t, store.BackfillCounts{Total: 5, Succeeded: 5}, b.Counts)
	require.Equal(t, int64(5), one[int64](h, `SELECT count(*) FROM ax.fires f JOIN ax.runs r ON r.id = f.run_id AND r.scheduled_at = f.scheduled_at
		WHERE f.kind = 'fill' AND f.result = 'fired' AND f.reason = 'backfill'`))
	require.Equal(t, int64(5), one[int64](h, `SELECT count(*) FROM ax.runs WHERE actor = 'user:b' AND params::text = '{"m":9007199254740993,"n":7}'`))
	require.Equal(t, int64(4), one[int64](h, "SELECT count(*) FROM ax.runs WHERE previous_scheduled_at = scheduled_at - interval '1 day'"))

	again := h.backfill(ask)
	h.finish("succeeded")
	require.Equal(t, store.BackfillCounts{Total: 5, Passed: 5}, h.state(again).Counts, "a slot that has a run is not filled")
}

func TestBackfillOrdersAndLimits(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.daily(schedules("{name: a, cron: '0 2 * * *'}, {name: b, cron: '0 2,14 * * *', timezone: Asia/Shanghai}, {name: c, delay: 1h}"))
	id := h.backfill(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-02", NewestFirst: true, MaxRuns: 3})
	h.feed()
	require.Equal(t, store.BackfillCounts{Total: 6, Active: 3}, h.state(id).Counts)
	h.finish("succeeded")
	require.Equal(t, []string{"03-02 06:00 02", "03-02 02:00 02", "03-01 18:00 02", "03-01 06:00 01", "03-01 02:00 01", "02-28 18:00 01"}, h.made("UTC"))

	other := h.backfill(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-03T02:00", To: "2026-03-03T02:00", Schedules: []string{"b"}})
	h.finish("succeeded")
	require.Equal(t, store.BackfillCounts{Total: 1, Succeeded: 1}, h.state(other).Counts)
}

// The instants of a stretch are those of the specs that held then; before the first one, its own.
func TestBackfillGoesByTheSpecOfThen(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const params = "params: {n: {type: integer, default: 0}}\n"
	r := h.daily(params + schedules("{name: x, cron: '0 2 * * *', params: {n: 1}}"))
	h.register("w", params+schedules("{name: x, cron: '0 3 * * *', timezone: Asia/Shanghai, params: {n: 2}}"))
	h.exec("UPDATE ax.schedule_specs SET valid_from = '2026-03-03T00:00:00Z' WHERE valid_from > '2026-02-01'")
	h.backfill(planner.Backfilling{Workflow: r.Workflow, From: "2025-12-31T00:00:00Z", To: "2026-01-02T00:00:00Z"})
	h.finish("succeeded")
	require.Equal(t, []string{"12-31 02:00 31", "01-01 02:00 01"}, h.made("UTC"))
	h.exec("DELETE FROM ax.runs")
	id := h.backfill(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-02", To: "2026-03-04", MaxRuns: 2})
	h.finish("succeeded")
	require.Equal(t, []string{"03-02 02:00 02", "03-03 19:00 04"}, h.made("UTC"), "the zone of today says where the dates begin")
	require.Equal(t, int64(1), one[int64](h, `SELECT count(*) FROM ax.runs WHERE params::jsonb = '{"n": 2}'`))
	require.Equal(t, store.BackfillCompleted, h.state(id).State)

	// Removed, it can still be named.
	h.register("w", params)
	_, err := planner.StartBackfill(t.Context(), h.store, planner.Backfilling{Namespace: 1, Workflow: r.Workflow, From: "2026-03-05", To: "2026-03-05"}, "")
	var wrong *planner.BackfillError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "schedules", wrong.Field)
	require.Equal(t, 1, h.preview(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-05", To: "2026-03-05", Schedules: []string{"x"}}).Total)
}

func TestBackfillOverChangesOfClocks(t *testing.T) {
	t.Parallel()
	for _, newest := range []bool{false, true} {
		h := newHouse(t)
		r := h.daily(schedules("{name: x, cron: '30 2 * * *', timezone: Europe/Berlin}"))
		spring := h.preview(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-28", To: "2026-03-30", NewestFirst: newest})
		autumn := h.preview(planner.Backfilling{Workflow: r.Workflow, From: "2026-10-24", To: "2026-10-26", NewestFirst: newest})
		var got []string
		for _, s := range append(spring.Slots, autumn.Slots...) {
			got = append(got, s.At.Format("01-02T15:04Z07:00"))
		}
		want := []string{"03-28T02:30+01:00", "03-29T03:00+02:00", "03-30T02:30+02:00", "10-24T02:30+02:00", "10-25T02:30+02:00", "10-26T02:30+01:00"}
		if newest {
			want = []string{want[2], want[1], want[0], want[5], want[4], want[3]}
		}
		require.Equal(t, want, got)
	}
}

func TestBackfillExtendsAnIntervalBackwards(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.register("w", schedules("{every: 6h}"))
	h.exec("UPDATE ax.schedule_specs SET anchor = '2026-11-01T03:00:07Z'")
	seen := h.preview(planner.Backfilling{Workflow: r.Workflow, From: "2026-10-01", To: "2026-10-01"})
	require.Equal(t, 4, seen.Total)
	require.Equal(t, "2026-10-01T03:00:07Z", seen.Slots[0].At.UTC().Format(time.RFC3339))
}

func TestBackfillLeavesTheLiveScheduleItsOwn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.register("w", schedules("{cron: '* * * * *', catchup: all}"))
	h.exec("UPDATE ax.schedule_specs SET valid_from = '2026-01-01'")
	h.exec("UPDATE ax.schedules SET next_fire_at = date_trunc('minute', now()) - interval '3 minutes'")
	now := one[time.Time](h, "SELECT date_trunc('minute', now())")
	id := h.backfill(planner.Backfilling{Workflow: r.Workflow, From: now.Add(-6 * time.Minute).Format(time.RFC3339), MaxRuns: 100})
	h.feed()
	h.fire()
	h.finish("succeeded")
	require.Equal(t, 3, h.state(id).Counts.Succeeded, "what is still owed is the schedule's")
	require.GreaterOrEqual(t, one[int64](h, "SELECT count(*) FROM ax.runs WHERE trigger = 'schedule'"), int64(4))
	require.Zero(t, one[int64](h, "SELECT count(*) - count(DISTINCT scheduled_at) FROM ax.runs"))
}

func TestBackfillReprocesses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.daily(schedules("{cron: '0 2 * * *'}"))
	first := planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-04", MaxRuns: 10}
	h.backfill(first)
	h.feed()
	for day, state := range map[string]string{"2026-03-01": "succeeded", "2026-03-02": "failed", "2026-03-03": "canceled"} {
		h.exec("UPDATE ax.runs SET state = $2 WHERE logical_date = $1", day, state)
	}
	h.feed()
	failed := planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-05", Reprocess: store.ReprocessFailed, MaxRuns: 10}
	seen := h.preview(failed)
	require.Equal(t, map[planner.Verdict]int{planner.VerdictRun: 1, planner.VerdictReplay: 2, planner.VerdictNone: 2}, seen.Counts)
	require.Equal(t, map[string]int{planner.NoneHasRun: 1, planner.NoneActive: 1}, seen.Reasons)
	require.Equal(t, "running", seen.Slots[3].State)
	id := h.backfill(failed)
	h.feed()
	require.Equal(t, store.BackfillCounts{Total: 5, Passed: 2, Active: 3}, h.state(id).Counts)
	require.Equal(t, int64(2), one[int64](h, "SELECT count(*) FROM ax.runs WHERE replay_of IS NOT NULL AND key = 'whole false' AND trigger = 'backfill'"))
	h.finish("succeeded")

	require.Equal(t, 5, h.preview(failed).Reasons[planner.NoneHasRun], "the newest run of each counts")
	all := failed
	all.Reprocess = store.ReprocessAll
	require.Equal(t, 5, h.preview(all).Counts[planner.VerdictRepeat])
	h.backfill(all)
	h.finish("succeeded")
	require.Equal(t, int64(5), one[int64](h, "SELECT count(*) FROM ax.runs WHERE key = 'whole true'"))
	require.Equal(t, int64(5), one[int64](h, "SELECT count(*) FROM ax.fires WHERE kind = 'fill'"), "a slot is filled once")
}

func TestBackfillTriesAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.daily(schedules("{cron: '0 2 * * *'}"))
	h.launcher.broken = map[int64]error{h.scheduleOf(r.Workflow): fmt.Errorf("no such thing")}
	id := h.backfill(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-04", MaxRuns: 2})
	h.feed()
	b := h.state(id)
	require.Equal(t, store.BackfillWithFailures, b.State)
	require.Equal(t, 4, b.Counts.Failed)
	require.Equal(t, int64(4), one[int64](h, "SELECT count(*) FROM ax.backfill_slots WHERE reason = 'no such thing' AND run_id IS NULL"))

	change := store.BackfillChange{Backfill: id, Actor: "user:r", Note: "fixed"}
	retry := func() {
		changed, err := h.store.RetryBackfill(t.Context(), change)
		require.NoError(t, err)
		require.True(t, changed)
	}
	retry()
	h.feed()
	require.Equal(t, store.BackfillWithFailures, h.state(id).State, "it fails again, and does not go round in circles")
	h.launcher.broken = nil
	retry()
	h.finish("failed")
	require.Equal(t, store.BackfillWithFailures, h.state(id).State)
	h.exec("UPDATE ax.runs SET state = 'succeeded' WHERE logical_date = '2026-03-02'") // rerun by hand
	retry()
	h.finish("succeeded")
	b = h.state(id)
	require.Equal(t, store.BackfillCompleted, b.State)
	require.Equal(t, []any{"user:r", "fixed", 4}, []any{b.ChangedBy, b.ChangeNote, b.Round})
	require.Equal(t, int64(3), one[int64](h, "SELECT count(*) FROM ax.runs WHERE replay_of IS NOT NULL"))
	changed, err := h.store.RetryBackfill(t.Context(), change)
	require.NoError(t, err)
	require.False(t, changed, "nothing has failed")
}

func TestBackfillWaitsForItsPlace(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.daily(schedules("{cron: '0 2 * * *'}"))
	h.launcher.full = new(int)
	id := h.backfill(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-04", MaxRuns: 3})
	h.feed()
	require.Equal(t, store.BackfillCounts{Total: 4, Waiting: 3}, h.state(id).Counts)
	*h.launcher.full = 1
	for range 3 {
		h.exec("UPDATE ax.backfills SET look_at = now() WHERE state = 'running'")
		h.feed()
	}
	require.Equal(t, store.BackfillCounts{Total: 4, Active: 3}, h.state(id).Counts)
	h.finish("succeeded")
	require.Equal(t, store.BackfillCompleted, h.state(id).State)
	require.Len(t, h.made("UTC"), 4)
	require.True(t, strings.HasPrefix(h.made("UTC")[0], "03-01"), "in order all the same")
}

func TestBackfillIsPausedAndCanceled(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.daily(schedules("{cron: '0 2 * * *'}"))
	id := h.backfill(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-09", MaxRuns: 2})
	h.feed()
	change := store.BackfillChange{Backfill: id, Actor: "user:x"}
	paused, err := h.store.PauseBackfill(t.Context(), change)
	require.NoError(t, err)
	require.True(t, paused)
	h.allEnd("succeeded")
	h.feed()
	require.Equal(t, store.BackfillCounts{Total: 9, Succeeded: 2}, h.state(id).Counts, "what ends is noted, nothing new is made")
	resumed, err := h.store.ResumeBackfill(t.Context(), change)
	require.NoError(t, err)
	require.True(t, resumed)
	h.feed()
	canceled, err := h.store.CancelBackfill(t.Context(), change)
	require.NoError(t, err)
	require.True(t, canceled)
	require.Equal(t, int64(2), one[int64](h, "SELECT count(*) FROM ax.run_intents WHERE kind = 'cancel' AND actor = 'user:x'"))
	h.feed()
	require.Equal(t, 2, h.state(id).Counts.Active)
	h.allEnd("canceled")
	h.feed()
	b := h.state(id)
	require.Equal(t, store.BackfillCanceled, b.State)
	require.Equal(t, store.BackfillCounts{Total: 9, Succeeded: 2, Failed: 2}, b.Counts)
	require.Nil(t, one[*time.Time](h, "SELECT look_at FROM ax.backfills"))
	for _, again := range []func(ctx, c any) (bool, error){
		func(_, _ any) (bool, error) { return h.store.CancelBackfill(t.Context(), change) },
		func(_, _ any) (bool, error) { return h.store.ResumeBackfill(t.Context(), change) },
		func(_, _ any) (bool, error) { return h.store.RetryBackfill(t.Context(), change) },
	} {
		changed, err := again(nil, nil)
		require.NoError(t, err)
		require.False(t, changed)
	}
}

func TestBackfillPlansHoldOrAreRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.register("w", schedules("{cron: '* * * * *'}"))
	h.exec("UPDATE ax.schedule_specs SET valid_from = '2026-01-01'")
	ask := planner.Backfilling{Namespace: 1, Workflow: r.Workflow, From: time.Now().Add(-2 * time.Hour).UTC().Format(time.RFC3339)}
	seen := h.preview(ask)
	_, err := planner.StartBackfill(t.Context(), h.store, ask, seen.Fingerprint)
	require.NoError(t, err, "that time goes on changes nothing")
	h.feed()
	_, err = planner.StartBackfill(t.Context(), h.store, ask, seen.Fingerprint)
	require.ErrorIs(t, err, planner.ErrBackfillChanged, "one instant has a run by now")
	require.Equal(t, int64(1), one[int64](h, "SELECT count(*) FROM ax.backfills"))
}

func TestBackfillRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.daily("params: {n: {type: integer}}\n" + schedules("{name: x, cron: '* * * * *', params: {n: 1}}"))
	delay := h.register("d", schedules("{delay: 1h}"))
	bare := h.register("bare", "")
	for field, ask := range map[string]planner.Backfilling{
		"from":        {From: "yesterday"},
		"to":          {From: "2026-03-02", To: "2026-03-01"},
		"to ":         {From: "2026-01-01", To: "2026-10-01"},
		"from ":       {From: "2199-03-02"},
		"from  ":      {From: "1960-03-02"},
		"schedules":   {From: "2026-03-02", Schedules: []string{"y"}},
		"schedules ":  {From: "2026-03-02", Workflow: delay.Workflow},
		"schedules  ": {From: "2026-03-02", Workflow: bare.Workflow},
	} {
		if ask.Namespace = 1; ask.Workflow == 0 {
			ask.Workflow = r.Workflow
		}
		_, err := planner.StartBackfill(t.Context(), h.store, ask, "")
		var wrong *planner.BackfillError
		require.ErrorAs(t, err, &wrong, field)
		require.Equal(t, strings.TrimSpace(field), wrong.Field, wrong.Message)
	}
	_, err := planner.StartBackfill(t.Context(), h.store, planner.Backfilling{Namespace: 1, Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-01", Params: []byte(`{"n": "x"}`)}, "")
	var params *dag.ParamError
	require.ErrorAs(t, err, &params)
}

func TestBackfillPassesExcludedDates(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	require.NoError(t, h.store.PutCalendar(t.Context(), 1, store.Calendar{Name: "off", Dates: []time.Time{time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)}, UpdatedBy: "user:t"}))
	r := h.daily(schedules("{cron: '0 2 * * *', calendars: [{name: 'off'}]}"))
	id := h.backfill(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-03", MaxRuns: 9})
	h.finish("succeeded")
	require.Equal(t, store.BackfillCounts{Total: 3, Passed: 1, Succeeded: 2}, h.state(id).Counts)
}

// Several planners, a resume that makes up the same instants, and runs that end meanwhile: each instant has one run.
func TestBackfillStressManyPlanners(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.daily(schedules("{cron: '*/10 * * * *', catchup_limit: 500}"))
	const total = 6 * 24
	var ids []store.RunID
	for range 2 { // two backfills of the same stretch
		ids = append(ids, h.backfill(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-01", MaxRuns: 7}))
	}
	var together sync.WaitGroup
	for range 3 {
		p := h.newPlanner()
		together.Go(func() {
			for one[bool](h, "SELECT EXISTS (SELECT FROM ax.backfills WHERE state = 'running')") {
				if _, err := planner.FeedBackfill(h.Context(), p); err != nil && !store.Transient(err) {
					t.Error(err)
					return
				}
			}
		})
	}
	together.Go(func() {
		for one[bool](h, "SELECT EXISTS (SELECT FROM ax.backfills WHERE state = 'running')") {
			h.allEnd("succeeded")
		}
	})
	together.Wait()
	require.Equal(t, int64(total), one[int64](h, "SELECT count(*) FROM ax.runs"))
	require.Equal(t, int64(total), one[int64](h, "SELECT count(DISTINCT scheduled_at) FROM ax.runs"))
	require.Equal(t, int64(total), one[int64](h, "SELECT count(*) FROM ax.fires WHERE kind = 'fill'"))
	made := 0
	for _, id := range ids {
		b := h.state(id)
		require.Equal(t, store.BackfillCompleted, b.State)
		made += b.Counts.Succeeded
	}
	require.Equal(t, total, made)
}

// A planner that dies before its commit leaves nothing behind, and nothing out.
func TestBackfillCrashBeforeTheCommit(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.daily(schedules("{name: x, cron: '0 2 * * *'}, {name: y, cron: '0 3 * * *'}"))
	id := h.backfill(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-03", MaxRuns: 4})
	h.exec(`CREATE FUNCTION ax.die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`)
	h.exec(`CREATE CONSTRAINT TRIGGER die AFTER UPDATE ON ax.backfills DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ax.die()`)
	_, err := planner.FeedBackfill(t.Context(), h.planner)
	require.True(t, store.Transient(err), "%v", err)
	require.Zero(t, one[int64](h, "SELECT count(*) FROM ax.runs"))
	h.exec("DROP TRIGGER die ON ax.backfills")
	poison := one[int64](h, "SELECT id FROM ax.schedules WHERE name = 'y'")
	h.launcher.poison = map[int64]bool{poison: true}
	h.finish("succeeded")
	require.Equal(t, store.BackfillCounts{Total: 6, Succeeded: 3, Failed: 3}, h.state(id).Counts, "what cannot be made fails alone")
}

// A long backfill takes bounded steps.
func TestBackfillOfManyInstants(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.daily(schedules("{cron: '* * * * *'}"))
	ask := planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-05-08", MaxRuns: 1000}
	seen := h.preview(ask)
	require.Equal(t, 69*24*60, seen.Total)
	require.Len(t, seen.Slots, 1000)
	require.Equal(t, seen.Total, seen.Counts[planner.VerdictRun])
	id := h.backfill(ask)
	for range 3 {
		_, err := planner.FeedBackfill(t.Context(), h.planner)
		require.NoError(t, err)
	}
	require.Equal(t, 150, h.state(id).Counts.Active)
}

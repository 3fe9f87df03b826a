package planner_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// resume resumes a workflow that was paused for a time in which its schedules were planned, or not.
func (h *house) resumeAfter(w int64, paused time.Duration, planned bool, catchup dag.Catchup) planner.Resumed {
	h.Helper()
	h.exec("UPDATE ax.workflows SET paused_at = now() - $2::interval, paused_by = 'user:t' WHERE id = $1", w, paused)
	h.back(w, paused)
	if planned {
		h.fire()
	}
	got, err := planner.Resume(h.Context(), h.store, planner.Resuming{Workflow: w, Actor: "user:u", Catchup: catchup, Launcher: h.launcher})
	require.NoError(h, err)
	require.True(h, got.Changed)
	return got
}

func TestResumingMakesUpWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	for policy, runs := range map[dag.Catchup]int{"": 0, dag.CatchupNone: 0, dag.CatchupLatest: 1, dag.CatchupAll: 3} {
		for _, planned := range []bool{true, false} {
			h := newHouse(t)
			w := h.register("w", "params: {n: {type: integer, default: 0}}\n"+schedules("{cron: '* * * * *', catchup: none, catchup_limit: 3, params: {n: 7}}")).Workflow
			got := h.resumeAfter(w, 10*time.Minute, planned, policy)
			require.Len(t, got.Filled, runs, policy)
			require.Equal(t, int64(runs), one[int64](h, "SELECT count(*) FROM ax.fires WHERE kind = 'fill' AND result = 'fired'"))
			require.Equal(t, int64(runs), one[int64](h, `SELECT count(*) FROM ax.runs WHERE trigger = 'catchup' AND actor = 'user:u' AND params::jsonb = '{"n": 7}'`))
			require.Zero(t, one[int64](h, "SELECT count(*) FROM ax.fires f WHERE kind = 'fill' AND NOT EXISTS (SELECT FROM ax.runs r WHERE r.id = f.run_id AND r.scheduled_at = f.scheduled_at)"))
			require.Zero(t, one[int64](h, `SELECT count(*) FROM (SELECT previous_scheduled_at, lag(scheduled_at) OVER (ORDER BY id) AS before FROM ax.runs) r
				WHERE previous_scheduled_at IS DISTINCT FROM before`), "oldest first, each with the one before")
			require.LessOrEqual(t, time.Until(*h.next(w)), time.Minute, "and the next one comes in time")
			if runs > 0 {
				newest := one[time.Time](h, "SELECT max(COALESCE(until_at, scheduled_at)) FROM ax.fires WHERE kind = 'fire' AND reason = 'paused'")
				require.Equal(t, newest, one[time.Time](h, "SELECT max(scheduled_at) FROM ax.runs"), "the newest ones")
			}
		}
	}
}

// What was made up once, and what an earlier pause skipped, is not made up again.
func TestResumingMakesUpNothingTwice(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", schedules("{cron: '* * * * *', catchup_limit: 100}")).Workflow
	first := len(h.resumeAfter(w, 5*time.Minute, false, dag.CatchupAll).Filled)
	require.Contains(t, []int{5, 6}, first)
	h.exec("UPDATE ax.workflows SET paused_at = now() - interval '1 hour'")
	got, err := planner.Resume(t.Context(), h.store, planner.Resuming{Workflow: w, Actor: "user:u", Catchup: dag.CatchupAll, Launcher: h.launcher})
	require.NoError(t, err)
	require.LessOrEqual(t, len(got.Filled), 1) // a minute may have begun
	require.Equal(t, int64(first+len(got.Filled)), one[int64](h, "SELECT count(*) FROM ax.runs"))
}

func TestWhatMayNotRunStaysSkipped(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", schedules("{cron: '* * * * *'}")).Workflow
	h.launcher.refused = map[int64]string{h.scheduleOf(w): store.SkipOverlap}
	require.Empty(t, h.resumeAfter(w, 5*time.Minute, true, dag.CatchupLatest).Filled)
	require.Zero(t, one[int64](h, "SELECT count(*) FROM ax.fires WHERE kind = 'fill'"))
}

// A run by hand for a schedule's instant changes nothing of what the schedule owes: both runs are there, told apart by what started them.
func TestR017ARunByHandTakesNoSlot(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.register("w", schedules("{cron: '0 0 * * *', catchup: all, catchup_window: 96h}"))
	today := time.Now().UTC().Truncate(24 * time.Hour)
	byHand := func(at time.Time) {
		launched := h.launch(store.Trigger{
			Version: r.VersionID, Kind: "api", Actor: "user:t", ScheduledAt: at, LogicalDate: at.Format(time.DateOnly), Params: []byte("{}")})
		require.NoError(t, launched[0].Err)
	}
	byHand(today.AddDate(0, 0, -1))
	byHand(today.AddDate(0, 0, 1))
	h.exec("UPDATE ax.schedules SET next_fire_at = $1", today.AddDate(0, 0, -2))
	h.fire()
	require.Equal(t, map[string]int{"fired": 3}, h.ledger(r.Workflow))
	require.Equal(t, int64(3), one[int64](h, "SELECT count(*) FROM ax.runs WHERE trigger = 'schedule'"))
	require.Equal(t, int64(2), one[int64](h, "SELECT count(*) FROM ax.runs WHERE scheduled_at = $1", today.AddDate(0, 0, -1)))
	h.exec("UPDATE ax.schedules SET next_fire_at = now() - interval '1 microsecond'")
	h.fire()
	require.Equal(t, today.AddDate(0, 0, 1), h.next(r.Workflow).UTC(), "the future one is owed as before")
}

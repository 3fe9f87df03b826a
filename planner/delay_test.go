package planner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// end ends a run as the engine's general path does.
func (h *house) end(run int64, s progress.State) {
	h.Helper()
	require.NoError(h, h.store.InTx(h.Context(), func(tx pgx.Tx) error {
		if _, err := h.store.LockRuns(h.Context(), tx, []store.RunID{store.RunID(run)}, nil); err != nil {
			return err
		}
		return h.store.Apply(h.Context(), tx, store.Changes{Runs: []store.RunChange{{ID: store.RunID(run), State: s, Reason: "test"}}})
	}))
}

// lastRun is the newest run of all.
func (h *house) lastRun() int64 {
	h.Helper()
	return one[int64](h, "SELECT max(id) FROM ax.runs")
}

func TestADelayCountsFromTheEndOfItsLastRun(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.register("w", schedules("{delay: 10m}"))
	require.Len(t, r.Next[0].Fires, 1)
	w, registered := r.Workflow, one[time.Time](h, "SELECT anchor FROM ax.schedules")
	require.Equal(t, registered.Add(10*time.Minute), *h.next(w), "first one delay after the registration")

	for range 2 { // an outage of any length is one late run
		h.back(w, 30*time.Hour)
		h.fire()
		require.Nil(t, h.next(w), "while its run goes on there is no next fire")
		h.fire()
		h.end(h.lastRun(), progress.Failed)
		require.Equal(t, one[time.Time](h, "SELECT max(finished_at) FROM ax.runs").Add(10*time.Minute), *h.next(w))
	}
	require.Equal(t, map[string]int{"fired": 2}, h.ledger(w))

	first := one[int64](h, "SELECT min(id) FROM ax.runs")
	h.back(w, 0)
	h.fire()
	h.end(first, progress.Succeeded)
	require.Nil(t, h.next(w), "an older run that was run again says nothing")
	require.NoError(t, planner.Sweep(t.Context(), h.planner))
	require.Nil(t, h.next(w))
}

func TestADelayThatMadeNoRunGoesOn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", schedules("{delay: 10m}")).Workflow
	h.launcher.refused = map[int64]string{h.scheduleOf(w): store.SkipOverlap}
	h.back(w, time.Second)
	h.fire()
	require.InDelta(t, 600, time.Until(*h.next(w)).Seconds(), 30)
	require.NoError(t, h.store.Pause(t.Context(), w, "user:t", ""))
	h.back(w, time.Second)
	h.fire()
	require.InDelta(t, 600, time.Until(*h.next(w)).Seconds(), 30)
	h.back(w, 2*time.Second)
	_, err := planner.Resume(t.Context(), h.store, planner.Resuming{Workflow: w, Actor: "user:t"})
	require.NoError(t, err)
	require.InDelta(t, 600, time.Until(*h.next(w)).Seconds(), 30)
	require.Equal(t, map[string]int{"skipped overlap": 1, "skipped paused": 2}, h.ledger(w))
}

func TestADelayIsEditedWhileItsRunGoesOn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", schedules("{delay: 10m}")).Workflow
	h.back(w, 0)
	h.fire()
	r := h.register("w", schedules("{delay: 20m}"))
	require.Empty(t, r.Next[0].Fires, "the end of the run will tell")
	require.Nil(t, h.next(w))
	h.end(h.lastRun(), progress.Succeeded)
	require.InDelta(t, 1200, time.Until(*h.next(w)).Seconds(), 30)
	fires := h.register("w", schedules("{delay: 20m, catchup: all}")).Next[0].Fires
	require.Equal(t, h.next(w).UTC(), fires[0].UTC(), "other settings leave it as it was")

	start := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	h.register("w", schedules(fmt.Sprintf("{delay: 30m, start: %q}", start.Format(time.RFC3339))))
	require.Equal(t, start.Add(30*time.Minute), h.next(w).UTC())
	h.register("w", schedules("{cron: 0 0 1 1 *}"))
	require.Nil(t, one[*int64](h, "SELECT delay_us FROM ax.schedules"))
}

// A schedule that becomes a delay while its run ends by the fast path is mended.
func TestADelayIsMended(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", schedules("{delay: 10m}")).Workflow
	h.back(w, 0)
	h.fire()
	h.exec("UPDATE ax.runs SET state = 'succeeded', finished_at = now()")
	require.Nil(t, h.next(w))
	require.NoError(t, planner.Sweep(t.Context(), h.planner))
	require.InDelta(t, 600, time.Until(*h.next(w)).Seconds(), 30)
}

func TestADelayEnds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	end := time.Now().UTC().Add(30 * time.Minute).Format(time.RFC3339)
	w := h.register("w", schedules(fmt.Sprintf("{delay: 20m, end: %q}", end))).Workflow
	require.NotNil(t, h.next(w))
	h.back(w, 0)
	h.fire()
	h.end(h.lastRun(), progress.Succeeded)
	h.exec("UPDATE ax.schedules SET next_fire_at = now(), spec = (jsonb_set(spec::jsonb, '{end}', to_jsonb(now() - interval '1 minute')))::json")
	h.fire()
	require.Nil(t, h.next(w), "it is over")
	require.Equal(t, map[string]int{"fired": 1}, h.ledger(w))
	require.NoError(t, planner.Sweep(t.Context(), h.planner))
	require.Nil(t, h.next(w))
	require.Empty(t, h.register("v", schedules(fmt.Sprintf("{delay: 40m, end: %q}", end))).Next[0].Fires)
}

// A schedule that has no next fire gets one that respects its start, whoever gives it.
func TestADelayBeginsWithItsStart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", schedules("{delay: 10m}")).Workflow
	h.back(w, 0)
	h.fire()
	start := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	h.register("w", schedules(fmt.Sprintf("{delay: 10m, start: %q}", start.Format(time.RFC3339))))
	require.Nil(t, h.next(w), "its last run goes on")
	h.end(h.lastRun(), progress.Succeeded)
	require.Equal(t, start.Add(10*time.Minute), h.next(w).UTC())
	h.exec("UPDATE ax.schedules SET next_fire_at = NULL")
	require.NoError(t, planner.Sweep(t.Context(), h.planner))
	require.Equal(t, start.Add(10*time.Minute), h.next(w).UTC())
}

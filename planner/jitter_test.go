package planner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// walk lets a schedule decide again and again at its own next time, as a planner does, and returns its fires.
func walk(t require.TestingT, s store.DueSchedule, rounds int) (fires []planner.Fire) {
	for range rounds {
		d, err := planner.Due(s, s.NextFireAt)
		require.NoError(t, err)
		require.Empty(t, d.Ledger)
		for _, f := range d.Fires {
			require.Equal(t, s.NextFireAt.UTC(), f.Due.UTC(), "it starts when it is due")
			s.Decided, s.LastFired = &f.At, &f.At
		}
		fires = append(fires, d.Fires...)
		s.NextFireAt = *d.Next
	}
	return fires
}

func TestJitterKeepsInstantsAndTheirOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		jitter := time.Duration(rapid.Int64Range(1, int64(3*time.Minute)).Draw(rt, "jitter"))
		every := time.Duration(rapid.Int64Range(1, 120).Draw(rt, "every")) * time.Second
		s := claimed(rt, dag.Schedule{Every: dag.Duration(every), Jitter: dag.Duration(jitter), Late: dag.Late{Catchup: dag.CatchupNone}}, noon)
		s.Anchor, s.Workflow = noon, rapid.Int64().Draw(rt, "workflow")
		fires := walk(rt, s, 20)
		require.GreaterOrEqual(rt, len(fires), 19)
		for i, f := range fires {
			require.Equal(rt, noon.Add(time.Duration(i)*every), f.At.UTC(), "each instant once, in order, as logical time")
			require.Less(rt, f.Due.Sub(f.At), min(max(jitter, 1), every)+time.Microsecond)
			require.GreaterOrEqual(rt, f.Due.Sub(f.At), time.Duration(0))
		}
		require.Equal(rt, fires, walk(rt, s, 20), "whoever asks")
	})
}

func TestJitterSpreadsLoad(t *testing.T) {
	t.Parallel()
	var tenths [10]int
	for w := range int64(2000) {
		s := claimed(t, dag.Schedule{Cron: "0 12 * * *", Jitter: dag.Duration(10 * time.Second)}, noon.Add(-24*time.Hour))
		s.Workflow, s.Decided = w, new(noon.Add(-time.Hour))
		d, err := planner.Due(s, noon.Add(-time.Minute))
		require.NoError(t, err)
		tenths[d.Next.Sub(noon)/time.Second]++
	}
	for i, n := range tenths {
		require.InDelta(t, 200, n, 60, "tenth %d of %v", i, tenths)
	}
}

// What has come and is not due yet is neither lost by an edit nor skipped by a short pause.
func TestWhatIsNotDueYetIsTold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", schedules("{cron: '* * * * *', jitter: 59s}")).Workflow
	// Its newest instant has come and is not due yet.
	pend := func() {
		h.exec("DELETE FROM ax.fires")
		h.exec("UPDATE ax.schedules SET next_fire_at = date_trunc('minute', now()) + interval '58 seconds' WHERE workflow_id = $1", w)
	}
	pend()
	require.NoError(t, h.store.Pause(t.Context(), w, "user:t", ""))
	_, err := planner.Resume(t.Context(), h.store, planner.Resuming{Workflow: w})
	require.NoError(t, err)
	require.LessOrEqual(t, h.ledger(w)["skipped paused"], 1)
	pend()
	h.register("w", schedules("{cron: '0 0 1 1 *'}"))
	require.Equal(t, map[string]int{"skipped edited": 1}, h.ledger(w))
}

func TestJitteredRunsStartInTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i := range 20 {
		h.register(fmt.Sprintf("w%d", i), schedules("{every: 1s, jitter: 900ms}"))
	}
	stop := h.start(h.planner, h.newPlanner())
	h.await(60)
	stop()
	require.Zero(t, one[int64](h, wrongFires))
	require.Greater(t, one[float64](h, "SELECT stddev(extract(epoch FROM created_at - scheduled_at))::float8 FROM ax.runs"), 0.1)
}

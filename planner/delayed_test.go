package planner_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// delay asks for runs of a workflow in advance.
func (h *house) delay(workflow int64, at ...time.Time) (ids []store.RunID) {
	h.Helper()
	var runs []store.DelayedRun
	for _, t := range at {
		runs = append(runs, store.DelayedRun{Namespace: 1, Workflow: workflow, Params: []byte("{}"), RunAt: t, ScheduledAt: t,
			LogicalDate: t.Format(time.DateOnly), Actor: "user:t"})
	}
	require.NoError(h, h.store.InTx(h.Context(), func(tx pgx.Tx) (err error) {
		ids, err = h.store.AddDelayed(h.Context(), tx, runs)
		return err
	}))
	require.Len(h, ids, len(at))
	return ids
}

func (h *house) startDelayed() {
	h.Helper()
	for n := 1; n > 0; {
		var err error
		n, err = planner.StartDelayed(h.Context(), h.planner)
		require.NoError(h, err)
	}
}

func (h *house) delayed(id store.RunID) store.DelayedRow {
	h.Helper()
	row, err := h.store.DelayedRun(h.Context(), 1, id)
	require.NoError(h, err)
	return row
}

// Delayed runs that all came due while nobody planned are started by two planners, in order and each once; a hundred thousand of them
// in `make soak`.
func TestStressDelayedRuns(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", "").Workflow
	total, bulk := 20_000, 10_000
	if os.Getenv("AX_SOAK_SECONDS") != "" {
		total = 100_000
	}
	began := time.Now()
	from := began.Add(-time.Duration(total) * time.Second)
	for i := range total / bulk {
		var at []time.Time
		for j := range bulk {
			at = append(at, from.Add(time.Duration(i*bulk+j)*time.Second/2))
		}
		h.delay(w, at...)
	}
	soon := h.delay(w, time.Now().Add(time.Hour))[0]
	t.Logf("%d rows in %s", total, time.Since(began))
	began = time.Now()
	stop := h.start(h.planner, h.newPlanner())
	require.Eventually(t, func() bool {
		return one[int64](h, "SELECT count(*) FROM (SELECT FROM ax.delayed_runs WHERE due_at <= now() LIMIT 1) d") == 0
	}, time.Minute, 20*time.Millisecond)
	t.Logf("%d runs in %s", total, time.Since(began))
	stop()
	require.Equal(t, int64(total), one[int64](h, "SELECT count(*) FROM ax.delayed_runs d JOIN ax.runs r ON r.id = d.run_id AND r.scheduled_at = d.run_at WHERE d.state = 'started'"))
	require.Equal(t, int64(total), one[int64](h, "SELECT count(*) FROM ax.runs"))
	require.Equal(t, store.DelayedWaiting, h.delayed(soon).State)
	// Within a batch the order is exact; two planners take their batches in turn.
	require.Zero(t, one[int64](h, `SELECT count(*) FROM (SELECT created_at, scheduled_at, lag(scheduled_at) OVER (PARTITION BY created_at ORDER BY id) AS before FROM ax.runs) r
		WHERE scheduled_at < before`))
}

func TestADelayedRunStartsToTheSecond(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", "").Workflow
	defer h.start(h.planner)()
	var at []time.Time
	for i := range 8 {
		at = append(at, time.Now().Add(time.Duration(i*250+50)*time.Millisecond))
	}
	h.delay(w, at...)
	require.Eventually(t, func() bool { return one[int64](h, "SELECT count(*) FROM ax.runs") == 8 }, 20*time.Second, 10*time.Millisecond)
	late := one[float64](h, "SELECT max(extract(epoch FROM created_at - scheduled_at))::float8 FROM ax.runs")
	require.Less(t, late, 1.0)
	require.Zero(t, one[int64](h, "SELECT count(*) FROM ax.runs WHERE created_at < scheduled_at OR actor <> 'user:t' OR trigger <> 'api'"))
}

func TestDelayedRunsWaitForAPause(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w, other := h.register("w", "").Workflow, h.register("other", "").Workflow
	require.NoError(t, h.store.Pause(t.Context(), w, "user:t", ""))
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ids := h.delay(w, past, future)
	running := h.delay(other, past)[0]
	h.startDelayed()
	require.Equal(t, store.DelayedStarted, h.delayed(running).State)
	require.Equal(t, store.DelayedWaiting, h.delayed(ids[0]).State)
	require.True(t, h.delayed(ids[0]).Paused)
	_, ok, err := h.store.UntilNextDelayed(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	_, err = planner.Resume(t.Context(), h.store, planner.Resuming{Workflow: w, Actor: "user:t"})
	require.NoError(t, err)
	h.startDelayed()
	require.Equal(t, store.DelayedStarted, h.delayed(ids[0]).State)
	require.Equal(t, store.DelayedWaiting, h.delayed(ids[1]).State)
}

func TestDelayedRunsAreCanceledOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", "").Workflow
	ids := h.delay(w, time.Now().Add(-time.Second), time.Now().Add(-time.Second))
	for _, want := range []bool{true, false} {
		done, err := h.store.CancelDelayed(t.Context(), ids[0], "user:t", "not needed")
		require.NoError(t, err)
		require.Equal(t, want, done)
	}
	h.startDelayed()
	done, err := h.store.CancelDelayed(t.Context(), ids[1], "user:t", "")
	require.NoError(t, err)
	require.False(t, done)
	row := h.delayed(ids[0])
	require.Equal(t, "user:t", row.EndedBy)
	require.Equal(t, "not needed", row.Reason)
	require.Equal(t, store.DelayedCanceled, row.State)
	require.Equal(t, int64(1), one[int64](h, "SELECT count(*) FROM ax.runs"))
	_, err = h.store.DelayedRun(t.Context(), 1, ids[1]+1)
	require.ErrorIs(t, err, store.ErrNotFound)
	list, err := h.store.DelayedRuns(t.Context(), store.DelayedQuery{Namespace: 1, State: store.DelayedStarted, Limit: 10})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, store.RunID(h.lastRun()), list[0].Run)
}

// A delayed run is never dropped: what may not start yet waits on, what cannot be started says why, and neither stops the others.
func TestADelayedRunThatMayNotStart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", "").Workflow
	past := time.Now().Add(-time.Minute)
	h.launcher.refused = map[int64]string{0: store.SkipOverlap}
	ids := h.delay(w, past, past)
	h.startDelayed()
	require.Equal(t, store.DelayedWaiting, h.delayed(ids[0]).State)
	require.InDelta(t, 11, one[float64](h, "SELECT extract(epoch FROM min(due_at) - now())::float8 FROM ax.delayed_runs"), 3)
	h.exec("UPDATE ax.delayed_runs SET due_at = run_at")
	h.launcher.refused, h.launcher.broken = nil, map[int64]error{0: errors.New("param region is missing")}
	h.startDelayed()
	require.Equal(t, "param region is missing", h.delayed(ids[0]).Reason)
	require.Equal(t, store.DelayedFailed, h.delayed(ids[1]).State)
	h.launcher.broken, h.launcher.poison = nil, map[int64]bool{0: true}
	ids = h.delay(w, past, past)
	h.startDelayed()
	require.Contains(t, h.delayed(ids[1]).Reason, "division by zero")
	require.Equal(t, store.DelayedFailed, h.delayed(ids[0]).State)
}

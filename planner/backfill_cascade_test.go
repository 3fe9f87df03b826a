package planner_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/planner"
)

// complete feeds backfills and ends their runs as the engine does, until none is running.
func (h *house) complete() {
	h.Helper()
	for one[bool](h, "SELECT EXISTS (SELECT FROM ax.backfills WHERE state = 'running')") {
		h.feed()
		rows, err := h.store.Pool().Query(h.Context(), "SELECT id FROM ax.runs WHERE state = 'running' AND trigger = 'backfill' ORDER BY id")
		require.NoError(h, err)
		runs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		require.NoError(h, err)
		for _, run := range runs {
			h.end(run, progress.Succeeded)
		}
		h.consume()
	}
}

// Runs of a backfill start what waits for their workflow only with cascade (S12).
func TestBackfillStartsOthersOnlyWithCascade(t *testing.T) {
	t.Parallel()
	for match, fired := range map[string][]string{"logical_date": {"2026-03-01", "2026-03-02"}, "scheduled_at": {"2026-03-01", "2026-03-02"}, "latest": {"2026-03-01", "2026-03-02"}} {
		h := newHouse(t)
		r := h.daily(schedules("{cron: '0 2 * * *'}"))
		h.register("down", "upstream: {all: [{workflow: w, match: "+match+"}]}\n")
		ask := planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-02"}
		h.backfill(ask)
		h.complete()
		require.Empty(t, h.fired(), match)
		require.Empty(t, h.sets(), match)
		require.Zero(t, one[int64](h, "SELECT count(*) FROM ax.completions"))
		ask.Cascade, ask.Reprocess = true, "all"
		h.backfill(ask)
		h.complete()
		require.Equal(t, fired, h.fired(), match)
	}
}

// The run of a backfill says nothing to a schedule that counts from the end of its last run by now.
func TestBackfillMovesNoDelay(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.daily(schedules("{name: x, cron: '0 2 * * *'}"))
	h.register("w", schedules("{name: x, delay: 10m}"))
	next := h.next(r.Workflow)
	h.backfill(planner.Backfilling{Workflow: r.Workflow, From: "2026-03-01", To: "2026-03-02", Schedules: []string{"x"}})
	h.complete()
	require.Len(t, h.made("UTC"), 2)
	require.Equal(t, next, h.next(r.Workflow))
}

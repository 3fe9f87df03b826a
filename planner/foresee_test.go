package planner_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/planner"
)

// What is due soon is prepared once, many at one instant included; what is paused, over or later is not.
func TestWhatIsDueSoonIsPrepared(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var soon, prepared []int64
	for i := range 7 {
		r := h.register(fmt.Sprintf("w%d", i), schedules("{every: 1h}"))
		h.back(r.Workflow, -5*time.Second)
		soon = append(soon, r.VersionID)
	}
	h.register("later", schedules("{every: 1h}"))
	paused := h.register("paused", "paused: true\n"+schedules("{every: 1h}"))
	h.back(paused.Workflow, -5*time.Second)
	over := h.register("over", schedules("{every: 1h}"))
	h.exec("UPDATE ax.schedules SET next_fire_at = NULL WHERE workflow_id = $1", over.Workflow)
	p := planner.New(planner.Config{Store: h.store, Launcher: h.launcher, Prepare: func(_ context.Context, versions []int64) error {
		prepared = append(prepared, versions...)
		return nil
	}})
	require.NoError(t, planner.Foresee(t.Context(), p))
	require.ElementsMatch(t, soon, prepared)
	require.NoError(t, planner.Foresee(t.Context(), p))
	require.Len(t, prepared, len(soon), "none twice")

	next := h.register("next", schedules("{every: 1h}"))
	h.back(next.Workflow, -8*time.Second)
	require.NoError(t, planner.Foresee(t.Context(), p))
	require.Equal(t, next.VersionID, prepared[len(soon)])
}

package ax_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/sdk"
)

// A fixed delay counts from the end of the last run, whatever came of it.
func TestADelayFollowsTheEndOfEachRun(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	began := make(chan struct{}, 100)
	failed := false
	wf := sdk.NewWorkflow("poll", sdk.Delay(time.Second))
	sdk.Node(wf, "look", func(context.Context, none) (none, error) {
		began <- struct{}{}
		if failed = !failed; failed {
			return none{}, sdk.Permanent(context.Canceled)
		}
		return none{}, nil
	})
	start(t, pool, ax.Config{Workflows: []*sdk.Workflow{wf}})
	for range 3 {
		<-began
	}
	var wrong, runs int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE scheduled_at <> before + interval '1 second'), count(*)
		FROM (SELECT scheduled_at, lag(finished_at) OVER (ORDER BY id) AS before FROM ax.runs) r`).Scan(&wrong, &runs))
	require.GreaterOrEqual(t, runs, 3)
	require.Zero(t, wrong)
}

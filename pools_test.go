package ax_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/sdk"
)

func TestPoolsAreMadeForTheWorkflowsThatUseThem(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	wf := sdk.NewWorkflow("pooled")
	sdk.Node(wf, "a", func(context.Context, none) (none, error) { return none{}, nil }, sdk.Pool("erp"))
	config := ax.Config{Workflows: []*sdk.Workflow{wf}, Pools: map[string]ax.Pool{"erp": {Slots: 2, Rate: "100/s"}, "spare": {}}}
	app := start(t, pool, config)
	ctx := t.Context()
	var run string
	require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
		run, err = app.Trigger(ctx, tx, ax.Trigger{Workflow: "pooled"})
		return err
	}))
	state, err := app.Wait(ctx, run)
	require.NoError(t, err)
	require.Equal(t, progress.Succeeded, state)

	erp := store.PoolKey{Namespace: 1, Name: "erp"}
	_, err = app.Store().SetPool(ctx, erp, store.PoolSpec{Slots: new(5)})
	require.NoError(t, err)
	start(t, pool, config)
	kept, err := app.Store().PoolNamed(ctx, erp)
	require.NoError(t, err)
	require.Equal(t, 5, *kept.Slots, "what was set since stays")

	_, err = ax.New(ax.Config{Pool: pool, Workflows: []*sdk.Workflow{wf}, Pools: map[string]ax.Pool{"bad name": {}, "bad": {Rate: "fast"}, "less": {Slots: -1}}})
	for _, says := range []string{"bad name", `"fast" is no rate`, "a limit is negative"} {
		require.ErrorContains(t, err, says)
	}
}

package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

func TestUpstreamSetsTellHowFarTheyAre(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("one", "workflow: one\nnodes: {a: {handler: a}}")
	b.register("two", "workflow: two\nnodes: {a: {handler: a}}")
	b.put(ns+"/workflows/down", "workflow: down\nupstream: {all: [{workflow: three}]}\nnodes: {a: {handler: a}}").problem(http.StatusUnprocessableEntity)
	b.register("down", "workflow: down\nupstream: {all: [{workflow: one}, {workflow: two, node: a, on: done}]}\nnodes: {a: {handler: a}}")
	p := planner.New(planner.Config{Store: b.store, Launcher: b.launcher})
	require.NoError(t, p.Start(t.Context()))
	defer func() { require.NoError(t, p.Stop(t.Context())) }()

	end := func(code string) api.RunDetail {
		run := as[api.RunDetail](b.post(ns+"/workflows/"+code+"/runs", `{"logical_time": "2026-11-30T04:00:00+08:00"}`).is(http.StatusCreated))
		require.NoError(t, b.store.InTx(t.Context(), func(tx pgx.Tx) error {
			return b.store.Apply(t.Context(), tx, store.Changes{Runs: []store.RunChange{{ID: b.runID(run.ID), State: progress.Succeeded}}})
		}))
		return run
	}
	path := ns + "/workflows/down/upstream-sets"
	sets := func() []api.UpstreamSet { return as[api.Page[api.UpstreamSet]](b.get(path).is(http.StatusOK)).Items }
	one := end("one")
	require.Eventually(t, func() bool { return len(sets()) == 1 }, 10*time.Second, 10*time.Millisecond)
	set := sets()[0]
	require.Equal(t, "2026-11-30", set.Key)
	require.Equal(t, "waiting", set.State)
	require.Equal(t, "1 of 2, waiting for two/a", set.Message)
	require.Equal(t, one.ID, set.Terms[0].Run)
	require.False(t, set.Terms[1].Satisfied)
	end("two")
	require.Eventually(t, func() bool { return sets()[0].State == "fired" }, 10*time.Second, 10*time.Millisecond)
	set = sets()[0]
	require.Equal(t, "2 of 2", set.Message)
	run := as[api.RunDetail](b.get(ns + "/runs/" + set.Run).is(http.StatusOK))
	require.Equal(t, "upstream", run.Trigger)
	require.Equal(t, "2026-11-30", run.LogicalDate)
	require.Empty(t, as[api.Page[api.UpstreamSet]](b.get(path+"?state=waiting")).Items)
}

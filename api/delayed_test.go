package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/planner"
)

func TestARunIsAskedForInAdvance(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	asked := b.post(ns+"/workflows/small/runs", `{"run_at": "`+at.Format(time.RFC3339)+`", "params": {"day": "x"}}`).is(http.StatusAccepted)
	run := as[api.RunDetail](asked)
	require.Equal(t, ns+"/runs/"+run.ID, asked.header.Get("Location"))
	require.Equal(t, "queued", run.State)
	require.Equal(t, at, *run.RunAt)
	require.Equal(t, at, run.ScheduledAt, "the time the run is for")
	require.Equal(t, api.NotYetDue, run.BlockedBy.Reason)
	require.Equal(t, at, *run.BlockedBy.Until)
	require.Equal(t, run, as[api.RunDetail](b.get(ns+"/runs/"+run.ID).is(http.StatusOK)))

	list := as[api.Page[api.DelayedRun]](b.get(ns + "/delayed-runs?workflow=small&state=waiting").is(http.StatusOK)).Items
	require.Len(t, list, 1)
	require.Equal(t, run.ID, list[0].ID)
	require.JSONEq(t, `{"day":"x"}`, string(list[0].Params))

	b.post(ns+"/workflows/small/pause", `{}`).is(http.StatusOK)
	require.Equal(t, api.Paused, as[api.RunDetail](b.get(ns+"/runs/"+run.ID)).BlockedBy.Reason)
	b.post(ns+"/workflows/small/resume", `{}`).is(http.StatusOK)

	for _, act := range []string{"hold", "release", "rerun", "replay"} {
		require.Contains(t, b.post(ns+"/runs/"+run.ID+"/"+act, `{}`).problem(http.StatusConflict).Detail, "has not started", act)
	}
	b.post(ns+"/node-runs/"+run.ID+":extract/mark", `{"state": "succeeded"}`).problem(http.StatusConflict)

	gone := as[api.RunDetail](b.post(ns+"/runs/"+run.ID+"/cancel", `{"reason": "not needed"}`).is(http.StatusAccepted))
	require.Equal(t, "canceled", gone.State)
	require.Equal(t, "not needed", gone.Reason)
	b.post(ns+"/runs/"+run.ID+"/cancel", `{}`).problem(http.StatusConflict)
	require.Contains(t, b.post(ns+"/runs/"+run.ID+"/hold", `{}`).problem(http.StatusConflict).Detail, "never started")
	require.Empty(t, as[api.Page[api.DelayedRun]](b.get(ns+"/delayed-runs?state=waiting")).Items)

	b.post(ns+"/workflows/small/runs", `{"run_at": "`+at.Format(time.RFC3339)+`", "params": {"nope": 1}}`).problem(http.StatusUnprocessableEntity)
	b.post(ns+"/workflows/small/runs", `{"run_at": "1899-12-31T00:00:00Z"}`).problem(http.StatusUnprocessableEntity)
	b.get(ns + "/runs/7zzzzzzzzzzzz").problem(http.StatusNotFound)
}

func TestADelayedRunLeadsToItsRun(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := as[api.RunDetail](b.post(ns+"/workflows/small/runs", `{"run_at": "2026-01-01T00:00:00Z", "logical_time": "2020-01-01T00:00:00Z"}`).is(http.StatusAccepted))
	p := planner.New(planner.Config{Store: b.store, Launcher: b.launcher})
	require.NoError(t, p.Start(t.Context()))
	require.Eventually(t, func() bool { return as[api.RunDetail](b.get(ns+"/runs/"+run.ID)).State == "running" }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, p.Stop(t.Context()))
	started := as[api.RunDetail](b.get(ns + "/runs/" + run.ID))
	require.NotEqual(t, run.ID, started.ID)
	require.Equal(t, 2020, started.ScheduledAt.Year())
	require.Nil(t, started.RunAt)
	row := as[api.Page[api.DelayedRun]](b.get(ns + "/delayed-runs")).Items[0]
	require.Equal(t, started.ID, row.Run)
	require.Equal(t, "started", row.State)
	require.Equal(t, started.ID, as[api.RunDetail](b.post(ns+"/runs/"+run.ID+"/cancel", `{}`).is(http.StatusAccepted)).ID)
}

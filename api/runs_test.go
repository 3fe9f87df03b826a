package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

func TestTriggerKeepsNumbersExact(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	r := b.post(ns+"/workflows/small/runs", `{"params": {"big": 12345678901234567890.123456789012345678901, "day": "<é>"}, "logical_time": "2026-11-30T23:30:00Z"}`).
		is(http.StatusCreated)
	run := as[api.RunDetail](r)
	require.Contains(t, string(run.Params), "12345678901234567890.123456789012345678901")
	require.Contains(t, string(run.Params), "<é>")
	require.Equal(t, "2026-12-01", run.LogicalDate, "the date in the schedule's zone")
	require.Equal(t, "running", run.State)
	require.Equal(t, "user:local", run.Actor)
	require.Equal(t, "small", run.Workflow)
	require.Equal(t, 1, run.Version)
	require.Equal(t, ns+"/runs/"+run.ID, r.header.Get("Location"))
	require.Equal(t, run, as[api.RunDetail](b.get(r.header.Get("Location")).is(http.StatusOK)))

	plain := b.do(http.MethodPost, ns+"/workflows/small/runs", "", "").is(http.StatusCreated)
	require.JSONEq(t, `{"big": 1, "day": "today"}`, string(as[api.RunDetail](plain).Params))
	require.WithinDuration(t, time.Now(), as[api.RunDetail](plain).ScheduledAt, time.Minute)
}

func TestTriggerRefusesWhatItCannotMean(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	for body, status := range map[string]int{
		`{`:                                 http.StatusBadRequest,
		`[]`:                                http.StatusUnprocessableEntity,
		`{"params": {"big": 1e400}}`:        http.StatusBadRequest,
		"{\"params\": {\"day\": \"\xff\"}}": http.StatusBadRequest,
		`{"params": {"day": "\u0000"}}`:     http.StatusBadRequest,
		`{"params": []}`:                    http.StatusUnprocessableEntity,
		`{"params": {"day": 1}}`:            http.StatusUnprocessableEntity,
		`{"params": {"other": 1}}`:          http.StatusUnprocessableEntity,
		`{"unknown": 1}`:                    http.StatusUnprocessableEntity,
		`{"logical_time": "yesterday"}`:     http.StatusUnprocessableEntity,
		`{"logical_time": "9999-12-31T23:59:59-12:00"}`: http.StatusUnprocessableEntity,
		`{"logical_time": "0001-01-01T00:00:00Z"}`:      http.StatusUnprocessableEntity,
		`{"run_at": "9999-12-31T23:59:59Z"}`:            http.StatusUnprocessableEntity,
		`{"run_at": "tomorrow"}`:                        http.StatusUnprocessableEntity,
		`{"version": 2}`:                                http.StatusUnprocessableEntity,
	} {
		p := b.post(ns+"/workflows/small/runs", body).problem(status)
		require.NotEmpty(t, p.Errors, body)
	}
	b.do(http.MethodPost, ns+"/workflows/small/runs", "text/plain", `{}`).problem(http.StatusUnsupportedMediaType)
	b.post(ns+"/workflows/none/runs", `{}`).problem(http.StatusNotFound)
	p := b.post(ns+"/workflows/small/runs", `{"params": {"day": "`+string(make([]byte, 1<<20))+`"}}`).problem(http.StatusRequestEntityTooLarge)
	require.Contains(t, p.Detail, "1048576")
	require.Empty(t, as[api.Page[api.Run]](b.get(ns+"/runs")).Items)

	b.launcher.refused = "overlap"
	require.Contains(t, b.post(ns+"/workflows/small/runs", `{}`).problem(http.StatusConflict).Detail, "overlap")
}

func TestRunsAreListedNewestFirstWhileOthersCome(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	b.register("other", "workflow: other\nnodes: {a: {handler: a}}")
	var want []string
	for i := range 5 {
		want = append([]string{b.trigger("small", fmt.Sprintf(`{"logical_time": "2026-11-2%dT12:00:00Z"}`, i)).ID}, want...)
	}
	other := b.trigger("other", `{}`)

	var got []string
	cursor := ""
	for pages := 0; ; pages++ {
		p := as[api.Page[api.Run]](b.get(ns + "/runs?workflow=small&limit=2&cursor=" + cursor).is(http.StatusOK))
		for _, r := range p.Items {
			got = append(got, r.ID)
		}
		b.trigger("small", `{}`)
		if cursor = p.NextCursor; cursor == "" {
			require.Equal(t, 2, pages)
			break
		}
	}
	require.Equal(t, want, got)

	ids := func(query string) (out []string) {
		for _, r := range as[api.Page[api.Run]](b.get(ns + "/runs?" + query).is(http.StatusOK)).Items {
			out = append(out, r.ID)
		}
		return out
	}
	require.Len(t, ids(""), 9)
	require.Equal(t, []string{other.ID}, ids("workflow=other"))
	require.Equal(t, want[:1], ids("logical_date=2026-11-24&workflow=small"))
	require.Empty(t, ids("state=failed"))
	require.Len(t, ids("state=running&workflow=small"), 8)
	require.Empty(t, ids("to=2020-01-01T00:00:00Z"))
	require.Empty(t, ids("from=2999-01-01T00:00:00Z"))
	require.Len(t, ids("from=2020-01-01T00:00:00%2B08:00&to=2999-01-01T00:00:00Z"), 9)
	for _, bad := range []string{"limit=0", "limit=501", "limit=x", "cursor=x", "state=done", "from=today", "logical_date=2026-02-30",
		"logical_date=0000-01-01", "workflow=a%00b", "unknown=1", "limit=99999999999999999999", "cursor=eyJrIjoiYXBpLnRyYWNlTWFyayIsIm0iOnt9fQ"} {
		b.get(ns + "/runs?" + bad).problem(http.StatusUnprocessableEntity)
	}
	b.get(ns + "/runs?workflow=none").problem(http.StatusNotFound)
	b.get("/api/v1/namespaces/none/runs").problem(http.StatusNotFound)
}

func TestQueuedRunNamesItsHolder(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	b.exec("UPDATE ax.workflows SET max_runs = 1")
	b.launcher.limited = true
	holder := b.trigger("small", `{}`)
	b.launcher.state = progress.Queued
	waiting := b.trigger("small", `{}`)
	require.Equal(t, "queued", waiting.State)
	require.Nil(t, waiting.StartedAt)
	require.Equal(t, api.QueuedMaxActive, waiting.BlockedBy.Reason)
	require.Equal(t, []string{holder.ID}, waiting.BlockedBy.Runs)
	require.Contains(t, waiting.BlockedBy.Message, "small may run 1 at a time")
	require.Nil(t, holder.BlockedBy)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.trigger("small", `{}`)
	got := as[api.RunDetail](b.post(ns+"/runs/"+run.ID+"/cancel", `{"reason": "not needed"}`).is(http.StatusAccepted))
	require.True(t, got.Canceling)
	require.Equal(t, "running", got.State)
	as[api.RunDetail](b.do(http.MethodPost, ns+"/runs/"+run.ID+"/cancel", "", "").is(http.StatusAccepted))
	intents, err := b.store.Intents(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, []store.Intent{{Run: b.runID(run.ID), Kind: store.IntentCancel, Actor: "user:local", Reason: "not needed"}}, intents)

	b.apply(store.Changes{Runs: []store.RunChange{{ID: b.runID(run.ID), State: progress.Canceled, Reason: "canceled", Canceling: true}},
		Intents: []store.Intent{{Run: b.runID(run.ID), Kind: store.IntentCancel}}})
	after := as[api.RunDetail](b.get(ns + "/runs/" + run.ID))
	require.False(t, after.Canceling)
	require.NotNil(t, after.DurationMS)
	require.Contains(t, b.post(ns+"/runs/"+run.ID+"/cancel", `{}`).problem(http.StatusConflict).Detail, "was canceled")
	b.post(ns+"/runs/"+run.ID+"/cancel", `{"why": 1}`).problem(http.StatusUnprocessableEntity)
}

func TestUnknownRunsAreNotFound(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.trigger("small", `{}`)
	b.exec("INSERT INTO ax.namespaces (name) VALUES ('elsewhere')")
	for _, path := range []string{"/runs/x", "/runs/zzzzzzzzzzzzz", "/runs/%00", "/runs/%ff", "/runs/0000000000000", "/runs/7zzzzzzzzzzzz",
		"/node-runs/x", "/node-runs/" + run.ID + ":none", "/node-runs/" + run.ID + ":extract:99999999999", "/node-runs/" + run.ID + ":extract:2",
		"/node-runs/" + run.ID + ":extract:-1", "/node-runs/" + run.ID + ":extract:1:0", "/node-runs/7zzzzzzzzzzzz:extract", "/node-runs/" + run.ID + ":%00"} {
		b.get(ns + path).problem(http.StatusNotFound)
	}
	for _, path := range []string{"", "/nodes", "/trace"} {
		b.get("/api/v1/namespaces/elsewhere/runs/" + run.ID + path).problem(http.StatusNotFound)
	}
	b.get("/api/v1/namespaces/elsewhere/node-runs/" + run.ID + ":extract").problem(http.StatusNotFound)
}

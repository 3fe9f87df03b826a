package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
)

// A run from its registration to its report, all of it over HTTP, moved by the engine itself.
func TestRunOverHTTPWithTheEngine(t *testing.T) {
	t.Parallel()
	b := &bed{T: t, pool: dbtest.New(t)}
	b.store = store.New(b.pool)
	metrics := api.NewMetrics(b.store, nil)
	e, err := engine.New(engine.Config{Pool: b.pool, Metrics: metrics, Worker: &engine.WorkerConfig{Name: "w", Handlers: map[string]engine.Executor{
		"hello": engine.ExecutorFunc(func(_ context.Context, task *engine.Task) engine.Outcome {
			task.Log.Print("log", "hello from "+task.Attempt.Node)
			return engine.Outcome{Output: []byte(`{"n": 12345678901234567890}`)}
		}),
	}}})
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, e.Stop(ctx))
	})
	b.serve(api.Config{Store: b.store, Launcher: e, Metrics: metrics})

	b.register("hello", "workflow: hello\nnodes:\n  a: {handler: hello}\n  b: {handler: hello, needs: [a]}\n")
	run := b.trigger("hello", `{}`)
	end := event{}
	for e := range b.events(ns + "/node-runs/" + run.ID + ":b/logs?follow=true") {
		if e.name == "line" {
			require.Contains(t, e.data, "hello from b")
		}
		end = e
	}
	require.Equal(t, "end", end.name)
	require.JSONEq(t, `{"state": "succeeded"}`, end.data)
	got := as[api.RunDetail](b.get(ns + "/runs/" + run.ID).is(http.StatusOK))
	require.Equal(t, "succeeded", got.State, "the run ends in the commit that ends its last node")
	nodes := b.nodes(run.ID)
	require.Equal(t, `{"n":12345678901234567890}`, string(nodes["a"].Output))
	require.Equal(t, "succeeded", nodes["b"].State)
	trace := as[api.Page[api.Transition]](b.get(ns + "/runs/" + run.ID + "/trace").is(http.StatusOK)).Items
	require.Len(t, trace, 3+2*3)
	require.Equal(t, "all_succeeded", trace[8].Reason)
	require.Contains(t, b.get("/metrics").text, `ax_node_runs_total{state="succeeded"} 2`)
}

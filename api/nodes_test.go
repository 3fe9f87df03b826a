package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

func (b *bed) nodes(run string) map[string]api.NodeRun {
	b.Helper()
	all := map[string]api.NodeRun{}
	for _, n := range as[api.Page[api.NodeRun]](b.get(ns + "/runs/" + run + "/nodes").is(http.StatusOK)).Items {
		all[n.Node] = n
	}
	return all
}

func TestNodesFromPendingToTheirEnd(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.trigger("small", `{}`)
	id := b.runID(run.ID)

	nodes := b.nodes(run.ID)
	require.Len(t, nodes, 3)
	extract := nodes["extract"]
	require.Equal(t, "queued", extract.State)
	require.Equal(t, run.ID+":extract:1", extract.ID)
	require.Equal(t, 1, extract.Attempts)
	require.NotNil(t, extract.QueuedAt)
	require.Nil(t, extract.StartedAt)
	require.Equal(t, "pending", nodes["report"].State)
	require.Equal(t, run.ID+":report", nodes["report"].ID)
	require.Equal(t, []string{"clean"}, nodes["report"].Needs)
	require.Equal(t, 2, nodes["report"].Level)
	require.Equal(t, "command", nodes["clean"].Kind)

	b.take(id, "extract")
	extract = b.nodes(run.ID)["extract"]
	require.Equal(t, "running", extract.State)
	require.Equal(t, "w1", extract.Worker)
	require.NotNil(t, extract.WaitMS)
	require.Nil(t, extract.FinishedAt)

	failed := record(attemptOf(id, "extract", 1), progress.Retrying)
	failed.Outcome, failed.Err = "failed", &progress.Error{Class: progress.System, Code: "exit_1", Message: "no such file"}
	b.apply(store.Changes{Records: []store.Record{failed}})
	b.apply(store.Changes{Begins: []store.Begin{begin(id, "extract", 2, store.ModeDue, time.Hour)}})
	extract = b.nodes(run.ID)["extract"]
	require.Equal(t, "retrying", extract.State)
	require.Equal(t, 1, extract.Attempts)
	require.Equal(t, api.RetryBackoff, extract.BlockedBy.Reason)
	require.WithinDuration(t, time.Now().Add(time.Hour), *extract.BlockedBy.Until, time.Minute)
	require.Equal(t, &api.NodeError{Class: "system", Code: "exit_1", Message: "no such file"}, extract.Error)

	second := record(attemptOf(id, "extract", 2), progress.Succeeded)
	second.Output = []byte(`{"rows": 12345678901234567890.5}`)
	started := time.Now()
	second.StartedAt = &started
	b.apply(store.Changes{Records: []store.Record{second}, Begins: []store.Begin{begin(id, "clean", 1, store.ModeWorker, 0)}})
	nodes = b.nodes(run.ID)
	require.Equal(t, "succeeded", nodes["extract"].State)
	require.Equal(t, `{"rows":12345678901234567890.5}`, string(nodes["extract"].Output))
	require.Equal(t, 2, nodes["extract"].Attempts)
	require.Nil(t, nodes["extract"].Error)
	require.Equal(t, "waiting", nodes["clean"].State)
	require.Equal(t, api.NoMatchingWorker, nodes["clean"].BlockedBy.Reason)

	detail := as[api.NodeRunDetail](b.get(ns + "/node-runs/" + run.ID + ":extract").is(http.StatusOK))
	require.Equal(t, run.ID+":extract:1", detail.ID)
	require.Len(t, detail.History, 2)
	require.Equal(t, "failed", detail.History[0].Outcome)
	require.Equal(t, "retrying", detail.History[0].State)
	require.Empty(t, detail.Successor)
	require.Equal(t, detail, as[api.NodeRunDetail](b.get(ns+"/node-runs/"+run.ID+":extract:1").is(http.StatusOK)))
}

func TestOlderGenerationNamesItsSuccessor(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.trigger("small", `{}`)
	id := b.runID(run.ID)
	old := record(attemptOf(id, "extract", 1), progress.Failed)
	old.Err = &progress.Error{Class: progress.Permanent}
	b.apply(store.Changes{Records: []store.Record{old}})
	rerun := begin(id, "extract", 1, store.ModeJob, 0)
	rerun.Attempt.Generation = 2
	b.apply(store.Changes{Begins: []store.Begin{rerun}})

	first := as[api.NodeRunDetail](b.get(ns + "/node-runs/" + run.ID + ":extract:1").is(http.StatusOK))
	require.Equal(t, "failed", first.State)
	require.Equal(t, run.ID+":extract:2", first.Successor)
	newest := as[api.NodeRunDetail](b.get(ns + "/node-runs/" + run.ID + ":extract").is(http.StatusOK))
	require.Equal(t, run.ID+":extract:2", newest.ID)
	require.Equal(t, "queued", newest.State)
	require.Empty(t, newest.History)
	require.Equal(t, "queued", b.nodes(run.ID)["extract"].State)
}

func TestLargeOutputIsOnItsOwnPage(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.trigger("small", `{}`)
	large := record(attemptOf(b.runID(run.ID), "extract", 1), progress.Succeeded)
	large.Output = []byte(`"` + strings.Repeat("x", 100_000) + `"`)
	b.apply(store.Changes{Records: []store.Record{large}})
	listed := b.nodes(run.ID)["extract"]
	require.Nil(t, listed.Output)
	require.Equal(t, 100_002, listed.OutputSize)
	own := as[api.NodeRunDetail](b.get(ns + "/node-runs/" + run.ID + ":extract"))
	require.Equal(t, string(large.Output), string(own.Output))
}

func TestNodesArePagedInTopologicalOrder(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.trigger("small", `{}`)
	var got []string
	cursor := ""
	for range 3 {
		p := as[api.Page[api.NodeRun]](b.get(ns + "/runs/" + run.ID + "/nodes?limit=1&cursor=" + cursor).is(http.StatusOK))
		require.Len(t, p.Items, 1)
		got = append(got, p.Items[0].Node)
		cursor = p.NextCursor
	}
	require.Equal(t, []string{"extract", "clean", "report"}, got)
	require.Empty(t, cursor)
}

func TestTraceTellsEachTransitionOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.trigger("small", `{}`)
	id := b.runID(run.ID)
	b.take(id, "extract")
	failed := record(attemptOf(id, "extract", 1), progress.Retrying)
	failed.Outcome, failed.Err = "failed", &progress.Error{Class: progress.System, Code: "exit_1"}
	b.apply(store.Changes{Records: []store.Record{failed}})
	b.apply(store.Changes{Begins: []store.Begin{begin(id, "extract", 2, store.ModeDue, 0)}})
	n, err := b.store.ReleaseDue(t.Context(), store.Lanes{Open: []store.Lane{{Queue: "q1", Kind: "go:extract"}}}, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	b.take(id, "extract")
	second := record(attemptOf(id, "extract", 2), progress.Failed)
	second.Outcome, second.Err = "failed", &progress.Error{Class: progress.Permanent}
	decided := func(node string) store.Record {
		r := record(attemptOf(id, node, 1), progress.UpstreamFailed)
		r.Actor, r.Reason, r.Worker = "engine", "upstream", ""
		return r
	}
	b.apply(store.Changes{Records: []store.Record{second, decided("clean"), decided("report")},
		Runs: []store.RunChange{{ID: id, State: progress.Failed, Reason: "node_failed"}}})

	var got []string
	cursor := ""
	for {
		p := as[api.Page[api.Transition]](b.get(ns + "/runs/" + run.ID + "/trace?limit=2&cursor=" + cursor).is(http.StatusOK))
		for _, tr := range p.Items {
			require.False(t, tr.At.IsZero())
			got = append(got, strings.TrimSpace(tr.Node+" "+tr.From+" → "+tr.To+" by "+tr.Actor+": "+tr.Reason))
		}
		if cursor = p.NextCursor; cursor == "" {
			break
		}
	}
	require.Equal(t, []string{
		"→ queued by user:local: api",
		"queued → running by engine: started",
		"extract pending → queued by engine: rule",
		"extract queued → running by worker:w1: started",
		"extract running → retrying by worker:w1: result",
		"extract retrying → queued by engine: retry",
		"extract queued → running by worker:w1: started",
		"extract running → failed by worker:w1: result",
		"clean pending → upstream_failed by engine: upstream",
		"report pending → upstream_failed by engine: upstream",
		"running → failed by engine: node_failed",
	}, got)
}

package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

const splitting = `
workflow: splitting
nodes:
  parts: {handler: parts, shards: 4}
  after: {needs: [parts], handler: after}
`

// shardOf is an attempt of a shard of the node parts.
func shardOf(run store.RunID, shard, generation, number int) store.Attempt {
	return store.Attempt{Run: run, Node: "parts", Shard: shard, Generation: generation, Number: number}
}

// split makes a run whose node parts has split: one shard succeeded, one failed, one runs and one waits.
func (b *bed) split() (store.RunID, string) {
	b.Helper()
	b.launcher.state = progress.Queued // without roots
	b.register("splitting", splitting)
	run := b.trigger("splitting", `{}`)
	id := b.runID(run.ID)
	var begins []store.Begin
	for s := range 4 {
		begins = append(begins, store.Begin{Attempt: shardOf(id, s, 1, 1), Place: store.Place{Kind: "go:parts", Queue: "q1", Priority: 2}, Mode: store.ModeJob})
	}
	b.apply(store.Changes{Expansions: []store.Expansion{{Run: id, Node: "parts", Generation: 1, Base: 1, Total: 4}}, Begins: begins})
	b.exec(`UPDATE ax_river.river_job SET state = 'running', attempt = attempt + 1, attempted_at = now(), attempted_by = '{w1}'
		WHERE unique_key IN (ax.job_key($1, 'parts', 0), ax.job_key($1, 'parts', 1), ax.job_key($1, 'parts', 2))`, id)
	done, failed := record(shardOf(id, 0, 1, 1), progress.Succeeded), record(shardOf(id, 1, 1, 1), progress.Failed)
	now := time.Now()
	done.StartedAt, failed.StartedAt = &now, &now
	done.Output, failed.Err = []byte(`{"n":0}`), &progress.Error{Class: progress.Permanent, Message: "no such part"}
	b.apply(store.Changes{Records: []store.Record{done, failed}})
	return id, run.ID
}

func TestShardsAreCountedAndShown(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	_, run := b.split()

	parts := b.nodes(run)["parts"]
	require.Equal(t, "running", parts.State)
	require.Equal(t, run+":parts:1", parts.ID)
	require.NotNil(t, parts.StartedAt)
	failure := api.FailedShard{ID: run + ":parts:1:1", Shard: 1, Error: &api.NodeError{Class: "permanent", Message: "no such part"}}
	require.Equal(t, &api.Shards{Total: 4, Succeeded: 1, Failed: 1, Running: 1, Waiting: 1, Failures: []api.FailedShard{failure}}, parts.Shards)
	require.Nil(t, b.nodes(run)["after"].Shards)

	var states []string
	cursor := ""
	for range 2 {
		p := as[api.Page[api.NodeRun]](b.get(ns + "/node-runs/" + run + ":parts/shards?limit=2&cursor=" + cursor).is(http.StatusOK))
		for _, s := range p.Items {
			require.Len(t, states, *s.Shard)
			states = append(states, s.State)
		}
		cursor = p.NextCursor
	}
	require.Equal(t, []string{"succeeded", "failed", "running", "queued"}, states)
	require.Empty(t, cursor)
	require.Empty(t, as[api.Page[api.NodeRun]](b.get(ns+"/node-runs/"+run+":after/shards").is(http.StatusOK)).Items)
}

func TestOneShardIsANodeRun(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	id, run := b.split()
	require.NoError(t, b.store.AppendLogs(t.Context(), []store.LogChunk{{Attempt: shardOf(id, 1, 1, 1), Lines: []store.LogLine{{Stream: "stderr", Text: "oops"}}}}))

	shard := as[api.NodeRunDetail](b.get(ns + "/node-runs/" + run + ":parts:1:1").is(http.StatusOK))
	require.Equal(t, run+":parts:1:1", shard.ID)
	require.Equal(t, 1, *shard.Shard)
	require.Equal(t, "failed", shard.State)
	require.Len(t, shard.History, 1)
	lines := as[api.Page[api.LogLine]](b.get(ns + "/node-runs/" + run + ":parts:1:1/logs").is(http.StatusOK)).Items
	require.Len(t, lines, 1)
	require.Equal(t, "oops", lines[0].Text)
	for _, none := range []string{":parts:1:4", ":parts:2:1", ":after:1:0", ":parts:1:-2"} {
		b.get(ns + "/node-runs/" + run + none).problem(http.StatusNotFound)
	}
}

// A rerun of the shards that failed keeps those that did not, and the output is of all.
func TestShardsOfARerun(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	id, run := b.split()
	b.exec("DELETE FROM ax_river.river_job")
	record := func(a store.Attempt, s progress.State, output string) store.Record {
		r := record(a, s)
		r.Output = []byte(output)
		return r
	}
	whole := store.Attempt{Run: id, Node: "parts", Shard: store.WholeNode, Generation: 2, Number: 1}
	b.apply(store.Changes{Expansions: []store.Expansion{{Run: id, Node: "parts", Generation: 2}},
		Records: []store.Record{record(shardOf(id, 1, 2, 1), progress.Succeeded, `1`), record(shardOf(id, 2, 1, 1), progress.Succeeded, `2`),
			record(shardOf(id, 3, 1, 1), progress.Succeeded, `null`), record(whole, progress.Succeeded, `null`)}})

	parts := as[api.NodeRunDetail](b.get(ns + "/node-runs/" + run + ":parts").is(http.StatusOK))
	require.Equal(t, "succeeded", parts.State)
	require.Equal(t, run+":parts:2", parts.ID)
	require.Equal(t, 4, parts.Shards.Succeeded)
	require.NotNil(t, parts.TotalMS)
	require.JSONEq(t, `[{"n":0},1,2,null]`, string(parts.Output))
	old := as[api.NodeRunDetail](b.get(ns + "/node-runs/" + run + ":parts:1:1").is(http.StatusOK))
	require.Equal(t, "failed", old.State)
	require.Equal(t, run+":parts:1:1", old.ID)
	require.Equal(t, run+":parts:2:1", old.Successor)
}

package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

func (b *bed) putPool(name, body string) reply {
	b.Helper()
	return b.do(http.MethodPut, ns+"/pools/"+name, "application/json", body)
}

func TestPoolsAreMadeShownAndDeleted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	made := as[api.PoolDetail](b.putPool("erp", `{"slots": 4, "rate": "100/m", "burst": 5, "max_waiting": 0}`).is(http.StatusCreated))
	require.Equal(t, []any{"erp", 4, "100/m", 5, 0, 0, 0}, []any{made.Pool.Pool, *made.Slots, made.Rate, made.Burst, *made.MaxWaiting, made.Used, made.Waiting})
	require.Empty(t, made.Holders)
	again := as[api.PoolDetail](b.putPool("erp", `{"rate": "10/s"}`).is(http.StatusOK))
	require.Nil(t, again.Slots)
	require.Nil(t, again.MaxWaiting)
	require.Equal(t, 1, again.Burst)
	require.Equal(t, again, as[api.PoolDetail](b.get(ns+"/pools/erp").is(http.StatusOK)))
	b.putPool("a", `{}`).is(http.StatusCreated)
	first := as[api.Page[api.Pool]](b.get(ns + "/pools?limit=1").is(http.StatusOK))
	rest := as[api.Page[api.Pool]](b.get(ns + "/pools?limit=1&cursor=" + first.NextCursor).is(http.StatusOK))
	require.Equal(t, []string{"a", "erp", ""}, []string{first.Items[0].Pool, rest.Items[0].Pool, rest.NextCursor})
	b.do(http.MethodDelete, ns+"/pools/a", "", "").is(http.StatusOK)
	b.get(ns + "/pools/a").problem(http.StatusNotFound)
	b.do(http.MethodDelete, ns+"/pools/a", "", "").problem(http.StatusNotFound)
	b.do(http.MethodDelete, ns+"/pools/a?dry_run=true", "", "").problem(http.StatusNotFound)
	for body, location := range map[string]string{
		`{"slots": 0}`: "body.slots", `{"slots": 1.5}`: "body.slots", `{"rate": "10"}`: "body.rate", `{"rate": "0/s"}`: "body.rate", `{"burst": 3}`: "body.burst",
		`{"max_waiting": -1}`: "body.max_waiting", `{"size": 3}`: "body.size",
	} {
		p := b.putPool("bad", body).problem(http.StatusUnprocessableEntity)
		require.Equal(t, location, p.Errors[0].Location, body)
	}
}

const pooled = "workflow: pooled\nnodes:\n  a: {handler: h, pools: [{pool: erp, weight: 3}]}\n  b: {handler: h, needs: [a], pool: erp}\n"

func TestPoolsThatWorkflowsUse(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, query := range []string{"", "?dry_run=true"} {
		p := b.put(ns+"/workflows/pooled"+query, pooled).problem(http.StatusUnprocessableEntity)
		require.Equal(t, []string{"body.nodes.a.pools[0] unknown_pool", "body.nodes.b.pools[0] unknown_pool"}, codes(p))
		require.Contains(t, p.Errors[0].Hint, "ax pools set erp")
	}
	b.putPool("erp", `{"slots": 2}`).is(http.StatusCreated)
	p := b.put(ns+"/workflows/pooled", pooled).problem(http.StatusUnprocessableEntity)
	require.Equal(t, []string{"body.nodes.a.pools[0].weight out_of_range"}, codes(p))
	b.putPool("erp", `{"slots": 3}`).is(http.StatusOK)
	b.register("pooled", pooled)
	require.Contains(t, b.putPool("erp", `{"slots": 2}`).problem(http.StatusConflict).Detail, "node a of pooled (weight 3) could never start")
	require.Contains(t, b.do(http.MethodDelete, ns+"/pools/erp", "", "").problem(http.StatusConflict).Detail, "node b of pooled")
	b.register("pooled", "workflow: pooled\nnodes: {a: {handler: h}}")
	b.exec("INSERT INTO ax.slots (namespace_id, pool, run_id, node, shard, generation, attempt, weight) VALUES (1, 'erp', 7, 'a', -1, 1, 1, 3)")
	require.Contains(t, b.do(http.MethodDelete, ns+"/pools/erp", "", "").problem(http.StatusConflict).Detail, "1 node runs hold slots of it")
	b.exec("DELETE FROM ax.slots")
	b.do(http.MethodDelete, ns+"/pools/erp", "", "").is(http.StatusOK)
}

func TestPoolIsPausedByPlan(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.putPool("erp", `{"slots": 2}`).is(http.StatusCreated)
	plan := as[api.Plan](b.post(ns+"/pools/erp/pause?dry_run=true", "{}").is(http.StatusOK))
	require.Contains(t, plan.Title, "pool erp")
	require.Nil(t, as[api.PoolDetail](b.get(ns+"/pools/erp")).Paused)
	paused := as[api.PoolDetail](b.post(ns+"/pools/erp/pause", fmt.Sprintf(`{"plan": %q, "reason": "upgrade"}`, plan.Token)).is(http.StatusOK))
	require.Equal(t, []string{"user:local", "upgrade"}, []string{paused.Paused.By, paused.Paused.Reason})
	b.post(ns+"/pools/erp/pause", fmt.Sprintf(`{"plan": %q}`, plan.Token)).problem(http.StatusConflict)
	require.Nil(t, as[api.PoolDetail](b.do(http.MethodPost, ns+"/pools/erp/resume", "", "").is(http.StatusOK)).Paused)
	b.do(http.MethodPost, ns+"/pools/none/pause", "", "").problem(http.StatusNotFound)
}

func TestQueuesAreBoundedAndPaused(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	b.trigger("small", "{}")
	all := as[api.Page[api.Queue]](b.get(ns + "/queues").is(http.StatusOK)).Items
	require.Equal(t, []any{"default", 1, 0, 0}, []any{all[0].Queue, all[0].Queued, all[0].Running, all[0].Workers})
	bounded := as[api.Queue](b.do(http.MethodPut, ns+"/queues/default", "application/json", `{"max_waiting": 100}`).is(http.StatusOK))
	require.Equal(t, 100, *bounded.MaxWaiting)
	require.Nil(t, as[api.Queue](b.do(http.MethodPut, ns+"/queues/fresh", "application/json", `{}`).is(http.StatusOK)).MaxWaiting)
	plan := as[api.Plan](b.post(ns+"/queues/default/pause?dry_run=true", "").is(http.StatusOK))
	require.Contains(t, plan.Warnings[0], "1 node runs are queued in it")
	paused := as[api.Queue](b.post(ns+"/queues/default/pause", `{"reason": "too much"}`).is(http.StatusOK))
	require.Equal(t, "too much", paused.Paused.Reason)
	require.Nil(t, as[api.Queue](b.post(ns+"/queues/default/resume", "").is(http.StatusOK)).Paused)
	b.post(ns+"/queues/none/pause", "").problem(http.StatusNotFound)
	b.get(ns + "/queues/none").problem(http.StatusNotFound)
}

// TestEverythingThatWaitsSaysForWhat puts a node in everybody's way in turn.
func TestEverythingThatWaitsSaysForWhat(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.putPool("erp", `{"slots": 4}`).is(http.StatusCreated)
	b.putPool("sap", `{"rate": "10/m"}`).is(http.StatusCreated)
	b.register("w", "workflow: w\nnodes:\n  a: {handler: h, pools: [{pool: erp, weight: 3}, sap]}\n  b: {handler: h, needs: [a]}\n  z: {handler: h, finally: true}\n")
	run := b.trigger("w", "{}")
	id := b.runID(run.ID)
	b.exec("DELETE FROM ax_river.river_job")
	begin := begin(id, "a", 1, store.ModePool, 0)
	begin.Demand = "1:erp=3,sap=1"
	b.apply(store.Changes{Begins: []store.Begin{begin}})
	blocked := func() api.BlockedBy {
		t.Helper()
		n := as[api.NodeRunDetail](b.get(ns + "/node-runs/" + run.ID + ":a").is(http.StatusOK))
		require.Equal(t, "waiting", n.State)
		require.NotNil(t, n.BlockedBy)
		require.NotNil(t, n.BlockedBy.Since)
		n.BlockedBy.Since = nil
		return *n.BlockedBy
	}
	require.Equal(t, api.BlockedBy{Reason: api.NoMatchingWorker, Message: "no live worker takes handler a on queue default"}, blocked())
	b.exec("INSERT INTO ax.workers (incarnation, name, namespace_id, queues, kinds, capacity, lease) VALUES ('w', 'w', 1, '{q1}', '{go:a}', 1, '1 hour')")
	both := []string{"erp", "sap"}
	require.Equal(t, api.BlockedBy{Reason: api.PoolWait, Message: "its pools have room; it starts next", Pools: both}, blocked())

	next := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	b.exec("UPDATE ax.pools SET next_at = $1 WHERE name = 'sap'", next)
	require.Equal(t, api.BlockedBy{Reason: api.RateLimited, Message: "pool sap starts 10/m", Pools: both, Until: &next}, blocked())
	b.exec("INSERT INTO ax.slots (namespace_id, pool, run_id, node, shard, generation, attempt, weight) VALUES (1, 'erp', $1, 'x', -1, 2, 1, 2)", id)
	require.Equal(t, api.BlockedBy{Reason: api.PoolWait, Message: "2 of 4 slots of pool erp are taken, and it takes 3", Pools: both, Holders: []string{run.ID + ":x:2"}}, blocked())
	require.Equal(t, run.ID+":x:2", as[api.PoolDetail](b.get(ns + "/pools/erp")).Holders[0].ID)
	require.Equal(t, 1, as[api.PoolDetail](b.get(ns+"/pools/erp")).Waiting)
	b.post(ns+"/pools/sap/pause", "").is(http.StatusOK)
	require.Equal(t, api.BlockedBy{Reason: api.Paused, Message: "pool sap is paused", Pools: both, Holders: []string{run.ID + ":x:2"}}, blocked())
	b.post(ns+"/queues/default/pause", "").is(http.StatusOK)
	require.Equal(t, api.BlockedBy{Reason: api.Paused, Message: "queue default is paused"}, blocked())
	b.exec("UPDATE ax.runs SET held_at = now()")
	require.Equal(t, api.BlockedBy{Reason: api.Paused, Message: "its run is held, until it is released or canceled"}, blocked())
	require.Equal(t, api.Paused, as[api.RunDetail](b.get(ns+"/runs/"+run.ID)).BlockedBy.Reason)

	nodes := b.nodes(run.ID)
	require.Equal(t, api.BlockedBy{Reason: api.UpstreamRunning, Message: "it waits for a", Nodes: []string{"a"}}, *nodes["b"].BlockedBy)
	require.Equal(t, "it starts when every other node has ended", nodes["z"].BlockedBy.Message)

	metrics := b.get("/metrics").text
	for _, line := range []string{`ax_pool_slots{kind="limit",pool="erp"} 4`, `ax_pool_slots{kind="used",pool="erp"} 2`, `ax_pool_slots{kind="stopping",pool="erp"} 0`,
		`ax_pool_slots{kind="waiting",pool="sap"} 1`, `ax_waiting{reason="pool_wait"} 1`} {
		require.Contains(t, metrics, line+"\n")
	}
}

// TestPoolsKeepRoomForOlderVersions shrinks a pool on which a node of an older version waits, and triggers a version that does not fit any more.
func TestPoolsKeepRoomForOlderVersions(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.putPool("kp", `{"slots": 2}`).is(http.StatusCreated)
	b.register("w", "workflow: w\nnodes: {a: {handler: h, pools: [{pool: kp, weight: 2}]}}")
	run := b.runID(b.trigger("w", "{}").ID)
	b.register("w", "workflow: w\nnodes: {a: {handler: h, pools: [kp]}}")
	b.exec("DELETE FROM ax_river.river_job")
	waits := begin(run, "a", 1, store.ModePool, 0)
	waits.Demand = "1:kp=2"
	b.apply(store.Changes{Begins: []store.Begin{waits}})
	require.Contains(t, b.putPool("kp", `{"slots": 1}`).problem(http.StatusConflict).Detail, "node a of w (weight 2, which waits for it)")
	b.exec("DELETE FROM ax.held")
	b.putPool("kp", `{"slots": 1}`).is(http.StatusOK)
	p := b.post(ns+"/workflows/w/runs", `{"version": 1}`).problem(http.StatusConflict)
	require.Equal(t, []string{"body.version " + dag.CodeOutOfRange}, codes(p))
	require.Contains(t, p.Errors[0].Message, `pool "kp" has 1 slots, and it takes 2`)
	b.post(ns+"/workflows/w/runs", `{"version": 2}`).is(http.StatusCreated)
}

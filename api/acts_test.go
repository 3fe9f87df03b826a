package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
)

// live is an API whose runs a real engine moves. While it is broken, the handler fragile fails.
type live struct {
	*bed
	broken atomic.Bool
}

func newLive(t *testing.T) *live {
	t.Helper()
	l := &live{bed: &bed{T: t, pool: dbtest.New(t)}}
	l.store = store.New(l.pool)
	handlers := map[string]engine.Executor{
		"ok": engine.ExecutorFunc(func(_ context.Context, task *engine.Task) engine.Outcome { return engine.Outcome{Output: task.Inputs} }),
		"fragile": engine.ExecutorFunc(func(context.Context, *engine.Task) engine.Outcome {
			if l.broken.Load() {
				return engine.Outcome{Err: &progress.Error{Class: progress.Permanent, Code: "E1", Message: "it is broken"}}
			}
			return engine.Outcome{Output: json.RawMessage("1")}
		}),
		"hang": engine.ExecutorFunc(func(ctx context.Context, _ *engine.Task) engine.Outcome { <-ctx.Done(); return engine.Outcome{} }),
	}
	e, err := engine.New(engine.Config{Pool: l.pool, Worker: &engine.WorkerConfig{Name: "w", Handlers: handlers},
		Timings: engine.Timings{Look: 50 * time.Millisecond, Grace: 100 * time.Millisecond}})
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, e.Stop(ctx))
	})
	l.serve(api.Config{Store: l.store, Launcher: e, Operator: e})
	return l
}

// until waits until a run is in a state.
func (l *live) until(run, state string) api.RunDetail {
	l.Helper()
	var got api.RunDetail
	require.Eventually(l, func() bool {
		got = as[api.RunDetail](l.get(ns + "/runs/" + run).is(http.StatusOK))
		return got.State == state
	}, 20*time.Second, 10*time.Millisecond, state)
	return got
}

// failing starts a run that fails.
func (l *live) failing(code string) api.RunDetail {
	l.Helper()
	l.broken.Store(true)
	return l.until(l.trigger(code, `{}`).ID, "failed")
}

const brittle = `
workflow: brittle
params: {day: {type: string, default: today}}
nodes:
  a: {handler: ok}
  b: {handler: fragile, needs: [a], idempotent: false, effects: writes a ledger}
  c: {handler: ok, needs: [b]}
`

func TestRerunByPlan(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.register("brittle", brittle)
	run := l.failing("brittle")
	path := ns + "/runs/" + run.ID + "/rerun"
	plan := as[api.Plan](l.post(path+"?dry_run=true", `{}`).is(http.StatusOK))
	require.Equal(t, []api.PlanItem{{Run: run.ID, Node: "b", State: "failed", Action: "rerun"}, {Run: run.ID, Node: "c", State: "upstream_failed", Action: "decide_again"}}, plan.Items)
	require.Equal(t, map[string]int{"rerun": 1, "decide_again": 1}, plan.Counts)
	require.Equal(t, []string{"b is not idempotent: what it did already it may do twice", "b has effects: writes a ledger"}, plan.Warnings)
	require.Contains(t, plan.Title, "rerun run "+run.ID+" of brittle")
	require.True(t, plan.ExpiresAt.After(time.Now()))

	p := l.post(path, `{"scope": "all", "plan": "`+plan.Token+`"}`).problem(http.StatusConflict)
	require.Equal(t, []string{"body.plan plan_changed"}, codes(p), "it is a plan of something else")
	l.post(path, `{"plan": "none"}`).problem(http.StatusConflict)
	l.broken.Store(false)
	as[api.RunDetail](l.post(path, `{"plan": "`+plan.Token+`", "reason": "fixed"}`).is(http.StatusOK))
	done := l.until(run.ID, "succeeded")
	require.Equal(t, 2, done.Generation)

	p = l.post(path, `{"plan": "`+plan.Token+`"}`).problem(http.StatusConflict)
	require.Contains(t, p.Detail, "nothing was done")
	require.Equal(t, []string{"body.plan plan_changed", "body.plan plan_changed"}, codes(p))
	require.Contains(t, p.Errors[1].Message, "there is nothing to do")

	all := as[api.Plan](l.post(path+"?dry_run=true", `{"scope": "all"}`).is(http.StatusOK))
	require.Len(t, all.Items, 3)
	l.broken.Store(true)
	as[api.RunDetail](l.post(path, `{"nodes": ["b"]}`).is(http.StatusOK))
	l.until(run.ID, "failed")
	p = l.post(path, `{"scope": "all", "plan": "`+all.Token+`"}`).problem(http.StatusConflict)
	require.Equal(t, run.ID+":b was succeeded and is failed by now", p.Errors[1].Message)
	require.Equal(t, run.ID+":c was succeeded and is upstream_failed by now", p.Errors[2].Message)
}

func TestActsThatCannotBe(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.register("brittle", brittle)
	run := l.failing("brittle")
	path := ns + "/runs/" + run.ID
	for body, location := range map[string]string{
		`{"scope": "node"}`:                    "body.nodes",
		`{"scope": "all", "nodes": ["a"]}`:     "body.nodes",
		`{"nodes": ["x"]}`:                     "body.nodes",
		`{"scope": "some"}`:                    "body.scope",
		`{"version": 7}`:                       "body.version",
		`{"scope": "downstream", "nodes": []}`: "body.nodes",
	} {
		require.Equal(t, location, l.post(path+"/rerun", body).problem(http.StatusUnprocessableEntity).Errors[0].Location, body)
		require.Equal(t, location, l.post(path+"/replay", body).problem(http.StatusUnprocessableEntity).Errors[0].Location, body)
	}
	for _, act := range []string{"/hold", "/release", "/hold?dry_run=true", "/cancel", "/cancel?dry_run=true"} {
		l.do(http.MethodPost, path+act, "", "").problem(http.StatusConflict)
	}
	l.post(ns+"/runs/7zzzzzzzzzzzz/rerun", `{}`).problem(http.StatusNotFound)
	l.post(ns+"/node-runs/"+run.ID+":x/mark", `{"state": "succeeded"}`).problem(http.StatusNotFound)
	l.post(ns+"/node-runs/"+run.ID+":b:0/mark", `{"state": "succeeded"}`).problem(http.StatusNotFound)
	l.post(ns+"/runs/"+run.ID+"/rerun", `{"nodes": []}`).problem(http.StatusUnprocessableEntity)
	l.post(ns+"/node-runs/"+run.ID+":b/mark", `{"state": "running"}`).problem(http.StatusUnprocessableEntity)
	l.post(ns+"/node-runs/"+run.ID+":b/approve", `{}`).problem(http.StatusConflict)
	require.Contains(t, l.get("/api/v1/audit").is(http.StatusOK).text, "approve-node-run", "what a viewer may do is noted like every change")
}

func TestHoldReleaseAndCancelByPlan(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.register("long", "workflow: long\nnodes: {a: {handler: hang}, b: {handler: ok, needs: [a]}, z: {handler: ok, finally: true}}")
	run := l.trigger("long", `{}`)
	path := ns + "/runs/" + run.ID
	held := as[api.RunDetail](l.post(path+"/hold", `{"reason": "wait"}`).is(http.StatusOK))
	require.NotNil(t, held.HeldAt)
	l.post(path+"/hold", `{}`).problem(http.StatusConflict)
	plan := as[api.Plan](l.post(path+"/release?dry_run=true", `{}`).is(http.StatusOK))
	require.Empty(t, plan.Items)
	require.Nil(t, as[api.RunDetail](l.post(path+"/release", `{"plan": "`+plan.Token+`"}`).is(http.StatusOK)).HeldAt)

	require.Eventually(t, func() bool { return l.nodes(run.ID)["a"].State == "running" }, 10*time.Second, 10*time.Millisecond)
	plan = as[api.Plan](l.post(path+"/cancel?dry_run=true", `{}`).is(http.StatusAccepted))
	require.Equal(t, []api.PlanItem{{Run: run.ID, Node: "a", State: "running", Action: "cancel"}, {Run: run.ID, Node: "b", State: "pending", Action: "cancel"}}, plan.Items)
	as[api.RunDetail](l.post(path+"/cancel", `{"plan": "`+plan.Token+`", "reason": "enough"}`).is(http.StatusAccepted))
	l.until(run.ID, "canceled")
	require.Equal(t, 1, l.count("SELECT count(*) FROM ax.runs WHERE canceled_by = 'user:local' AND cancel_reason = 'enough'"))
}

func (l *live) count(sql string, args ...any) (n int) {
	l.Helper()
	require.NoError(l, l.pool.QueryRow(l.Context(), sql, args...).Scan(&n))
	return n
}

func TestMarkAndApprove(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.register("brittle", brittle)
	run := l.failing("brittle")
	path := ns + "/node-runs/" + run.ID + ":b:1"
	plan := as[api.Plan](l.post(path+"/mark?dry_run=true", `{"state": "succeeded"}`).is(http.StatusOK))
	require.Equal(t, []api.PlanItem{{Run: run.ID, Node: "b", State: "failed", Action: "mark"}, {Run: run.ID, Node: "c", State: "upstream_failed", Action: "decide_again"}}, plan.Items)
	marked := as[api.NodeRunDetail](l.post(path+"/mark", `{"state": "succeeded", "reason": "done by hand", "plan": "`+plan.Token+`"}`).is(http.StatusOK))
	require.Equal(t, "succeeded", marked.State)
	require.Equal(t, "done by hand", marked.History[len(marked.History)-1].Note)
	l.until(run.ID, "succeeded")
	require.Contains(t, l.post(path+"/mark", `{"state": "failed"}`).problem(http.StatusConflict).Detail, run.ID+":b:2")

	l.register("ask", "workflow: ask\nnodes: {ask: {approval: {message: \"go on?\"}}, b: {handler: ok, needs: [ask]}}")
	for approved, state := range map[string]string{`{"reason": "fine"}`: "succeeded", `{"approved": false, "reason": "no"}`: "failed"} {
		asked := l.trigger("ask", `{}`)
		require.Eventually(t, func() bool { return l.nodes(asked.ID)["ask"].State == "waiting" }, 10*time.Second, 10*time.Millisecond)
		path := ns + "/node-runs/" + asked.ID + ":ask/approve"
		plan := as[api.Plan](l.post(path+"?dry_run=true", approved).is(http.StatusOK))
		require.Len(t, plan.Items, 1)
		require.Equal(t, state, as[api.NodeRunDetail](l.post(path, approved).is(http.StatusOK)).State)
		l.until(asked.ID, state)
		l.post(path, approved).problem(http.StatusConflict)
	}

	asked := l.trigger("ask", `{}`)
	require.Eventually(t, func() bool { return l.nodes(asked.ID)["ask"].State == "waiting" }, 10*time.Second, 10*time.Millisecond)
	counts := l.together(6, ns+"/node-runs/"+asked.ID+":ask/approve", `{}`, nil)
	require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusConflict: 5}, counts, "one of many is the first")
	l.until(asked.ID, "succeeded")
}

func TestReplayAndRerunWithAnotherVersion(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.register("brittle", brittle)
	run := l.failing("brittle")
	l.broken.Store(false)
	plan := as[api.Plan](l.post(ns+"/runs/"+run.ID+"/replay?dry_run=true", `{}`).is(http.StatusOK))
	require.Equal(t, map[string]int{"rerun": 1, "decide_again": 1}, plan.Counts)
	again := as[api.RunDetail](l.post(ns+"/runs/"+run.ID+"/replay", `{"plan": "`+plan.Token+`"}`).is(http.StatusOK))
	require.Equal(t, run.ID, again.ReplayOf)
	require.Equal(t, "replay", again.Trigger)
	l.until(again.ID, "succeeded")
	require.Equal(t, "failed", as[api.RunDetail](l.get(ns+"/runs/"+run.ID)).State)

	l.register("brittle", brittle+"  d: {handler: ok}\n")
	other := as[api.RunDetail](l.post(ns+"/runs/"+run.ID+"/rerun", `{"version": 2}`).is(http.StatusOK))
	require.NotEqual(t, run.ID, other.ID)
	require.Equal(t, 2, other.Version)
	l.until(other.ID, "succeeded")
	diff := as[api.Diff](l.get(ns + "/workflows/brittle/diff?from=1").is(http.StatusOK))
	require.Equal(t, "nodes.d", diff.Changes[0].Path)
	require.Equal(t, "removed", as[api.Diff](l.get(ns + "/workflows/brittle/diff?from=2&to=1").is(http.StatusOK)).Changes[0].Kind)
	l.get(ns + "/workflows/brittle/diff?from=3").problem(http.StatusNotFound)
	l.get(ns + "/workflows/brittle/diff").problem(http.StatusUnprocessableEntity)
}

func TestTestRunsAndNamedVersions(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.register("tested", "workflow: tested\nnodes: {a: {handler: ok}, b: {handler: ok, needs: [a], inputs: {from: \"${{ nodes.a.output }}\"}}}")
	l.register("tested", "workflow: tested\nnodes: {a: {handler: ok}, b: {handler: hang, needs: [a]}}")
	run := l.trigger("tested", `{"version": 1, "only_nodes": ["b"], "inputs": {"a": {"n": 9007199254740993}}}`)
	require.Equal(t, []string{"b"}, run.OnlyNodes)
	require.Equal(t, 1, run.Version)
	l.until(run.ID, "succeeded")
	require.Equal(t, `{"from":{"n":9007199254740993}}`, string(l.nodes(run.ID)["b"].Output))
	for body, location := range map[string]string{
		`{"version": 9}`:                                          "body.version",
		`{"only_nodes": []}`:                                      "body.only_nodes",
		`{"only_nodes": ["x"]}`:                                   "body.only_nodes",
		`{"only_nodes": ["b"], "inputs": {"b": 1}}`:               "body.inputs",
		`{"inputs": {"a": 1}}`:                                    "body.inputs",
		`{"only_nodes": ["b"], "run_at": "2030-01-01T00:00:00Z"}`: "body.run_at",
	} {
		require.Equal(t, location, l.post(ns+"/workflows/tested/runs", body).problem(http.StatusUnprocessableEntity).Errors[0].Location, body)
	}
}

func TestARefusedStartNamesTheHolder(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.register("single", "workflow: single\nparams: {k: {type: string, default: x}}\nconcurrency: {max_runs: 1, overflow: skip, key: params.k}\nnodes: {a: {handler: hang}}")
	holder := l.trigger("single", `{}`)
	l.trigger("single", `{"params": {"k": "y"}}`)
	p := l.post(ns+"/workflows/single/runs", `{}`).problem(http.StatusConflict)
	require.Contains(t, p.Detail, "run "+holder.ID+" is running")
	require.Equal(t, holder.ID, p.Errors[0].Value)
	require.Len(t, p.Errors, 1, "runs of other keys hold nothing of it")
	for _, r := range as[api.Page[api.Run]](l.get(ns + "/runs")).Items {
		l.post(ns+"/runs/"+r.ID+"/cancel", `{}`)
		l.until(r.ID, "canceled")
	}
}

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// do carries an act out, as user:test.
func (b *bed) do(run store.RunID, act Act) {
	b.Helper()
	act.Actor = "user:test"
	require.NoError(b, b.engine.Do(b.Context(), run, act))
}

// TestWishIsNotLostToAnotherOne lets a cancel come between the reading of a run's wishes and the commit that carries them out.
func TestWishIsNotLostToAnotherOne(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"hang": gated(nil)})
	run := b.launch(b.register("workflow: wishes\nnodes: {a: {handler: hang}}"), 1, "{}")[0]
	require.NoError(t, b.store.InTx(t.Context(), func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO ax.run_intents (run_id, kind, actor) VALUES ($1, 'settle', 'engine')", run)
		if err != nil {
			return err
		}
		m := &movement{engine: b.engine}
		locked, err := b.store.LockRuns(t.Context(), tx, []store.RunID{run}, nil)
		if err != nil {
			return err
		}
		b.cancel(run)
		if err := m.recall(t.Context(), tx, &locked); err != nil {
			return err
		}
		return b.store.Apply(t.Context(), tx, m.changes)
	}))
	require.Equal(t, progress.Canceled, b.wait(run))
}

func TestMarkThatLeavesNothingToRunEndsTheRunAtOnce(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	b := newBed(t, map[string]Executor{"bad": failing(progress.Permanent), "count": ExecutorFunc(func(context.Context, *Task) Outcome {
		ran.Add(1)
		return Outcome{}
	})})
	for _, limit := range []string{"", "concurrency: {max_runs: 1}\n"} {
		ran.Store(0)
		run := b.launch(b.register("workflow: marks\n"+limit+"nodes: {a: {handler: bad}, z: {handler: count, finally: true}}"), 1, "{}")[0]
		require.Equal(t, progress.Failed, b.wait(run))
		b.do(run, Act{Mark: &Mark{Node: "a", State: progress.Succeeded}, Note: "done by hand"})
		require.Equal(t, progress.Succeeded, b.state(run), "by the time the mark is durable")
		require.EqualValues(t, 1, ran.Load(), "nothing ran, so nothing is to be tidied up again")
		require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'a' AND state = 'succeeded' AND actor = 'user:test' AND note = 'done by hand'", run))
		b.do(run, Act{Rerun: &Rerun{Scope: progress.ScopeNode, Nodes: []string{"a"}}})
		require.Equal(t, progress.Failed, b.wait(run))
		require.EqualValues(t, 2, ran.Load())
	}
}

// TestRerunOfWhatRunsKeepsItsTrace wants the attempt that a rerun takes away to be told of afterwards (S3, S29).
func TestRerunOfWhatRunsKeepsItsTrace(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	b := newBed(t, map[string]Executor{"first": ExecutorFunc(func(ctx context.Context, _ *Task) Outcome {
		if tries.Add(1) == 1 {
			<-ctx.Done()
		}
		return Outcome{}
	})})
	run := b.launch(b.register("workflow: taken\nnodes: {a: {handler: first}}"), 1, "{}")[0]
	b.claim(run)
	b.do(run, Act{Rerun: &Rerun{Scope: progress.ScopeNode, Nodes: []string{"a"}}, Note: "again"})
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, 1, b.count(`SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND generation = 1 AND state = 'canceled' AND reason = 'rerun'
		AND actor = 'user:test' AND note = 'again' AND started_at IS NOT NULL AND worker IS NOT NULL`, run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND generation = 2 AND state = 'succeeded'", run))
}

// TestRerunOfFailedShardsKeepsTheSplitThatARuleOnceAllowed marks the parent otherwise after its child has split: the split stays, whatever the
// rule would say by now, and only what is begun anew as a whole is decided anew (S21, S29).
func TestRerunOfFailedShardsKeepsTheSplitThatARuleOnceAllowed(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"bad": failing(progress.Permanent)})
	run := b.launch(b.register("workflow: kept\nnodes: {a: {handler: bad}, s: {handler: bad, needs: [a], trigger_rule: all_failed, shards: 1}}"), 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(run))
	b.do(run, Act{Mark: &Mark{Node: "a", State: progress.Skipped}})
	b.do(run, Act{Rerun: &Rerun{Scope: progress.ScopeFailedShards, Nodes: []string{"s"}}})
	require.Equal(t, progress.Failed, b.wait(run))
	require.Equal(t, map[string]string{"a": "skipped", "s": "failed"}, b.nodes(run))
	require.Empty(t, b.found())
	b.do(run, Act{Rerun: &Rerun{Scope: progress.ScopeNode, Nodes: []string{"s"}}})
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, map[string]string{"a": "skipped", "s": "skipped"}, b.nodes(run))
}

func TestRunThatIsBeingStoppedIsNotChanged(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBed(t, map[string]Executor{"ok": succeed, "hang": gated(nil), "gate": ExecutorFunc(func(context.Context, *Task) Outcome { <-gate; return Outcome{} })})
	run := b.launch(b.register("workflow: stopping\nnodes: {a: {handler: hang}, z: {handler: gate, finally: true}}"), 1, "{}")[0]
	b.cancel(run)
	b.until("it tidies up", func() bool { return b.nodes(run)["a"] == "canceled" })
	for _, act := range []Act{{Rerun: &Rerun{Scope: progress.ScopeAll}}, {Mark: &Mark{Node: "a", State: progress.Succeeded}}} {
		require.ErrorIs(t, b.engine.Do(t.Context(), run, act), ErrStopping)
		_, err := b.engine.Preview(t.Context(), run, act)
		require.ErrorIs(t, err, ErrStopping)
	}
	close(gate)
	require.Equal(t, progress.Canceled, b.wait(run))
	require.Error(t, b.engine.Do(t.Context(), run, Act{Mark: &Mark{Node: "a", State: progress.Running}}), "no such mark")
	require.ErrorIs(t, b.engine.Do(t.Context(), run, Act{Rerun: &Rerun{Scope: "everything"}}), ErrPointless)
}

// TestPreviewsAreGoodForOneAct lets several people confirm the same preview at once.
func TestPreviewsAreGoodForOneAct(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"bad": failing(progress.Permanent)})
	run := b.launch(b.register("workflow: crowd\nnodes: {a: {handler: bad}}"), 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(run))
	act := Act{Actor: "user:test", Rerun: &Rerun{Scope: progress.ScopeFailed}}
	seen, err := b.engine.Preview(t.Context(), run, act)
	require.NoError(t, err)
	act.Expect = seen.Fingerprint
	var done atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			switch err := b.engine.Do(t.Context(), run, act); {
			case err == nil:
				done.Add(1)
			case !errors.Is(err, ErrChanged):
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.wait(run)
	require.EqualValues(t, 1, done.Load())
	require.Equal(t, 2, b.count("SELECT generation FROM ax.runs WHERE id = $1", run))
}

// TestPreviewSaysExactlyWhatIsReset compares previews with what the acts then do.
func TestPreviewSaysExactlyWhatIsReset(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"bad": failing(progress.Permanent), "ok": succeed})
	version := b.register(`
workflow: exact
nodes:
  a: {handler: bad}
  b: {handler: ok, needs: [a]}
  c: {handler: ok, needs: [a], trigger_rule: all_done}
  d: {handler: bad, shards: 3, needs: [c]}
  z: {handler: ok, finally: true}
`)
	for _, act := range []Act{
		{Mark: &Mark{Node: "a", State: progress.Succeeded}}, {Mark: &Mark{Node: "d", State: progress.Succeeded}}, {Mark: &Mark{Node: "z", State: progress.Failed}},
		{Rerun: &Rerun{Scope: progress.ScopeNode, Nodes: []string{"a"}}}, {Rerun: &Rerun{Scope: progress.ScopeDownstream, Nodes: []string{"c"}}},
		{Rerun: &Rerun{Scope: progress.ScopeFailed}}, {Rerun: &Rerun{Scope: progress.ScopeAll}}, {Rerun: &Rerun{Scope: progress.ScopeFailedShards, Nodes: []string{"d"}}},
	} {
		run := b.launch(version, 1, "{}")[0]
		require.Equal(t, progress.Failed, b.wait(run))
		seen, err := b.engine.Preview(t.Context(), run, act)
		require.NoError(t, err)
		names := []string{}
		for _, n := range seen.Nodes {
			names = append(names, n.Name)
		}
		b.do(run, act)
		b.wait(run)
		rows, err := b.pool.Query(t.Context(), "SELECT node FROM ax.node_runs WHERE run_id = $1 AND attempt = 0 AND shard = -1 ORDER BY node", run)
		require.NoError(t, err)
		reset, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		require.ElementsMatch(t, reset, names, "%+v", act)
	}
}

func TestHeldRunStartsNoRetryAndNothingThatWaitedForAWorker(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"bad": failing(progress.System)})
	run := b.launch(b.register(`
workflow: still
nodes:
  a: {handler: bad, retry: {max_attempts: 2, backoff: fixed, delay: 300ms, jitter: 0}}
  b: {handler: rare}
`), 1, "{}")[0]
	b.until("a is to be repeated", func() bool {
		return b.count("SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind = 'due'", run) == 1
	})
	b.do(run, Act{Hold: true})
	b.start("late", map[string]Executor{"rare": succeed})
	b.until("its delay is over", func() bool {
		return b.count("SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind = 'hold'", run) == 1
	})
	b.wait(b.launch(b.register("workflow: other\nnodes: {a: {handler: rare}}"), 1, "{}")[0])
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.held WHERE run_id = $1", run))
	b.do(run, Act{Release: true})
	require.Equal(t, progress.Failed, b.wait(run))
	require.Equal(t, map[string]string{"a": "failed", "b": "succeeded"}, b.nodes(run))
}

// TestHoldIsToldOf wants what a hold held back to say so afterwards, and a run that ends to be held no longer.
func TestHoldIsToldOf(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBed(t, map[string]Executor{"gate": ExecutorFunc(func(context.Context, *Task) Outcome { <-gate; return Outcome{} }), "ok": succeed})
	run := b.launch(b.register("workflow: told\nnodes: {a: {handler: gate}, b: {handler: ok, needs: [a]}}"), 1, "{}")[0]
	b.claim(run)
	b.do(run, Act{Hold: true})
	close(gate)
	b.until("b is held", func() bool {
		return b.count("SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind = 'hold'", run) == 1
	})
	b.do(run, Act{Release: true})
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'b' AND holds @> '[{\"kind\": \"hold\"}]'", run))
	held := b.launch(b.register("workflow: over\nnodes: {a: {handler: rare}}"), 1, "{}")[0]
	b.do(held, Act{Hold: true})
	b.cancel(held)
	require.Equal(t, progress.Canceled, b.wait(held))
	require.Zero(t, b.count("SELECT count(*) FROM ax.runs WHERE id = $1 AND held_at IS NOT NULL", held))
}

// TestExpressionsReadThingsAsTheyAre lets conditions read what the same movement decides, begins anew, or marks.
func TestExpressionsReadThingsAsTheyAre(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"one": ExecutorFunc(func(context.Context, *Task) Outcome { return Outcome{Output: json.RawMessage(`{"n": 1}`)} }), "ok": succeed})
	run := b.launch(b.register(`
workflow: fresh
nodes:
  a: {handler: one}
  pick: {needs: [a], branch: {cases: [{when: "nodes.a.output.n == 1", to: [b]}], default: [b]}}
  b: {handler: ok, needs: [pick], when: "nodes.pick.output.taken == ['b']"}
  c: {handler: ok, needs: [a], when: "nodes.a.output.n == 2"}
`), 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, map[string]string{"a": "succeeded", "pick": "succeeded", "b": "succeeded", "c": "skipped"}, b.nodes(run))
	b.do(run, Act{Mark: &Mark{Node: "a", State: progress.Succeeded}})
	require.Equal(t, progress.Failed, b.wait(run))
	require.Equal(t, "failed", b.nodes(run)["c"], "a mark gives no output, and the one before is gone")
}

func TestWaitUntilWhatIsNoInstantFails(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"ok": succeed})
	run := b.launch(b.register("workflow: never\nnodes: {a: {handler: ok}, b: {needs: [a], wait: {until: nodes.a.output}, on_failure: skip}}"), 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'b' AND error_code = 'expression_error'", run))
}

func TestApprovalAndChildThatTakeTooLong(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"hang": gated(nil)})
	b.register("workflow: hanging\nnodes: {a: {handler: hang}}")
	run := b.launch(b.register(`
workflow: late
nodes:
  ask: {approval: {message: "well?"}, timeout: 1s}
  call: {workflow: {code: hanging}, timeout: 1s, retry: {max_attempts: 2, backoff: fixed, delay: 1h}}
`), 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(run))
	require.Equal(t, 1, b.count("SELECT max(attempt) FROM ax.node_runs WHERE run_id = $1 AND node = 'ask'", run))
	require.Equal(t, 2, b.count("SELECT max(attempt) FROM ax.node_runs WHERE run_id = $1 AND node = 'call'", run), "a child run is repeated without delay")
	b.until("no child goes on", func() bool { return b.count("SELECT count(*) FROM ax.runs WHERE state = 'running'") == 0 })
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.runs WHERE parent IS NOT NULL AND state = 'canceled'"))
}

// TestShardsOfAnotherSplitAreForgotten wants the output of a node that was split anew to have nothing of the split before.
func TestShardsOfAnotherSplitAreForgotten(t *testing.T) {
	t.Parallel()
	var second atomic.Bool
	b := newBed(t, map[string]Executor{"ok": echo, "part": ExecutorFunc(func(_ context.Context, t *Task) Outcome {
		if second.Load() && t.Attempt.Shard == 0 {
			return Outcome{Err: &progress.Error{Class: progress.Permanent, Code: "no", Message: "no"}}
		}
		return Outcome{Output: json.RawMessage(map[bool]string{false: `"old"`, true: `"new"`}[second.Load()])}
	})})
	run := b.launch(b.register(`
workflow: anew
nodes:
  a: {handler: part, shards: 2, success: any}
  b: {handler: ok, needs: [a], when: "size(nodes.a.output) == 2", inputs: {got: "${{ nodes.a.output }}"}}
`), 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(run))
	second.Store(true)
	b.do(run, Act{Rerun: &Rerun{Scope: progress.ScopeAll}})
	require.Equal(t, progress.Succeeded, b.wait(run))
	outs, err := b.store.Outputs(t.Context(), []store.RunID{run}, []string{"b"})
	require.NoError(t, err)
	require.JSONEq(t, `{"got": [null, "new"]}`, string(outs[0].Output))
}

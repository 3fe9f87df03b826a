package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

func TestConditionsAndBranches(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"echo": echo})
	version := b.register(`
workflow: choices
params: {n: {type: integer, default: 1}}
nodes:
  root: {handler: echo, when: "params.n > 0"}
  a: {handler: echo, needs: [root], inputs: {n: "${{ params.n }}"}}
  pick: {needs: [a], branch: {cases: [{when: "nodes.a.output.n == 1", to: [one]}, {when: "nodes.a.output.n == 2", to: [two]}], default: [other]}}
  one: {handler: echo, needs: [pick]}
  two: {handler: echo, needs: [pick]}
  other: {handler: echo, needs: [pick]}
  join: {handler: echo, needs: [one, two, other], trigger_rule: none_failed_min_one_success}
  bad: {handler: echo, needs: [a], when: "nodes.a.output.nothing.there", on_failure: skip}
  never: {handler: echo, needs: [a], when: "nodes.a.output.n > 100"}
  after: {handler: echo, needs: [never]}
  z: {handler: echo, finally: true, when: "params.n == 2"}
`)
	one := b.launch(version, 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(one))
	require.Equal(t, map[string]string{"root": "succeeded", "a": "succeeded", "pick": "succeeded", "one": "succeeded", "two": "skipped", "other": "skipped",
		"join": "succeeded", "bad": "failed", "never": "skipped", "after": "skipped", "z": "skipped"}, b.nodes(one))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'bad' AND error_code = 'expression_error' AND tolerated", one))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'never' AND reason = 'condition'", one))
	two := b.launch(version, 1, `{"n": 2}`)[0]
	require.Equal(t, progress.Succeeded, b.wait(two))
	require.Equal(t, "succeeded", b.nodes(two)["two"])
	require.Equal(t, "succeeded", b.nodes(two)["z"])
	none := b.launch(version, 1, `{"n": 0}`)[0]
	require.Equal(t, progress.Succeeded, b.wait(none), "a run whose root is skipped ends by itself")
}

func TestShardsOfAListAndOfANumber(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{
		"echo": echo,
		"list": ExecutorFunc(func(context.Context, *Task) Outcome {
			return Outcome{Output: json.RawMessage(`[{"v": 1}, {"v": 2}, {"v": 3}]`)}
		}),
		"place": ExecutorFunc(func(_ context.Context, t *Task) Outcome {
			return Outcome{Output: fmt.Appendf(nil, "[%d, %d]", t.Attempt.Shard, t.Shards)}
		}),
	})
	run := b.launch(b.register(`
workflow: split
nodes:
  list: {handler: list}
  each: {handler: echo, needs: [list], for_each: nodes.list.output, inputs: {twice: "${{ item.v * 2 }}", at: "${{ shard.index }}"}}
  none: {handler: echo, needs: [list], for_each: "[]"}
  many: {handler: place, needs: [list], shards: 4}
  sum: {handler: echo, needs: [each, many], inputs: {all: "${{ nodes.each.output }}", many: "${{ nodes.many.output }}"}}
  odd: {handler: echo, needs: [list], for_each: nodes.list.output.size, on_failure: skip}
  big: {handler: echo, needs: [list], for_each: "logical_date", on_failure: skip}
`), 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, 4, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'many' AND shard >= 0 AND state = 'succeeded'", run))
	outs, err := b.store.Outputs(t.Context(), []store.RunID{run}, []string{"sum"})
	require.NoError(t, err)
	require.JSONEq(t, `{"all": [{"twice": 2, "at": 0}, {"twice": 4, "at": 1}, {"twice": 6, "at": 2}], "many": [[0, 4], [1, 4], [2, 4], [3, 4]]}`, string(outs[0].Output))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'none' AND reason = 'empty'", run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'big' AND error_code = 'not_a_list'", run))
}

func TestShardSuccessRulesAndFailedShards(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	b := newBed(t, map[string]Executor{"echo": echo, "part": ExecutorFunc(func(_ context.Context, t *Task) Outcome {
		if broken.Load() && t.Attempt.Shard%2 == 1 {
			return Outcome{Err: &progress.Error{Class: progress.Permanent, Code: "odd", Message: "odd shards break"}}
		}
		return Outcome{Output: fmt.Appendf(nil, "%d", t.Attempt.Shard)}
	})})
	run := b.launch(b.register(`
workflow: parts
nodes:
  all: {handler: part, shards: 4}
  half: {handler: part, shards: 4, success: {at_least: 50%}}
  any: {handler: part, shards: 4, success: any}
  after: {handler: echo, needs: [all], inputs: {all: "${{ nodes.all.output }}"}}
`), 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(run))
	require.Equal(t, map[string]string{"all": "failed", "half": "succeeded", "any": "succeeded", "after": "upstream_failed"}, b.wholes(run))
	require.Equal(t, 6, b.count("SELECT count(*) FROM ax.dead_letters WHERE run_id = $1 AND shard >= 0", run))
	broken.Store(false)
	require.NoError(t, b.engine.Do(t.Context(), run, Act{Actor: "user:test", Rerun: &Rerun{Scope: progress.ScopeFailedShards, Nodes: []string{"all"}}}))
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'all' AND shard >= 0 AND generation = 2 AND state = 'succeeded'", run))
	require.Equal(t, 2, b.count("SELECT generation FROM ax.runs WHERE id = $1", run))
	outs, err := b.store.Outputs(t.Context(), []store.RunID{run}, []string{"after"})
	require.NoError(t, err)
	require.JSONEq(t, `{"all": [0, 1, 2, 3]}`, string(outs[0].Output))
}

// wholes are the newest states of a run's nodes, shards left out.
func (b *bed) wholes(run store.RunID) map[string]string {
	b.Helper()
	rows, err := b.pool.Query(b.Context(), `SELECT DISTINCT ON (node) node, state FROM ax.node_runs WHERE run_id = $1 AND shard = -1
		ORDER BY node, generation DESC, attempt DESC`, run)
	require.NoError(b, err)
	out := make(map[string]string)
	var node, state string
	_, err = pgx.ForEachRow(rows, []any{&node, &state}, func() error { out[node] = state; return nil })
	require.NoError(b, err)
	return out
}

func TestFailFastStopsTheOtherShards(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"part": ExecutorFunc(func(ctx context.Context, t *Task) Outcome {
		if t.Attempt.Shard == 2 {
			return Outcome{Err: &progress.Error{Class: progress.Permanent, Code: "odd", Message: "no"}}
		}
		<-ctx.Done()
		return Outcome{}
	})})
	run := b.launch(b.register("workflow: fast\nnodes: {a: {handler: part, shards: 5, fail_fast: true}}"), 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(run))
	require.Equal(t, 4, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND shard >= 0 AND state = 'canceled' AND reason = 'fail_fast'", run))
}

func TestWaitAndApprovalHoldNoWorker(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"echo": echo})
	run := b.launch(b.register(`
workflow: patient
nodes:
  pause: {wait: {for: 1s}}
  until: {wait: {until: "scheduled_at"}}
  ask: {needs: [pause], approval: {message: "go on?"}}
  go: {handler: echo, needs: [ask, until], inputs: {by: "${{ nodes.ask.output }}"}}
`), 1, "{}")[0]
	b.until("it waits for a person", func() bool {
		return b.count("SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind = 'approval'", run) == 1
	})
	require.NoError(t, b.engine.Decide(t.Context(), store.Attempt{Run: run, Node: "ask", Shard: store.WholeNode}, Decision{Actor: "user:lead", Approved: true, Note: "fine"}))
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'ask' AND actor = 'user:lead'", run))
	require.ErrorIs(t, b.engine.Decide(t.Context(), store.Attempt{Run: run, Node: "ask", Shard: store.WholeNode}, Decision{Actor: "user:lead"}), ErrNotAsking)
}

func TestChildRunsAnswerTheirParents(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"echo": echo, "bad": failing(progress.Permanent), "hang": ExecutorFunc(func(ctx context.Context, _ *Task) Outcome {
		<-ctx.Done()
		return Outcome{}
	})})
	b.register("workflow: child\nparams: {x: {type: integer, default: 0}}\noutput: nodes.a.output.x\nnodes: {a: {handler: echo, inputs: {x: \"${{ params.x }}\"}}}")
	b.register("workflow: failing\nnodes: {a: {handler: bad}}")
	b.register("workflow: hanging\nnodes: {a: {handler: hang}}")
	run := b.launch(b.register(`
workflow: parent
nodes:
  call: {workflow: {code: child, params: {x: "${{ 40 + 2 }}"}}}
  use: {handler: echo, needs: [call], inputs: {got: "${{ nodes.call.output }}"}}
  fails: {workflow: {code: failing}, on_failure: skip}
  missing: {workflow: {code: nowhere}, on_failure: skip}
`), 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, 2, b.count("SELECT warnings FROM ax.runs WHERE id = $1", run))
	outs, err := b.store.Outputs(t.Context(), []store.RunID{run}, []string{"use"})
	require.NoError(t, err)
	require.JSONEq(t, `{"got": 42}`, string(outs[0].Output))

	long := b.launch(b.register("workflow: waiting\nnodes: {call: {workflow: {code: hanging}}}"), 1, "{}")[0]
	b.until("the child runs", func() bool {
		return b.count("SELECT count(*) FROM ax.runs WHERE parent LIKE $1 || ':%' AND state = 'running'", fmt.Sprint(int64(long))) == 1
	})
	b.cancel(long)
	require.Equal(t, progress.Canceled, b.wait(long))
	b.until("its child is canceled with it", func() bool {
		return b.count("SELECT count(*) FROM ax.runs WHERE parent LIKE $1 || ':%' AND state = 'canceled'", fmt.Sprint(int64(long))) == 1
	})
}

func TestR066RerunDecidesAgainWhatWasDerived(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	b := newBed(t, map[string]Executor{"echo": echo, "a": ExecutorFunc(func(context.Context, *Task) Outcome {
		if broken.Load() {
			return Outcome{Err: &progress.Error{Class: progress.Permanent, Code: "boom", Message: "no"}}
		}
		return Outcome{Output: json.RawMessage(`{"n": 1}`)}
	})})
	version := b.register(`
workflow: again
nodes:
  a: {handler: a}
  b: {handler: echo, needs: [a]}
  c: {handler: echo, needs: [b]}
  d: {handler: echo, needs: [a], when: "nodes.a.output.n == 1"}
  z: {handler: echo, finally: true}
`)
	broken.Store(true)
	run := b.launch(version, 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(run))
	seen, err := b.engine.Preview(t.Context(), run, Act{Rerun: &Rerun{Scope: progress.ScopeNode, Nodes: []string{"a"}}})
	require.NoError(t, err)
	require.Len(t, seen.Nodes, 5)
	broken.Store(false)
	act := Act{Actor: "user:test", Note: "fixed", Rerun: &Rerun{Scope: progress.ScopeNode, Nodes: []string{"a"}}, Expect: seen.Fingerprint}
	require.NoError(t, b.engine.Do(t.Context(), run, act))
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, map[string]string{"a": "succeeded", "b": "succeeded", "c": "succeeded", "d": "succeeded", "z": "succeeded"}, b.nodes(run))
	require.ErrorIs(t, b.engine.Do(t.Context(), run, act), ErrChanged, "the preview is of another time")
	require.Zero(t, b.count("SELECT count(*) FROM ax.dead_letters WHERE run_id = $1 AND resolved_at IS NULL", run))

	broken.Store(true)
	marked := b.launch(version, 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(marked))
	require.NoError(t, b.engine.Do(t.Context(), marked, Act{Actor: "user:test", Note: "done by hand", Mark: &Mark{Node: "a", State: progress.Succeeded}}))
	require.Equal(t, progress.Failed, b.wait(marked), "d's condition cannot be evaluated without an output")
	require.Equal(t, "succeeded", b.nodes(marked)["c"])
}

func TestHeldRunStartsNothingNew(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBed(t, map[string]Executor{"gate": ExecutorFunc(func(context.Context, *Task) Outcome { <-gate; return Outcome{} }), "echo": echo})
	run := b.launch(b.register("workflow: held\nnodes: {a: {handler: gate}, b: {handler: echo, needs: [a]}, c: {handler: rare}}"), 1, "{}")[0]
	b.until("a runs", func() bool { return b.count("SELECT count(*) FROM ax_river.river_job WHERE state = 'running'") == 1 })
	require.NoError(t, b.engine.Do(t.Context(), run, Act{Actor: "user:test", Hold: true}))
	close(gate)
	b.until("what runs has ended, what follows is held", func() bool {
		return b.count("SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind = 'hold' AND node = 'b'", run) == 1
	})
	require.ErrorIs(t, b.engine.Do(t.Context(), run, Act{Actor: "user:test", Hold: true}), ErrPointless)
	require.NoError(t, b.engine.Do(t.Context(), run, Act{Actor: "user:test", Release: true}))
	b.until("b has run", func() bool { return b.nodes(run)["b"] == "succeeded" })
	b.start("late", map[string]Executor{"rare": succeed})
	require.Equal(t, progress.Succeeded, b.wait(run))
}

func TestAbortRunAndNotIdempotent(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"echo": echo, "bad": failing(progress.System), "hang": ExecutorFunc(func(ctx context.Context, _ *Task) Outcome {
		<-ctx.Done()
		return Outcome{}
	})})
	run := b.launch(b.register(`
workflow: abort
nodes:
  a: {handler: bad, idempotent: false, on_failure: abort_run}
  b: {handler: hang}
  c: {handler: echo, needs: [b]}
  z: {handler: echo, finally: true}
`), 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(run))
	require.Equal(t, map[string]string{"a": "failed", "b": "canceled", "c": "canceled", "z": "succeeded"}, b.nodes(run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'a' AND reason = 'may_have_run' AND attempt = 1", run))
}

func TestRetryOnlyTheCodesNamed(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"bad": failing(progress.System)})
	run := b.launch(b.register(`
workflow: codes
nodes:
  a: {handler: bad, retry: {max_attempts: 3, backoff: fixed, delay: 0s, on: {codes: [boom]}}}
  b: {handler: bad, retry: {max_attempts: 3, backoff: fixed, delay: 0s, on: {except: [boom]}}}
`), 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(run))
	require.Equal(t, 3, b.count("SELECT max(attempt) FROM ax.node_runs WHERE run_id = $1 AND node = 'a'", run))
	require.Equal(t, 1, b.count("SELECT max(attempt) FROM ax.node_runs WHERE run_id = $1 AND node = 'b'", run))
}

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// The tests here retell faults of other schedulers, each with its number.

// trigger starts one run and says what became of it.
func (b *bed) trigger(version int64, params string) store.Launched {
	b.Helper()
	var launched []store.Launched
	require.NoError(b, b.store.InTx(b.Context(), func(tx pgx.Tx) (err error) {
		launched, err = b.engine.Launch(b.Context(), tx, []store.Trigger{{Version: version, Kind: "manual", Actor: "user:test",
			ScheduledAt: time.Now(), LogicalDate: "2026-11-30", Params: []byte(params)}})
		return err
	}))
	return launched[0]
}

// gated is a body that waits until it is let on.
func gated(gate <-chan struct{}) Executor {
	return ExecutorFunc(func(ctx context.Context, _ *Task) Outcome {
		select {
		case <-gate:
			return Outcome{}
		case <-ctx.Done():
			return Outcome{Err: &progress.Error{Class: progress.System, Code: "stopped", Message: ctx.Err().Error()}}
		}
	})
}

func TestR030IntegersStayExact(t *testing.T) {
	t.Parallel()
	const params = `{"id":9007199254740993,"n":-9223372036854775808,"f":0.1,"big":123456789012345678901234567890,"e":1e400}`
	var seen sync.Map
	b := newBed(t, map[string]Executor{"echo": ExecutorFunc(func(ctx context.Context, t *Task) Outcome {
		seen.Store(t.Attempt.Node, string(t.Facts.Params))
		return echo(ctx, t)
	})})
	version := b.register(`
workflow: exact
params:
  id: {type: integer}
  n: {type: integer}
  f: {type: number}
  big: {type: integer}
  e: {type: number}
  whole: {type: object, default: {}}
nodes:
  a: {handler: echo, inputs: {id: "${{ params.id }}", n: "${{ params.n }}", f: "${{ params.f }}", big: "${{ params.big }}", e: "${{ params.e }}"}}
  b: {handler: echo, needs: [a], inputs: {all: "${{ nodes.a.output }}", id: "${{ nodes.a.output.id }}", whole: "${{ params.whole }}", text: "no. ${{ nodes.a.output.big }}"}}
`)
	launched := b.trigger(version, strings.TrimSuffix(params, "}")+`,"whole":`+params+"}")
	require.NoError(t, launched.Err)
	require.Equal(t, progress.Succeeded, b.wait(launched.Run))
	kept, _ := seen.Load("a")
	sameNumbers(t, params, pick(t, kept.(string)))
	sameNumbers(t, params, pick(t, kept.(string), "whole"))
	sameNumbers(t, params, b.output(launched.Run, "a"))
	sameNumbers(t, params, pick(t, b.output(launched.Run, "b"), "all"))
	sameNumbers(t, params, pick(t, b.output(launched.Run, "b"), "whole"))
	require.Equal(t, "9007199254740993", pick(t, b.output(launched.Run, "b"), "id"))
	require.Equal(t, `"no. 123456789012345678901234567890"`, pick(t, b.output(launched.Run, "b"), "text"))

	for _, wrong := range []string{`"n": 1.5`, `"n": "7"`, `"n": null`} {
		refused := b.trigger(version, `{"id":1,"f":1,"big":1,"e":1,`+wrong+`}`)
		require.ErrorContains(t, refused.Err, `"n"`, "what does not fit is refused, not changed")
	}
}

// pick is a member of a JSON object, as it is written there; without a path, the object itself.
func pick(t *testing.T, object string, path ...string) string {
	t.Helper()
	for _, key := range path {
		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(object), &members))
		object = string(members[key])
	}
	return object
}

// sameNumbers wants the members of one object in another, to the digit.
func sameNumbers(t *testing.T, want, got string) {
	t.Helper()
	for _, key := range []string{"id", "n", "f", "big", "e"} {
		require.Equal(t, pick(t, want, key), pick(t, got, key), key)
	}
}

func TestR031LimitHoldsAfterRefusals(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	var now, most atomic.Int32
	b := newBed(t, map[string]Executor{"wait": ExecutorFunc(func(ctx context.Context, t *Task) Outcome {
		for n, m := now.Add(1), most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		defer now.Add(-1)
		return gated(gate).Execute(ctx, t)
	})})
	version := b.register("workflow: two\nconcurrency: {max_runs: 2, overflow: queue, max_queued: 5}\nnodes: {a: {handler: wait}}")
	states := map[progress.State][]store.RunID{}
	refused := 0
	for range 10 {
		l := b.trigger(version, "")
		states[l.State] = append(states[l.State], l.Run)
		if l.Refused != "" {
			require.Equal(t, RefusedOverlap, l.Refused)
			refused++
		}
	}
	require.Len(t, states[progress.Running], 2)
	require.Len(t, states[progress.Queued], 5)
	require.Equal(t, 3, refused)
	running := func() int { return b.count("SELECT count(*) FROM ax.runs WHERE state = 'running'") }
	queued := states[progress.Queued]
	for _, run := range queued[:2] { // what never had a place gives none back
		b.cancel(run)
		require.Equal(t, progress.Canceled, b.wait(run))
		require.Equal(t, 2, running())
	}
	require.Equal(t, progress.Queued, b.trigger(version, "").State, "the place in the queue is free again")
	close(gate)
	for _, run := range append(states[progress.Running], queued[2:]...) {
		require.Equal(t, progress.Succeeded, b.wait(run))
	}
	b.until("the last one ends", func() bool { return running() == 0 })
	require.EqualValues(t, 2, most.Load())
}

func TestR033RunKeepsItsVersion(t *testing.T) {
	t.Parallel()
	gate, began := make(chan struct{}), make(chan struct{}, 10)
	b := newBed(t, map[string]Executor{"echo": echo, "wait": ExecutorFunc(func(ctx context.Context, t *Task) Outcome {
		began <- struct{}{}
		if out := gated(gate).Execute(ctx, t); out.Err != nil || t.Attempt.Number == 1 {
			return Outcome{Err: &progress.Error{Class: progress.System, Code: "again"}} // the second attempt, too, is of the run's version
		}
		return Outcome{Output: t.Inputs}
	})})
	first := b.launch(b.register(`
workflow: pinned
nodes:
  a: {handler: wait, inputs: {of: 1}, retry: {backoff: fixed, delay: 0s}}
  b: {handler: echo, needs: [a], inputs: {of: 1, from: "${{ nodes.a.output.of }}"}}
`), 1, "{}")[0]
	<-began
	second := b.launch(b.register(`
workflow: pinned
nodes:
  a: {handler: wait, inputs: {of: 2}, retry: {backoff: fixed, delay: 0s}}
  b2: {handler: echo, needs: [a], inputs: {of: 2}}
  c: {handler: echo, needs: [b2], inputs: {of: "${{ nodes.a.output.of }}"}}
`), 1, "{}")[0]
	_, problems := dag.Load([]byte("workflow: pinned\nnodes: {a: {handler: wait, needs: [z]}}"), dag.BuildOptions{})
	require.True(t, problems.Failed(), "what does not validate never becomes a version")
	close(gate)
	require.Equal(t, progress.Succeeded, b.wait(first))
	require.Equal(t, progress.Succeeded, b.wait(second))
	require.Equal(t, map[string]string{"a": "succeeded", "b": "succeeded"}, b.nodes(first))
	require.Equal(t, map[string]string{"a": "succeeded", "b2": "succeeded", "c": "succeeded"}, b.nodes(second))
	require.JSONEq(t, `{"of": 1, "from": 1}`, b.output(first, "b"))
	require.JSONEq(t, `{"of": 2}`, b.output(second, "c"))
}

func TestR071SkipsGoDownByTheRules(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"ok": succeed, "idle": ExecutorFunc(func(context.Context, *Task) Outcome {
		return Outcome{Skipped: true, Reason: "nothing new"}
	})})
	run := b.launch(b.register(`
workflow: skips
nodes:
  a: {handler: ok}
  b: {handler: idle}
  c: {handler: ok, needs: [a]}
  d: {handler: ok, needs: [b]}
  e: {handler: ok, needs: [d], trigger_rule: none_failed}
  e2: {handler: ok, needs: [d], trigger_rule: all_done}
  f: {handler: ok, needs: [c, d], trigger_rule: one_success}
  g: {handler: ok, needs: [c, d], trigger_rule: none_failed_min_one_success}
  h: {handler: ok, needs: [c, d]}
`), 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, map[string]string{"a": "succeeded", "b": "skipped", "c": "succeeded", "d": "skipped", "e": "succeeded", "e2": "succeeded",
		"f": "succeeded", "g": "succeeded", "h": "skipped"}, b.nodes(run))
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node IN ('d', 'h') AND reason = 'upstream' AND actor = 'engine'", run),
		"each skip shows its cause")
}

func TestR083WaitingRunsAreCanceledAtOnce(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBed(t, map[string]Executor{"ok": succeed, "wait": gated(gate), "busy": failing(progress.System)})
	holder := b.launch(b.register("workflow: limited\nconcurrency: {max_runs: 1}\nnodes: {a: {handler: wait}}"), 2, "{}")
	waiters := map[string]store.RunID{
		"held until its retry": b.launch(b.register("workflow: later\nnodes: {a: {handler: busy, retry: {delay: 1h, max_delay: 1h}}, b: {handler: ok, needs: [a]}}"), 1, "{}")[0],
		"held for a worker":    b.launch(b.register("workflow: nobody\nnodes: {a: {handler: rare}, b: {handler: ok, needs: [a]}}"), 1, "{}")[0],
		"queued":               holder[1],
	}
	b.until("all of them wait", func() bool {
		return b.count("SELECT count(*) FROM ax.held WHERE kind IN ('due', 'worker')") == 2 && b.state(holder[1]) == progress.Queued
	})
	for what, run := range waiters {
		began := time.Now()
		b.cancel(run)
		require.Equal(t, progress.Canceled, b.wait(run), what)
		require.Less(t, time.Since(began), 2*time.Second, what)
		for node, state := range b.nodes(run) {
			require.Equal(t, "canceled", state, "%s: %s", what, node)
		}
	}
	require.Equal(t, progress.Running, b.state(holder[0]), "the holder is not affected")
	close(gate)
	require.Equal(t, progress.Succeeded, b.wait(holder[0]))
}

// join is a graph of which one branch fails and the other succeeds: before it, after it or at the same time.
const join = `
workflow: join-%[1]s
concurrency: {max_runs: 8, overflow: queue}
params: {first: {type: string}}
nodes:
  a: {handler: ok}
  b: {handler: ok}
  c: {handler: bad, needs: [a], on_failure: %[1]s}
  d: {handler: good, needs: [b]}
  e: {handler: ok, needs: [c, d]}
`

// branches are the ends of the two branches of each run: closed when the body is through.
type branches struct{ runs sync.Map }

// body is a branch's body: it waits for the other branch where that is to be the first.
func (r *branches) body(own, other string, end Executor) Executor {
	return ExecutorFunc(func(ctx context.Context, t *Task) Outcome {
		if strings.Contains(string(t.Facts.Params), strconv.Quote(other)) {
			if out := gated(r.through(t, other)).Execute(ctx, t); out.Err != nil {
				return out
			}
		}
		defer close(r.through(t, own))
		return end.Execute(ctx, t)
	})
}

func (r *branches) through(t *Task, branch string) chan struct{} {
	done, _ := r.runs.LoadOrStore(t.Attempt.Run.String()+branch, make(chan struct{}))
	return done.(chan struct{})
}

func TestR050JoinWithAFailedBranchEnds(t *testing.T) {
	t.Parallel()
	var r branches
	handlers := map[string]Executor{"ok": succeed, "bad": r.body("c", "d", failing(progress.Permanent)), "good": r.body("d", "c", succeed)}
	b := newBed(t, handlers)
	b.start("second", handlers)
	for _, c := range []struct {
		policy   string
		triggers int
		run      progress.State
		e        string
	}{
		{"abort_chain", 60, progress.Failed, "upstream_failed"},
		{"skip", 20, progress.Succeeded, "succeeded"},
		{"abort_run", 20, progress.Failed, "canceled"},
	} {
		version := b.register(fmt.Sprintf(join, c.policy))
		var runs []store.RunID
		for i := range c.triggers {
			l := b.trigger(version, fmt.Sprintf(`{"first": %q}`, []string{"c", "d", "neither"}[i%3]))
			require.NoError(t, l.Err)
			runs = append(runs, l.Run)
		}
		for _, run := range runs {
			require.Equal(t, c.run, b.wait(run), c.policy)
			require.Equal(t, c.e, b.nodes(run)["e"], c.policy)
		}
	}
}

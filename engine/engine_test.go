package engine

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

const diamond = `
workflow: diamond
nodes:
  a: {handler: ok}
  b: {handler: ok, needs: [a]}
  c: {handler: ok, needs: [a]}
  d: {handler: ok, needs: [b, c]}
`

func TestDiamondOfSuccessesStaysClean(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"ok": succeed})
	for _, run := range b.launch(b.register(diamond), 20, "{}") {
		require.Equal(t, progress.Succeeded, b.wait(run))
		require.Equal(t, map[string]string{"a": "succeeded", "b": "succeeded", "c": "succeeded", "d": "succeeded"}, b.nodes(run))
		require.Equal(t, 1, b.count("SELECT count(*) FROM ax.runs WHERE id = $1 AND clean", run))
	}
	b.until("join counters go with their runs", func() bool { return b.count("SELECT count(*) FROM ax.node_joins") == 0 })
}

func TestOutputsReachSuccessorsToTheDigit(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"echo": echo})
	version := b.register(`
workflow: flow
params:
  big: {type: number, default: 1}
nodes:
  a: {handler: echo, inputs: {v: "${{ params.big }}", day: "${{ logical_date }}"}}
  b: {handler: echo, needs: [a], inputs: {got: "${{ nodes.a.output }}", text: "on ${{ nodes.a.output.day }}"}}
`)
	run := b.launch(version, 1, `{"big": 123456789012345678901234567890}`)[0]
	require.Equal(t, progress.Succeeded, b.wait(run))
	outs, err := b.store.Outputs(t.Context(), []store.RunID{run}, []string{"b"})
	require.NoError(t, err)
	require.JSONEq(t, `{"got": {"v": 123456789012345678901234567890, "day": "2026-11-30"}, "text": "on 2026-11-30"}`, string(outs[0].Output))
	require.Contains(t, string(outs[0].Output), "123456789012345678901234567890")
}

func TestFailureAbortsItsChainOnly(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"ok": succeed, "bad": failing(progress.Permanent)})
	run := b.launch(b.register(`
workflow: chains
nodes:
  a: {handler: bad}
  b: {handler: ok, needs: [a]}
  c: {handler: ok}
  d: {handler: ok, needs: [c]}
  e: {handler: ok, needs: [a, c], trigger_rule: all_done}
  f: {handler: ok, needs: [a], trigger_rule: one_failed}
  z: {handler: ok, finally: true}
`), 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(run))
	require.Equal(t, map[string]string{"a": "failed", "b": "upstream_failed", "c": "succeeded", "d": "succeeded", "e": "succeeded",
		"f": "succeeded", "z": "succeeded"}, b.nodes(run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.dead_letters WHERE run_id = $1 AND node = 'a' AND resolved_at IS NULL", run))
}

func TestSkippedFailureIsAWarning(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"echo": echo, "bad": failing(progress.Permanent)})
	run := b.launch(b.register(`
workflow: tolerant
nodes:
  a: {handler: bad, on_failure: skip}
  b: {handler: echo, needs: [a], inputs: {a: "${{ nodes.a.output }}"}}
`), 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, 1, b.count("SELECT warnings FROM ax.runs WHERE id = $1", run))
	outs, err := b.store.Outputs(t.Context(), []store.RunID{run}, []string{"b"})
	require.NoError(t, err)
	require.JSONEq(t, `{"a": null}`, string(outs[0].Output))
}

func TestSystemErrorsAreRetriedAfterTheirDelay(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	b := newBed(t, map[string]Executor{"flaky": ExecutorFunc(func(context.Context, *Task) Outcome {
		if calls.Add(1) < 3 {
			return Outcome{Err: &progress.Error{Class: progress.System, Code: "busy", Message: "try later\x00"}}
		}
		return Outcome{Output: json.RawMessage(`"done"`)}
	})})
	run := b.launch(b.register(`
workflow: flaky
nodes:
  a: {handler: flaky, retry: {backoff: list, delays: [0s, 300ms]}}
  b: {handler: flaky, needs: [a]}
`), 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.EqualValues(t, 4, calls.Load())
	var waited time.Duration
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT n.started_at - p.finished_at FROM ax.node_runs n, ax.node_runs p
		WHERE n.run_id = $1 AND p.run_id = $1 AND n.node = 'a' AND p.node = 'a' AND n.attempt = 3 AND p.attempt = 2`, run).Scan(&waited))
	require.InDelta(t, 300*time.Millisecond, waited, float64(200*time.Millisecond), "retry delays are precise to 200 ms")
}

func TestR003LateResultOfATimedOutAttemptIsRefused(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := newBed(t, map[string]Executor{
		"slow": ExecutorFunc(func(_ context.Context, task *Task) Outcome {
			if task.Attempt.Number == 1 {
				<-release // deaf to its context
				return Outcome{Output: json.RawMessage(`"old"`)}
			}
			return Outcome{Output: json.RawMessage(`"new"`)}
		}),
		"echo": echo,
	})
	run := b.launch(b.register(`
workflow: zombie
nodes:
  a: {handler: slow, timeout: 1s, retry: {max_attempts: 2, backoff: fixed, delay: 0s}}
  b: {handler: echo, needs: [a], inputs: {v: "${{ nodes.a.output }}"}}
`), 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(run))
	close(release)
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'b'", run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'a' AND outcome = 'timeout' AND attempt = 1", run))
	outs, err := b.store.Outputs(t.Context(), []store.RunID{run}, []string{"b"})
	require.NoError(t, err)
	require.JSONEq(t, `{"v": "new"}`, string(outs[0].Output))
}

func TestCancelStopsWhatRunsAndRunsFinally(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	b := newBed(t, map[string]Executor{"ok": succeed, "hang": ExecutorFunc(func(ctx context.Context, _ *Task) Outcome {
		close(started)
		<-ctx.Done()
		return Outcome{}
	})})
	run := b.launch(b.register(`
workflow: hanging
nodes:
  a: {handler: hang}
  b: {handler: ok, needs: [a]}
  z: {handler: ok, finally: true}
`), 1, "{}")[0]
	<-started
	b.cancel(run)
	require.Equal(t, progress.Canceled, b.wait(run))
	require.Equal(t, map[string]string{"a": "canceled", "b": "canceled", "z": "succeeded"}, b.nodes(run))
}

func (b *bed) cancel(run store.RunID) {
	b.Helper()
	require.NoError(b, b.store.InTx(b.Context(), func(tx pgx.Tx) error {
		return b.store.AddIntent(b.Context(), tx, store.Intent{Run: run, Kind: store.IntentCancel, Actor: "user:test", Reason: "enough"})
	}))
}

func TestRunTimeoutFailsTheRun(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"hang": ExecutorFunc(func(ctx context.Context, _ *Task) Outcome {
		<-ctx.Done()
		return Outcome{}
	})})
	run := b.launch(b.register("workflow: late\ntimeout: 1s\nnodes: {a: {handler: hang}}"), 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.runs WHERE id = $1 AND timed_out AND reason = 'run_timeout'", run))
}

func TestLimitedRunsQueueAndFollowEachOther(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	b := newBed(t, map[string]Executor{"count": ExecutorFunc(func(context.Context, *Task) Outcome {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		now.Add(-1)
		return Outcome{}
	})})
	runs := b.launch(b.register("workflow: one\nconcurrency: {max_runs: 1, overflow: queue}\nnodes: {a: {handler: count}}"), 30, "{}")
	for _, run := range runs {
		require.Equal(t, progress.Succeeded, b.wait(run))
	}
	require.EqualValues(t, 1, most.Load())
}

func TestNodesWaitForAWorkerThatKnowsThem(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"ok": succeed})
	run := b.launch(b.register(`
workflow: elsewhere
nodes:
  a: {handler: ok}
  b: {handler: rare, needs: [a]}
`), 1, "{}")[0]
	b.until("b waits for a worker", func() bool {
		return b.count("SELECT count(*) FROM ax.held WHERE run_id = $1 AND node = 'b' AND kind = 'worker'", run) == 1
	})
	b.start("late", map[string]Executor{"rare": succeed})
	require.Equal(t, progress.Succeeded, b.wait(run))
}

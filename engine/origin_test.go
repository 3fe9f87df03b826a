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

// test launches a test run.
func (b *bed) test(version int64, t store.Test) store.Launched {
	b.Helper()
	trigger := store.Trigger{Version: version, Kind: "api", Actor: "user:test", ScheduledAt: time.Now(), LogicalDate: "2026-11-30", Test: &t}
	var got []store.Launched
	require.NoError(b, b.store.InTx(b.Context(), func(tx pgx.Tx) (err error) {
		got, err = b.engine.Launch(b.Context(), tx, []store.Trigger{trigger})
		return err
	}))
	return got[0]
}

const testable = `
workflow: testable
nodes:
  a: {handler: count}
  parts: {handler: count, needs: [a], shards: 2}
  pick: {needs: [a], branch: {cases: [{when: "false", to: [never]}], default: [b]}}
  never: {handler: count, needs: [pick]}
  b: {handler: echo, needs: [a, parts, pick], inputs: {a: "${{ nodes.a.output }}", parts: "${{ nodes.parts.output }}"}}
  c: {handler: count, needs: [b]}
  z: {handler: count, finally: true}
`

func TestATestRunRunsOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	b := newBed(t, map[string]Executor{"echo": echo, "count": counting(&ran)})
	version := b.register(testable)
	l := b.test(version, store.Test{Nodes: []string{"b"}})
	require.NoError(t, l.Err)
	require.Equal(t, progress.Succeeded, b.wait(l.Run))
	require.Zero(t, ran.Load())
	require.JSONEq(t, `{"a": null, "parts": null}`, b.output(l.Run, "b"), "nothing has succeeded yet")

	full := b.launch(version, 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(full))
	require.Equal(t, "skipped", b.nodes(full)["never"])
	ran.Store(0)
	l = b.test(version, store.Test{Nodes: []string{"never", "b"}, Outputs: map[string][]byte{"a": []byte(`{"given": 9007199254740993}`)}})
	require.NoError(t, l.Err)
	require.Equal(t, progress.Succeeded, b.wait(l.Run))
	require.EqualValues(t, 1, ran.Load(), "of a branch that does not run every edge is taken")
	require.JSONEq(t, `{"a": {"given": 9007199254740993}, "parts": [1, 1]}`, b.output(l.Run, "b"))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.runs WHERE id = $1 AND trigger = 'test' AND only_nodes = '{b,never}' AND NOT clean", l.Run))
	require.Equal(t, 5, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND outcome = 'copied' AND reason = 'test' AND actor = 'user:test'", l.Run))

	var wrong *SelectionError
	require.ErrorAs(t, b.test(version, store.Test{Nodes: []string{"b", "x"}, Outputs: map[string][]byte{"b": []byte("1"), "y": []byte("1"), "a": []byte("{")}}).Err, &wrong)
	require.Len(t, wrong.Nodes, 1)
	require.Len(t, wrong.Outputs, 3)
	require.ErrorAs(t, b.test(version, store.Test{}).Err, &wrong)
}

func TestATestRunWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBed(t, map[string]Executor{"gate": gated(gate)})
	version := b.register("workflow: turn\nconcurrency: {max_runs: 1}\nnodes: {a: {handler: gate}, b: {handler: gate, needs: [a]}}")
	first := b.start1(version, "{}").Run
	l := b.test(version, store.Test{Nodes: []string{"b"}})
	require.Equal(t, progress.Queued, l.State)
	close(gate)
	require.Equal(t, progress.Succeeded, b.wait(first))
	require.Equal(t, progress.Succeeded, b.wait(l.Run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND outcome = 'copied'", l.Run))
}

func TestReplayTakesOverWhatIsDone(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	var broken atomic.Bool
	b := newBed(t, map[string]Executor{"echo": echo, "count": counting(&ran), "fragile": fragile(&broken)})
	version := b.register(`
workflow: replayed
params: {day: {type: string, default: x}}
nodes:
  a: {handler: count}
  parts: {handler: count, shards: 2}
  pick: {branch: {cases: [{when: "true", to: [yes]}], default: [no]}}
  "yes": {handler: count, needs: [pick]}
  "no": {handler: count, needs: [pick]}
  b: {handler: fragile, needs: [a, parts]}
  c: {handler: echo, needs: [b, "yes"], inputs: {a: "${{ nodes.a.output }}", parts: "${{ nodes.parts.output }}", day: "${{ params.day }}"}}
  z: {handler: count, finally: true}
`)
	broken.Store(true)
	source := b.launch(version, 1, `{"day": "y"}`)[0]
	require.Equal(t, progress.Failed, b.wait(source))
	broken.Store(false)
	ran.Store(0)
	replay := Replay{Actor: "user:test", Rerun: Rerun{Scope: progress.ScopeFailed}}
	seen, err := b.engine.PreviewReplay(t.Context(), source, replay)
	require.NoError(t, err)
	require.Equal(t, []PreviewNode{{"b", progress.Failed, EffectRerun}, {"c", progress.UpstreamFailed, EffectDecide}, {"z", progress.Succeeded, EffectRerun}}, seen.Nodes)
	require.Equal(t, 5, seen.Copied)
	replay.Expect = seen.Fingerprint
	l, err := b.engine.Replay(t.Context(), source, replay)
	require.NoError(t, err)
	require.Equal(t, progress.Succeeded, b.wait(l.Run))
	require.EqualValues(t, 1, ran.Load(), "only z has run again")
	require.JSONEq(t, `{"a": 1, "parts": [1, 1], "day": "y"}`, b.output(l.Run, "c"))
	require.Equal(t, "skipped", b.nodes(l.Run)["no"])
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.runs WHERE id = $1 AND replay_of = $2 AND trigger = 'replay'", l.Run, source))
	require.Equal(t, progress.Failed, b.state(source), "what has ended stays as it is")
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.dead_letters WHERE run_id = $1 AND resolution = 'replay' AND resolved_by = 'user:test'", source))

	_, err = b.engine.Replay(t.Context(), l.Run, Replay{Actor: "user:test", Rerun: Rerun{Scope: progress.ScopeFailed}})
	require.ErrorIs(t, err, ErrPointless)
	again, err := b.engine.Replay(t.Context(), l.Run, Replay{Actor: "user:test", Rerun: Rerun{Scope: progress.ScopeNode, Nodes: []string{"c"}}})
	require.NoError(t, err)
	require.Equal(t, progress.Succeeded, b.wait(again.Run))
	require.JSONEq(t, `{"a": 1, "parts": [1, 1], "day": "y"}`, b.output(again.Run, "c"), "copies of copies")
	rerun := Act{Actor: "user:test", Rerun: &Rerun{Scope: progress.ScopeNode, Nodes: []string{"parts"}}}
	require.NoError(t, b.engine.Do(t.Context(), again.Run, rerun))
	require.Equal(t, progress.Succeeded, b.wait(again.Run))
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'parts' AND shard >= 0 AND generation = 2", again.Run))
	_, err = b.engine.Replay(t.Context(), again.Run, Replay{Rerun: Rerun{Scope: progress.ScopeAll}, Expect: "old"})
	require.ErrorIs(t, err, ErrChanged)
}

func TestReplayWithAnotherVersion(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	gate := make(chan struct{})
	b := newBed(t, map[string]Executor{"count": counting(&ran), "gate": gated(gate)})
	old := b.register("workflow: moved\nparams: {gone: {type: string, default: x}}\n" +
		"nodes: {a: {handler: count}, b: {handler: count, needs: [a]}, c: {handler: count, needs: [b]}, d: {handler: count, needs: [a]}}")
	changed := b.register("workflow: moved\nparams: {new: {type: integer, default: 1}}\n" +
		"nodes: {a: {handler: count}, b: {handler: count, needs: [a], title: other}, c: {handler: count, needs: [b]}, d: {handler: count, needs: [a]}, e: {handler: count}}")
	source := b.launch(old, 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(source))
	ran.Store(0)
	l, err := b.engine.Replay(t.Context(), source, Replay{Actor: "user:test", Rerun: Rerun{Scope: progress.ScopeFailed}, Version: changed})
	require.NoError(t, err)
	require.Equal(t, progress.Succeeded, b.wait(l.Run))
	require.EqualValues(t, 3, ran.Load(), "b is another, c comes after it, e is new")
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND outcome = 'copied'", l.Run))

	running := b.launch(b.register("workflow: running\nnodes: {a: {handler: gate}}"), 1, "{}")[0]
	_, err = b.engine.Replay(t.Context(), running, Replay{Rerun: Rerun{Scope: progress.ScopeAll}})
	require.ErrorIs(t, err, ErrActive)
	_, err = b.engine.Replay(t.Context(), 12345, Replay{Rerun: Rerun{Scope: progress.ScopeAll}})
	require.ErrorIs(t, err, store.ErrNotFound)
	close(gate)
}

func TestReplayOfATestRunIsOne(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	b := newBed(t, map[string]Executor{"echo": echo, "count": counting(&ran)})
	l := b.test(b.register(testable), store.Test{Nodes: []string{"c"}})
	require.Equal(t, progress.Succeeded, b.wait(l.Run))
	again, err := b.engine.Replay(t.Context(), l.Run, Replay{Actor: "user:test", Rerun: Rerun{Scope: progress.ScopeAll}})
	require.NoError(t, err)
	require.Equal(t, progress.Succeeded, b.wait(again.Run))
	require.EqualValues(t, 2, ran.Load())
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.runs WHERE id = $1 AND trigger = 'test' AND only_nodes = '{c}'", again.Run))
}

// counting counts how often it runs, and gives 1.
func counting(n *atomic.Int32) Executor {
	return ExecutorFunc(func(context.Context, *Task) Outcome {
		n.Add(1)
		return Outcome{Output: json.RawMessage("1")}
	})
}

// fragile fails for good while it is broken.
func fragile(broken *atomic.Bool) Executor {
	return ExecutorFunc(func(context.Context, *Task) Outcome {
		if broken.Load() {
			return Outcome{Err: &progress.Error{Class: progress.Permanent, Code: "broken", Message: "it is broken"}}
		}
		return Outcome{Output: json.RawMessage("2")}
	})
}

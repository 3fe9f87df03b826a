package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag/progress"
)

// ledgers note who ran what.
type ledger struct {
	mu  sync.Mutex
	ran map[string][]string // by worker: what
}

func (l *ledger) handler(worker string) map[string]Executor {
	return map[string]Executor{"x": ExecutorFunc(func(_ context.Context, t *Task) Outcome {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ran[worker] = append(l.ran[worker], t.Attempt.ExecutionID())
		return Outcome{Output: json.RawMessage(`"` + worker + `"`)}
	})}
}

func (l *ledger) counts() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := make(map[string]int)
	for worker, ran := range l.ran {
		counts[worker] = len(ran)
	}
	return counts
}

// startLabeled starts a worker with labels.
func (b *bed) startLabeled(name string, labels map[string]string, l *ledger) *Engine {
	b.Helper()
	return b.startWith(Config{Timings: quick, Worker: &WorkerConfig{Name: name, Labels: labels, Capacity: 4, Handlers: l.handler(name)}})
}

// TestLabelsAndNamesChooseWorkers runs nodes that only one of three workers may take, and one that nobody may yet.
func TestLabelsAndNamesChooseWorkers(t *testing.T) {
	t.Parallel()
	l := &ledger{ran: make(map[string][]string)}
	b := newBed(t, l.handler("worker"))
	b.startLabeled("gpu", map[string]string{"gpu": "yes", "zone": "eu"}, l)
	b.startLabeled("cpu", map[string]string{"zone": "us"}, l)
	version := b.register(`
workflow: w
nodes:
  a: {handler: x, labels: {gpu: "yes"}}
  b: {handler: x, labels: {zone: us}, needs: [a]}
  c: {handler: x, route: {worker: gpu}, needs: [b]}
  d: {handler: x, labels: {zone: eu}, route: {worker: gpu}, needs: [c]}
  e: {handler: x, labels: {zone: mars}, needs: [d]}
`)
	run := b.launch(version, 1, "{}")[0]
	b.until("e waits for a worker", func() bool {
		return b.count("SELECT count(*) FROM ax.held WHERE run_id = $1 AND node = 'e' AND kind = 'worker'", run) == 1
	})
	require.Equal(t, map[string]int{"gpu": 3, "cpu": 1}, l.counts())
	b.startLabeled("rover", map[string]string{"zone": "mars"}, l)
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, 1, l.counts()["rover"])
}

// TestRoundRobinTakesTurns gives away runs in turn, also those that wait for a pool; when a worker goes, the others take its turns.
func TestRoundRobinTakesTurns(t *testing.T) {
	t.Parallel()
	l := &ledger{ran: make(map[string][]string)}
	b := newBed(t, l.handler("worker"))
	b.startLabeled("second", nil, l)
	third := b.startLabeled("third", nil, l)
	b.until("all are known", func() bool { return b.count("SELECT count(*) FROM ax.workers") == 3 })
	b.setPool("narrow", slots(2))
	version := b.register("workflow: w\nnodes:\n  a: {handler: x, route: round_robin}\n  b: {handler: x, route: round_robin, pool: narrow, needs: [a]}\n")
	for _, run := range b.launch(version, 6, "{}") {
		require.Equal(t, progress.Succeeded, b.wait(run))
	}
	require.Equal(t, map[string]int{"worker": 4, "second": 4, "third": 4}, l.counts())
	require.NoError(t, third.Stop(t.Context()))
	for _, run := range b.launch(version, 2, "{}") {
		require.Equal(t, progress.Succeeded, b.wait(run))
	}
	require.Equal(t, map[string]int{"worker": 6, "second": 6, "third": 4}, l.counts())
}

// TestAKeyStaysWithItsWorker hashes runs by a parameter: one key goes to one worker, and when a worker goes only its keys move.
func TestAKeyStaysWithItsWorker(t *testing.T) {
	t.Parallel()
	l := &ledger{ran: make(map[string][]string)}
	b := newBed(t, l.handler("worker"))
	b.startLabeled("second", nil, l)
	third := b.startLabeled("third", nil, l)
	b.until("all are known", func() bool { return b.count("SELECT count(*) FROM ax.workers") == 3 })
	version := b.register(`
workflow: w
params: {customer: {type: string, default: ""}}
nodes:
  a: {handler: x, route: {consistent_hash: "params.customer"}}
  b: {handler: x, needs: [a], route: {consistent_hash: "string(1 / (size(params.customer) - size(params.customer)))"}}
`)
	first := b.owners(version, l)
	require.Equal(t, first, b.owners(version, l))
	require.NoError(t, third.Stop(t.Context()))
	moved := b.owners(version, l)
	for key, owner := range first {
		if owner != "third" {
			require.Equal(t, owner, moved[key], key)
		} else {
			require.NotEqual(t, "third", moved[key])
		}
	}
}

// owners runs a run of each key and tells who ran its first node; the second fails, because its key cannot be told.
func (b *bed) owners(version int64, l *ledger) map[string]string {
	b.Helper()
	owners := make(map[string]string)
	for i := range 12 {
		key := fmt.Sprint("customer", i)
		run := b.launch(version, 1, `{"customer": "`+key+`"}`)[0]
		require.Equal(b, progress.Failed, b.wait(run))
		require.Equal(b, codeExpression, b.text("SELECT error_code FROM ax.node_runs WHERE run_id = $1 AND node = 'b'", run))
		owners[key] = b.text("SELECT output #>> '{}' FROM ax.node_runs WHERE run_id = $1 AND node = 'a'", run)
	}
	return owners
}

// TestShardsOverWorkersAndCapacity splits a node over the workers, each shard for one of them, and over what they can run at once. The
// number is frozen: who comes later gets none.
func TestShardsOverWorkersAndCapacity(t *testing.T) {
	t.Parallel()
	l := &ledger{ran: make(map[string][]string)}
	b := newBed(t, map[string]Executor{"other": succeed})
	b.startLabeled("one", map[string]string{"zone": "eu"}, l)
	b.startLabeled("two", map[string]string{"zone": "eu"}, l)
	b.startLabeled("three", map[string]string{"zone": "us"}, l)
	b.until("all are known", func() bool { return b.count("SELECT count(*) FROM ax.workers") == 4 })
	version := b.register(`
workflow: w
nodes:
  each: {handler: x, shards: workers, labels: {zone: eu}, inputs: {on: '${{ item }}'}}
  all: {handler: x, shards: capacity, needs: [each]}
  none: {handler: x, shards: workers, labels: {zone: mars}}
`)
	run := b.launch(version, 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, "one two", b.text("SELECT string_agg(output #>> '{}', ' ' ORDER BY shard) FROM ax.node_runs WHERE run_id = $1 AND node = 'each' AND shard >= 0", run))
	require.Equal(t, 12, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'all' AND shard >= 0", run))
	require.Equal(t, "skipped empty", b.text("SELECT state || ' ' || reason FROM ax.node_runs WHERE run_id = $1 AND node = 'none'", run))
}

// TestRemoteWorkersAreRoutedToo pins shards to workers that poll, and waits for one that is away.
func TestRemoteWorkersAreRoutedToo(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	version := b.register("workflow: w\nnodes:\n  a: {handler: x, shards: workers}\n  b: {handler: x, route: {worker: absent}, needs: [a]}\n")
	workers := []*far{b.join(RemoteWorker{ID: "one", Handlers: []string{"x"}}), b.join(RemoteWorker{ID: "two", Handlers: []string{"x"}})}
	for _, w := range workers {
		w.stay()
	}
	run := b.launch(version, 1, "{}")[0]
	for i, w := range workers {
		d := w.take(1)[0]
		require.Equal(t, i, d.attempt(t).Shard)
		require.NoError(t, w.report(d, good))
	}
	b.until("b waits", func() bool {
		return b.count("SELECT count(*) FROM ax.held WHERE run_id = $1 AND node = 'b' AND kind = 'worker'", run) == 1
	})
	late := b.join(RemoteWorker{ID: "absent", Handlers: []string{"x"}})
	late.stay()
	require.NoError(t, late.report(late.take(1)[0], good))
	require.Equal(t, progress.Succeeded, b.wait(run))
}

// TestWhatIsRoutedCountsInItsQueue bounds a queue in which nodes wait for a worker of some name: the newest fail.
func TestWhatIsRoutedCountsInItsQueue(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"other": succeed})
	version := b.register("workflow: w\nnodes:\n  a: {handler: x, route: {worker: absent}, on_failure: skip}\n")
	require.NoError(t, b.store.SetQueue(t.Context(), 1, "default", new(2)))
	runs := b.launch(version, 5, "{}")
	b.until("the newest have failed", func() bool {
		return b.count("SELECT count(*) FROM ax.dead_letters WHERE error_code = 'queue_full'") == 3
	})
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.held WHERE kind = 'worker'"))
	for _, run := range runs {
		b.cancel(run)
		b.wait(run)
	}
}

// TestOnlyTheLostArcMoves takes any worker out of any ring: no key moves that was not its own. Nobody has more than its bound.
func TestOnlyTheLostArcMoves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,6}`), 2, 12, rapid.ID[string]).Draw(t, "workers")
		lost := rapid.SampledFrom(workers).Draw(t, "lost")
		any := func(string) bool { return true }
		before, after := newRing(workers), newRing(slices.DeleteFunc(slices.Clone(workers), func(w string) bool { return w == lost }))
		loads := make(map[string]int)
		for i := range 200 {
			key := fmt.Sprint(i)
			owner := before.owner(key, any)
			if owner != lost && after.owner(key, any) != owner {
				t.Fatalf("key %s moved from %s", key, owner)
			}
			chosen := before.owner(key, func(w string) bool { return loads[w] < bound(i, len(workers), 1) })
			loads[chosen]++
		}
		for w, n := range loads {
			if n > bound(200, len(workers), 1) {
				t.Fatalf("%s has %d of 200 among %d", w, n, len(workers))
			}
		}
	})
	require.Empty(t, newRing(nil).owner("x", func(string) bool { return true }))
}

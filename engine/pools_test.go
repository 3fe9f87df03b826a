package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// setPool makes or changes a pool of the default namespace.
func (b *bed) setPool(name string, spec store.PoolSpec) store.PoolKey {
	b.Helper()
	namespace, err := b.store.Namespace(b.Context(), "default")
	require.NoError(b, err)
	key := store.PoolKey{Namespace: namespace, Name: name}
	_, err = b.store.SetPool(b.Context(), key, spec)
	require.NoError(b, err)
	return key
}

func slots(n int) store.PoolSpec { return store.PoolSpec{Slots: &n} }

// startWith starts one more engine.
func (b *bed) startWith(c Config) *Engine {
	b.Helper()
	c.Pool, c.Logger = b.pool, slog.New(slog.NewTextHandler(b.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	e, err := New(c)
	require.NoError(b, err)
	require.NoError(b, e.Start(b.Context()))
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(b, e.Stop(ctx))
	})
	return e
}

// use is what a pool has in use and how many nodes wait for it.
func (b *bed) use(key store.PoolKey) (used, waiting int) {
	b.Helper()
	p, err := b.store.PoolNamed(b.Context(), key)
	require.NoError(b, err)
	return p.Used, p.Waiting
}

// free waits until nothing of a pool is in use.
func (b *bed) free(key store.PoolKey) {
	b.Helper()
	b.until("the slots are given back", func() bool { used, waiting := b.use(key); return used == 0 && waiting == 0 })
}

// gateBody is a body that runs until it is let go, and counts how many do.
type gateBody struct {
	running, most atomic.Int32
	open          chan struct{}
}

func newGateBody() *gateBody { return &gateBody{open: make(chan struct{})} }

func (g *gateBody) Execute(ctx context.Context, _ *Task) Outcome {
	n := g.running.Add(1)
	defer g.running.Add(-1)
	for m := g.most.Load(); n > m && !g.most.CompareAndSwap(m, n); m = g.most.Load() {
	}
	select {
	case <-g.open:
		return Outcome{}
	case <-ctx.Done():
		return Outcome{Err: interrupted(ctx)}
	}
}

func TestPoolLetsInAsManyAsItHasSlots(t *testing.T) {
	t.Parallel()
	gate := newGateBody()
	b := newBed(t, map[string]Executor{"gate": gate, "ok": succeed})
	erp := b.setPool("erp", slots(3))
	runs := b.launch(b.register("workflow: w\nnodes: {a: {handler: ok}, b: {handler: gate, needs: [a], pool: erp}, c: {handler: ok, needs: [b]}}"), 10, "{}")
	b.until("three are in, seven wait", func() bool {
		used, waiting := b.use(erp)
		return used == 3 && waiting == 7 && gate.running.Load() == 3
	})
	close(gate.open)
	for _, run := range runs {
		require.Equal(t, progress.Succeeded, b.wait(run))
	}
	require.EqualValues(t, 3, gate.most.Load())
	b.free(erp)
	require.Equal(t, 10, b.count(`SELECT count(*) FROM ax.node_runs WHERE node = 'b' AND holds -> 0 ->> 'kind' = 'pool'
		AND (holds -> 0 ->> 'until')::timestamptz >= (holds -> 0 ->> 'since')::timestamptz`), "history says how long it waited for its pool")
}

// slotEnd is a way in which an attempt that holds a slot may end: by what its body does, or by what is done to it.
type slotEnd struct {
	node string
	body Outcome
	do   func(b *bed, run store.RunID, worker *Engine)
}

func byHand(a Act) func(*bed, store.RunID, *Engine) {
	a.Actor = "user:test"
	return func(b *bed, run store.RunID, _ *Engine) { require.NoError(b, b.engine.Do(b.Context(), run, a)) }
}

var slotEnds = map[string]slotEnd{
	"success":       {},
	"failure":       {body: Outcome{Err: permanent("boom", "it broke")}},
	"skip":          {body: Outcome{Skipped: true, Reason: "nothing to do"}},
	"retry":         {node: "retry: {max_attempts: 3, backoff: fixed, delay: 50ms}", body: Outcome{Err: system("boom", "it broke")}},
	"retry at once": {node: "retry: {max_attempts: 3, backoff: fixed, delay: 0s}", body: Outcome{Err: system("boom", "it broke")}},
	"bad output":    {body: Outcome{Output: []byte(`"\u0000"`)}},
	"timeout":       {node: "timeout: 100ms, retry: {max_attempts: 1}", do: func(*bed, store.RunID, *Engine) {}},
	"cancel":        {do: func(b *bed, run store.RunID, _ *Engine) { b.cancel(run) }},
	"mark":          {do: byHand(Act{Mark: &Mark{Node: "a", State: progress.Succeeded}})},
	"rerun":         {do: byHand(Act{Rerun: &Rerun{Scope: progress.ScopeNode, Nodes: []string{"a"}}})},
	"lost": {do: func(b *bed, _ store.RunID, worker *Engine) {
		_, err := b.pool.Exec(b.Context(), "UPDATE ax.workers SET beat_at = '-infinity' WHERE incarnation = $1", worker.incarnation())
		require.NoError(b, err)
	}},
	"drain": {do: func(b *bed, _ store.RunID, worker *Engine) {
		ctx, cancel := context.WithTimeout(b.Context(), 50*time.Millisecond)
		defer cancel()
		if err := worker.Stop(ctx); err != nil {
			require.ErrorIs(b, err, context.DeadlineExceeded)
		}
	}},
}

// TestR048EveryEndGivesTheSlotBack has a pool of one slot, an attempt that holds it and ends in each way there is, and a run that waits for it.
func TestR048EveryEndGivesTheSlotBack(t *testing.T) {
	t.Parallel()
	for name, end := range slotEnds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := ExecutorFunc(func(ctx context.Context, task *Task) Outcome {
				if task.Facts.Workflow == "holder" && end.do != nil {
					<-ctx.Done()
					return Outcome{Err: interrupted(ctx)}
				}
				return end.body
			})
			b := newBed(t, nil)
			worker := b.start("mortal", map[string]Executor{"body": body, "ok": succeed})
			one := b.setPool("one", slots(1))
			holder := b.launch(b.register(fmt.Sprintf("workflow: holder\nnodes: {a: {handler: body, pool: one, %s}}", end.node)), 1, "{}")[0]
			b.until("it holds the slot, or has had it", func() bool {
				return b.count("SELECT (SELECT count(*) FROM ax.slots) + (SELECT count(*) FROM ax.node_runs)") > 0
			})
			next := b.launch(b.register("workflow: next\nnodes: {a: {handler: ok, pool: one}}"), 1, "{}")[0]
			if end.do != nil {
				b.until("it runs", func() bool {
					return b.count("SELECT (SELECT count(*) FROM ax_river.river_job WHERE state = 'running') + (SELECT count(*) FROM ax.node_runs)") > 0
				})
				end.do(b, holder, worker)
			}
			if name == "drain" {
				b.start("heir", map[string]Executor{"body": body, "ok": succeed})
			}
			require.Equal(t, progress.Succeeded, b.wait(next))
			if !b.state(holder).Terminal() {
				b.cancel(holder)
			}
			b.wait(holder)
			b.free(one)
		})
	}
}

// TestStoppingBodyHoldsItsSlot cancels a body that is deaf: its slot is free when its grace is over, or as soon as it ends (S17).
func TestStoppingBodyHoldsItsSlot(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := newBed(t, nil)
	patient := quick
	patient.Grace = time.Minute
	b.startWith(Config{Timings: patient, Worker: &WorkerConfig{Name: "patient", Handlers: map[string]Executor{
		"deaf": ExecutorFunc(func(context.Context, *Task) Outcome { <-release; return Outcome{} })}}})
	one := b.setPool("one", slots(1))
	run := b.launch(b.register("workflow: deaf\nnodes: {a: {handler: deaf, pool: one}}"), 1, "{}")[0]
	b.until("it runs", func() bool { return b.count("SELECT count(*) FROM ax_river.river_job WHERE state = 'running'") == 1 })
	b.cancel(run)
	require.Equal(t, progress.Canceled, b.wait(run))
	p, err := b.store.PoolNamed(t.Context(), one)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{p.Used, p.Stopping}, "the run has ended, its body has not")
	close(release)
	b.free(one)
}

func TestR083WaiterForAPoolIsCanceledAtOnce(t *testing.T) {
	t.Parallel()
	gate := newGateBody()
	b := newBed(t, map[string]Executor{"gate": gate})
	one := b.setPool("one", slots(1))
	version := b.register("workflow: w\nnodes: {a: {handler: gate, pool: one}}")
	holder := b.launch(version, 1, "{}")[0]
	b.until("it runs", func() bool { return gate.running.Load() == 1 })
	waiter := b.launch(version, 1, "{}")[0]
	b.until("the other waits", func() bool { _, waiting := b.use(one); return waiting == 1 })
	began := time.Now()
	b.cancel(waiter)
	require.Equal(t, progress.Canceled, b.wait(waiter))
	require.Less(t, time.Since(began), time.Second)
	used, waiting := b.use(one)
	require.Equal(t, []int{1, 0}, []int{used, waiting})
	require.Equal(t, progress.Running, b.state(holder), "the holder goes on")
	close(gate.open)
	require.Equal(t, progress.Succeeded, b.wait(holder))
	b.free(one)
}

func TestWeightsAndSeveralPools(t *testing.T) {
	t.Parallel()
	gate := newGateBody()
	b := newBed(t, map[string]Executor{"gate": gate})
	erp, sap := b.setPool("erp", slots(5)), b.setPool("sap", slots(1))
	heavy := b.register("workflow: heavy\nnodes: {a: {handler: gate, pools: [{pool: erp, weight: 2}, sap]}}")
	light := b.register("workflow: light\nnodes: {a: {handler: gate, pools: [{pool: erp, weight: 2}]}}")
	runs := b.launch(heavy, 3, "{}")
	b.until("one is in", func() bool { return gate.running.Load() == 1 })
	runs = append(runs, b.launch(light, 3, "{}")...)
	b.until("those who need the full pool hide nothing", func() bool { return gate.running.Load() == 2 })
	used, waiting := b.use(erp)
	require.Equal(t, []int{4, 4}, []int{used, waiting}, "all pools or none")
	used, waiting = b.use(sap)
	require.Equal(t, []int{1, 2}, []int{used, waiting})
	close(gate.open)
	for _, run := range runs {
		require.Equal(t, progress.Succeeded, b.wait(run))
	}
	b.free(erp)
	b.free(sap)
}

func TestPriorityThenAge(t *testing.T) {
	t.Parallel()
	gate := newGateBody()
	var mu sync.Mutex
	var order []string
	b := newBed(t, map[string]Executor{"gate": gate, "note": ExecutorFunc(func(_ context.Context, task *Task) Outcome {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, fmt.Sprintf("%d %s", task.Node.Priority, task.Attempt.Run))
		return Outcome{}
	})})
	one := b.setPool("one", slots(1))
	b.launch(b.register("workflow: gate\nnodes: {a: {handler: gate, pool: one}}"), 1, "{}")
	b.until("it runs", func() bool { return gate.running.Load() == 1 })
	want := make(map[int][]string)
	var runs []store.RunID
	for i := range 12 {
		priority := []int{3, 1, 4, 2}[i%4]
		run := b.launch(b.register(fmt.Sprintf("workflow: p%d\nnodes: {a: {handler: note, pool: one, priority: %d}}", priority, priority)), 1, "{}")[0]
		runs = append(runs, run)
		want[priority] = append(want[priority], fmt.Sprintf("%d %s", priority, run))
		b.until("it waits", func() bool { _, waiting := b.use(one); return waiting == i+1 })
	}
	close(gate.open)
	for _, run := range runs {
		require.Equal(t, progress.Succeeded, b.wait(run))
	}
	var all []string
	for p := 1; p <= 4; p++ {
		all = append(all, want[p]...)
	}
	require.Equal(t, all, order)
}

// TestNothingIsHidden fills lines longer than one look takes up, and wants nodes behind them, of other pools and other workers, to go on.
func TestNothingIsHidden(t *testing.T) {
	t.Parallel()
	gate := newGateBody()
	b := newBed(t, map[string]Executor{"gate": gate, "ok": succeed})
	full, free := b.setPool("full", slots(1)), b.setPool("free", slots(2))
	many := admitBatch + 20
	b.launch(b.register("workflow: many\npriority: 1\nnodes: {a: {handler: gate, pools: [full, free]}}"), many, "{}")
	rare := b.launch(b.register("workflow: rare\npriority: 1\nnodes: {a: {handler: rare, pools: [free]}}"), many, "{}")
	b.until("all wait", func() bool {
		_, waiting := b.use(free)
		return waiting == 2*many-1 && gate.running.Load() == 1
	})
	for _, run := range b.launch(b.register("workflow: last\npriority: 4\nnodes: {a: {handler: ok, pool: free}}"), 5, "{}") {
		require.Equal(t, progress.Succeeded, b.wait(run))
	}
	used, waiting := b.use(full)
	require.Equal(t, []int{1, many - 1}, []int{used, waiting})
	_, waiting = b.use(free)
	require.Equal(t, 2*many-1, waiting, "a node without a live worker takes no slot")
	b.start("late", map[string]Executor{"rare": succeed})
	require.Equal(t, progress.Succeeded, b.wait(rare[0]))
	close(gate.open)
}

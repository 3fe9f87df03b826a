package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// TestRateIsPrecise lets forty starts a second through, and no more, however the engine is late.
func TestRateIsPrecise(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"ok": succeed})
	b.start("second", map[string]Executor{"ok": succeed})
	b.setPool("smooth", store.PoolSpec{Rate: progress.Rate{Count: 40, Per: time.Second, Burst: 1}})
	runs := b.launch(b.register("workflow: w\nnodes: {a: {handler: ok, pool: smooth}}"), 60, "{}")
	for _, run := range runs {
		require.Equal(t, progress.Succeeded, b.wait(run))
	}
	starts := b.times("SELECT queued_at FROM ax.node_runs ORDER BY queued_at")
	took := starts[len(starts)-1].Sub(starts[0])
	require.Greater(t, took, 59*25*time.Millisecond-50*time.Millisecond)
	require.Less(t, took, 10*time.Second, "a busy machine may be late, and does not make up for it")
	for i := range starts[:len(starts)-20] {
		require.Greater(t, starts[i+20].Sub(starts[i]), 19*25*time.Millisecond, "no twenty-one starts in less than their time")
	}
}

func (b *bed) times(sql string) []time.Time {
	b.Helper()
	rows, err := b.pool.Query(b.Context(), sql)
	require.NoError(b, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	require.NoError(b, err)
	return got
}

func TestBeyondMaxWaitingANodeFailsAtOnce(t *testing.T) {
	t.Parallel()
	gate := newGateBody()
	b := newBed(t, map[string]Executor{"gate": gate})
	two := 2
	one := b.setPool("one", store.PoolSpec{Slots: new(1), MaxWaiting: &two})
	version := b.register("workflow: w\nnodes: {a: {handler: gate, pool: one, retry: {max_attempts: 5}}}")
	var runs []store.RunID
	for range 5 {
		runs = append(runs, b.launch(version, 1, "{}")...) // one after another
	}
	require.Equal(t, progress.Failed, b.wait(runs[3]))
	require.Equal(t, progress.Failed, b.wait(runs[4]))
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.dead_letters WHERE error_code = 'pool_full' AND error_class = 'permanent' AND resolved_at IS NULL AND attempts = 1"))
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.node_runs WHERE error_code = 'pool_full' AND started_at IS NULL AND holds -> 0 ->> 'kind' = 'pool'"))
	used, waiting := b.use(one)
	require.Equal(t, []int{1, 2}, []int{used, waiting})
	close(gate.open)
	for _, run := range runs[:3] {
		require.Equal(t, progress.Succeeded, b.wait(run))
	}
	b.free(one)
}

func TestCrowdedQueueFailsItsNewest(t *testing.T) {
	t.Parallel()
	gate := newGateBody()
	b := newBed(t, nil)
	require.NoError(t, b.store.SetQueue(t.Context(), 1, "narrow", new(3)))
	b.startWith(Config{Timings: quick, Worker: &WorkerConfig{Name: "narrow", Queues: map[string]int{"narrow": 1}, Handlers: map[string]Executor{"gate": gate}}})
	version := b.register("workflow: w\nnodes: {a: {handler: gate, queue: narrow}}")
	runs := b.launch(version, 1, "{}")
	b.until("one runs", func() bool { return gate.running.Load() == 1 })
	runs = append(runs, b.launch(version, 3, "{}")...)
	late := b.launch(version, 2, "{}")
	for _, run := range late {
		require.Equal(t, progress.Failed, b.wait(run))
	}
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.dead_letters WHERE error_code = 'queue_full'"))
	close(gate.open)
	for _, run := range runs {
		require.Equal(t, progress.Succeeded, b.wait(run))
	}
}

func TestPausedQueueGivesBackWhatItHas(t *testing.T) {
	t.Parallel()
	gate := newGateBody()
	b := newBed(t, nil)
	e := b.startWith(Config{Timings: quick, Worker: &WorkerConfig{Name: "w", Capacity: 2, Handlers: map[string]Executor{"gate": gate, "ok": succeed}}})
	erp := b.setPool("erp", slots(4))
	runs := b.launch(b.register("workflow: w\nnodes: {a: {handler: gate, pool: erp}, b: {handler: ok, needs: [a]}}"), 5, "{}")
	b.until("two run", func() bool { return gate.running.Load() == 2 })
	runs = append(runs, b.launch(b.register("workflow: plain\nnodes: {a: {handler: ok}}"), 3, "{}")...)
	b.until("two run, two are queued with their slots, one waits", func() bool {
		used, waiting := b.use(erp)
		return gate.running.Load() == 2 && used == 4 && waiting == 1 &&
			b.count("SELECT count(*) FROM ax_river.river_job WHERE state = 'available'") == 5
	})
	require.NoError(t, b.store.PauseQueue(t.Context(), 1, "default", "user:test", "too much"))
	b.until("what was queued is held, without slots", func() bool {
		used, waiting := b.use(erp)
		return used == 2 && waiting == 3 && b.count("SELECT count(*) FROM ax.held WHERE kind = 'queue'") == 3
	})
	b.until("all know", func() bool { return len(b.engine.lanes.now().paused) == 1 && len(e.lanes.now().paused) == 1 })
	close(gate.open)
	b.until("what ran has ended, what follows is held", func() bool {
		used, _ := b.use(erp)
		return used == 0 && b.count("SELECT count(*) FROM ax.held WHERE kind = 'queue' AND node = 'b'") == 2
	})
	require.Zero(t, b.count("SELECT count(*) FROM ax_river.river_job"), "nothing starts")
	require.NoError(t, b.store.ResumeQueue(t.Context(), 1, "default"))
	for _, run := range runs {
		require.Equal(t, progress.Succeeded, b.wait(run))
	}
	require.Equal(t, 5, b.count("SELECT count(*) FROM ax.node_runs WHERE node = 'a' AND holds @> '[{\"kind\": \"pool\"}]' AND jsonb_array_length(holds) = 1"),
		"it stood in its line as if it had never left it")
	b.free(erp)
}

func TestPausedPoolLetsNobodyIn(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"ok": succeed})
	one := b.setPool("one", slots(1))
	require.NoError(t, b.store.PausePool(t.Context(), one, "user:test", ""))
	run := b.launch(b.register("workflow: w\nnodes: {a: {handler: ok, pool: one}}"), 1, "{}")[0]
	other := b.launch(b.register("workflow: other\nnodes: {a: {handler: ok}}"), 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(other))
	used, waiting := b.use(one)
	require.Equal(t, []int{0, 1}, []int{used, waiting})
	require.NoError(t, b.store.ResumePool(t.Context(), one))
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.ErrorIs(t, b.store.ResumePool(t.Context(), store.PoolKey{Namespace: 1, Name: "none"}), store.ErrNotFound)
}

func TestHeldRunTakesNoSlot(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	fails.Store(true)
	b := newBed(t, map[string]Executor{"flaky": ExecutorFunc(func(context.Context, *Task) Outcome {
		if fails.Load() {
			return Outcome{Err: system("busy", "later")}
		}
		return Outcome{}
	}), "ok": succeed})
	one := b.setPool("one", slots(1))
	require.NoError(t, b.store.PausePool(t.Context(), one, "user:test", ""))
	run := b.launch(b.register("workflow: w\nnodes: {a: {handler: ok, pool: one}, b: {handler: flaky, retry: {backoff: fixed, delay: 500ms, jitter: 0}}}"), 1, "{}")[0]
	b.until("one waits for the pool, one for its next attempt", func() bool {
		_, waiting := b.use(one)
		return waiting == 1 && b.count("SELECT count(*) FROM ax.held WHERE kind = 'due'") == 1
	})
	require.NoError(t, b.engine.Do(t.Context(), run, Act{Actor: "user:test", Hold: true}))
	fails.Store(false)
	b.until("the one that is due is held", func() bool { return b.count("SELECT count(*) FROM ax.held WHERE kind = 'hold'") == 1 })
	require.NoError(t, b.store.ResumePool(t.Context(), one))
	other := b.launch(b.register("workflow: other\nnodes: {a: {handler: ok, pool: one}}"), 1, "{}")[0]
	require.Equal(t, progress.Succeeded, b.wait(other), "a held run keeps nobody waiting")
	require.NoError(t, b.engine.Do(t.Context(), run, Act{Actor: "user:test", Release: true}))
	require.Equal(t, progress.Succeeded, b.wait(run))
	b.free(one)
}

func TestPoolThatIsMadeLater(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"ok": succeed})
	run := b.launch(b.register("workflow: w\nnodes: {a: {handler: ok, pool: later}}"), 1, "{}")[0]
	b.until("it waits", func() bool { return b.count("SELECT count(*) FROM ax.held WHERE kind = 'pool'") == 1 })
	later := b.setPool("later", slots(1))
	require.Equal(t, progress.Succeeded, b.wait(run))
	b.free(later)
}

// TestStraySlotsAreGivenBack puts a slot that belongs to nobody into the database, which must never happen by itself.
func TestStraySlotsAreGivenBack(t *testing.T) {
	t.Parallel()
	gate := newGateBody()
	b := newBed(t, map[string]Executor{"gate": gate})
	two := b.setPool("two", slots(2))
	run := b.launch(b.register("workflow: w\nnodes: {a: {handler: gate, pool: two}}"), 1, "{}")[0]
	b.until("it runs", func() bool { return gate.running.Load() == 1 })
	_, err := b.pool.Exec(t.Context(), "INSERT INTO ax.slots (namespace_id, pool, run_id, node, shard, generation, attempt, weight) VALUES (1, 'two', $1, 'a', -1, 1, 7, 1)", run)
	require.NoError(t, err)
	stray, err := b.store.FreeStray(t.Context())
	require.NoError(t, err)
	require.Equal(t, []store.Attempt{{Run: run, Node: "a", Shard: store.WholeNode, Generation: 1, Number: 7}}, stray)
	used, _ := b.use(two)
	require.Equal(t, 1, used)
	close(gate.open)
	require.Equal(t, progress.Succeeded, b.wait(run))
	b.free(two)
}

// wrongSlots are violations of I6 at one instant.
func wrongSlots(pool *pgxpool.Pool) (found []string, err error) {
	ctx := context.Background()
	for _, inv := range invariants {
		if !strings.HasPrefix(inv.rule, "I6") {
			continue
		}
		rows, err := pool.Query(ctx, fmt.Sprintf("%s SELECT concat_ws(' ', '%s', %s) %s", withViews, inv.rule, inv.what, inv.of))
		if err != nil {
			return nil, err
		}
		some, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

// anything ends in any way at all.
var anything = ExecutorFunc(func(ctx context.Context, _ *Task) Outcome {
	switch rand.IntN(8) {
	case 0:
		return Outcome{Err: permanent("boom", "no")}
	case 1, 2:
		return Outcome{Err: system("busy", "later")}
	case 3:
		<-time.After(time.Duration(rand.IntN(40)) * time.Millisecond) // deaf
		return Outcome{}
	}
	select {
	case <-time.After(time.Duration(rand.IntN(10)) * time.Millisecond):
		return Outcome{}
	case <-ctx.Done():
		return Outcome{Err: interrupted(ctx)}
	}
})

// TestSlotsInUseAreThoseOfLiveHolders samples a storm of runs that fail, are canceled, lose their workers and change their pools, and wants
// I6 to hold at every instant.
func TestSlotsInUseAreThoseOfLiveHolders(t *testing.T) {
	t.Parallel()
	handlers := map[string]Executor{"any": anything}
	b := newBed(t, handlers)
	second := b.start("second", handlers)
	pools := []store.PoolKey{b.setPool("a", slots(3)), b.setPool("b", slots(2)), b.setPool("c", store.PoolSpec{Slots: new(4), Rate: progress.Rate{Count: 200, Per: time.Second, Burst: 5}})}
	version := b.register(`
workflow: storm
defaults: {retry: {max_attempts: 3, backoff: fixed, delay: 20ms}, timeout: 30ms}
nodes:
  one: {handler: any, pool: a, on_failure: skip}
  two: {handler: any, pools: [{pool: a, weight: 2}, b], on_failure: skip}
  three: {handler: any, needs: [one], pools: [b, {pool: c, weight: 3}], on_failure: skip}
  four: {handler: any, needs: [one], on_failure: skip}
  many: {handler: any, needs: [four], pool: c, shards: 4, on_failure: skip}
  last: {handler: any, needs: [two, three, many], pools: [a, b, c], trigger_rule: all_done, retry: {delay: 0s}}
`)
	var bad []string
	sampled, stop := make(chan int), make(chan struct{})
	go func() {
		n := 0
		for ; ; n++ {
			select {
			case <-stop:
				sampled <- n
				return
			default:
			}
			found, err := wrongSlots(b.pool)
			if bad = append(bad, found...); err != nil {
				bad = append(bad, err.Error())
			}
		}
	}()
	var runs []store.RunID
	for i := range 15 {
		runs = append(runs, b.launch(version, 2, "{}")...)
		switch i % 5 {
		case 1:
			b.cancel(runs[rand.IntN(len(runs))])
		case 2:
			_, err := b.pool.Exec(t.Context(), "UPDATE ax.workers SET beat_at = '-infinity' WHERE incarnation = $1", second.incarnation())
			require.NoError(t, err)
		case 3:
			require.NoError(t, b.store.PauseQueue(t.Context(), 1, "default", "user:test", ""))
		case 4:
			require.NoError(t, b.store.ResumeQueue(t.Context(), 1, "default"))
		}
		if i%2 == 0 {
			b.cancel(runs[rand.IntN(len(runs))])
		}
		b.until("some of them are through", func() bool { return i%5 == 3 || b.count("SELECT count(*) FROM ax.node_runs") > 4*i })
	}
	for _, run := range runs {
		b.wait(run)
	}
	for _, p := range pools {
		b.free(p)
	}
	close(stop)
	n := <-sampled
	require.Greater(t, n, 20)
	slices.Sort(bad)
	require.Empty(t, slices.Compact(bad), fmt.Sprintf("of %d samples", n))
}

// TestAttemptThatGoesOnElsewhereKeepsItsSlots has attempts that were accepted and are reported later, canceled, or never heard of again.
func TestAttemptThatGoesOnElsewhereKeepsItsSlots(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"far": ExecutorFunc(func(_ context.Context, task *Task) Outcome {
		left := time.Hour
		if task.Facts.Workflow == "silent" {
			left = 200 * time.Millisecond
		}
		return Outcome{Accepted: &Accepted{Worker: "far", Left: left}}
	})})
	three := b.setPool("three", slots(3))
	run := func(name string) store.RunID {
		return b.launch(b.register("workflow: "+name+"\nnodes: {a: {handler: far, pool: three, retry: {max_attempts: 1}}}"), 1, "{}")[0]
	}
	told, canceled := run("told"), run("canceled")
	b.until("both go on elsewhere", func() bool { return b.count("SELECT count(*) FROM ax.held WHERE kind = 'remote'") == 2 })
	used, _ := b.use(three)
	require.Equal(t, 2, used)
	b.engine.report(t.Context(), &finished{claim: store.Claim{Attempt: store.Attempt{Run: told, Node: "a", Shard: store.WholeNode, Generation: 1, Number: 1}}})
	require.Equal(t, progress.Succeeded, b.wait(told))
	used, _ = b.use(three)
	require.Equal(t, 1, used)
	b.cancel(canceled)
	require.Equal(t, progress.Canceled, b.wait(canceled))
	b.free(three)
	require.Equal(t, progress.Failed, b.wait(run("silent")))
	b.free(three)
}

package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// start1 starts one run, or is refused.
func (b *bed) start1(version int64, params string) store.Launched {
	b.Helper()
	trigger := store.Trigger{Version: version, Kind: "api", Actor: "user:test", ScheduledAt: time.Now(), LogicalDate: "2026-11-30", Params: []byte(params)}
	var got []store.Launched
	require.NoError(b, b.store.InTx(b.Context(), func(tx pgx.Tx) (err error) {
		got, err = b.engine.Launch(b.Context(), tx, []store.Trigger{trigger})
		return err
	}))
	require.NoError(b, got[0].Err)
	return got[0]
}

// most watches how many runs of a workflow are running at once until stop, which returns the highest number seen.
func (b *bed) most(version int64) (stop func() int) {
	ctx, cancel := context.WithCancel(b.Context())
	seen := make(chan int)
	go func() {
		highest := 0
		for ctx.Err() == nil {
			var n int
			err := b.pool.QueryRow(ctx, "SELECT count(*) FROM ax.runs WHERE version_id = $1 AND state = 'running'", version).Scan(&n)
			if err == nil {
				highest = max(highest, n)
			}
		}
		seen <- highest
	}()
	return func() int { cancel(); return <-seen }
}

// states counts a version's runs by state.
func (b *bed) states(version int64) map[string]int {
	b.Helper()
	rows, err := b.pool.Query(b.Context(), "SELECT state, count(*) FROM ax.runs WHERE version_id = $1 GROUP BY state", version)
	require.NoError(b, err)
	out := make(map[string]int)
	var state string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error { out[state] = n; return nil })
	require.NoError(b, err)
	return out
}

// R031: a run that never took a place gives none back.
func TestR031NeverMoreRunsThanTheLimit(t *testing.T) {
	t.Parallel()
	for overflow, want := range map[string]struct {
		refused       int
		during, after map[string]int
	}{
		"overflow: queue":                {0, map[string]int{"running": 2, "queued": 8}, map[string]int{"succeeded": 10}},
		"overflow: queue, max_queued: 3": {5, map[string]int{"running": 2, "queued": 3}, map[string]int{"succeeded": 5}},
		"overflow: skip":                 {8, map[string]int{"running": 2}, map[string]int{"succeeded": 2}},
		"overflow: queue_latest":         {0, map[string]int{"running": 2, "queued": 1, "skipped": 7}, map[string]int{"succeeded": 3, "skipped": 7}},
	} {
		t.Run(overflow, func(t *testing.T) {
			t.Parallel()
			gate := make(chan struct{})
			b := newBed(t, map[string]Executor{"gate": gated(gate), "ok": succeed})
			version := b.register(fmt.Sprintf(
				"workflow: limited\nconcurrency: {max_runs: 2, %s}\nnodes: {a: {handler: gate}, b: {handler: ok, needs: [a]}, z: {handler: ok, finally: true}}", overflow))
			stop := b.most(version)
			refused, newest := 0, store.RunID(0)
			for range 10 {
				if l := b.start1(version, "{}"); l.Refused != "" {
					require.Equal(t, RefusedOverlap, l.Refused)
					refused++
				} else {
					newest = l.Run
				}
			}
			require.Equal(t, want.refused, refused)
			require.Equal(t, want.during, b.states(version))
			if want.during["queued"] > 0 {
				require.Equal(t, progress.Queued, b.state(newest))
			}
			close(gate)
			b.until("all have ended", func() bool { n := b.states(version); return n["running"]+n["queued"] == 0 })
			require.Equal(t, want.after, b.states(version))
			require.LessOrEqual(t, stop(), 2)
			skipped := want.after["skipped"]
			require.Equal(t, skipped, b.count("SELECT count(*) FROM ax.runs WHERE state = 'skipped' AND reason = 'overlap' AND finished_at IS NOT NULL"))
			require.Equal(t, 3*skipped, b.count("SELECT count(*) FROM ax.node_runs WHERE state = 'skipped' AND reason = 'overlap'"))
		})
	}
}

func TestCancelRunningMakesRoomForTheNewest(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBed(t, map[string]Executor{"gate": gated(gate), "ok": succeed})
	version := b.register("workflow: newest\nconcurrency: {max_runs: 2, overflow: cancel_running}\nnodes: {a: {handler: gate}, z: {handler: ok, finally: true}}")
	stop := b.most(version)
	var runs []store.RunID
	for range 10 {
		l := b.start1(version, "{}")
		require.Empty(t, l.Refused)
		runs = append(runs, l.Run)
	}
	b.until("the newest two run", func() bool {
		return b.state(runs[8]) == progress.Running && b.state(runs[9]) == progress.Running
	})
	close(gate)
	require.Equal(t, progress.Succeeded, b.wait(runs[9]))
	require.Equal(t, progress.Succeeded, b.wait(runs[8]))
	for _, run := range runs[:8] {
		require.Contains(t, []progress.State{progress.Canceled, progress.Skipped}, b.wait(run))
	}
	require.LessOrEqual(t, stop(), 2)
	require.Equal(t, progress.Canceled, b.state(runs[0]))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'z' AND state = 'succeeded'", runs[0]), "one cancel, not two")
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.runs WHERE id = $1 AND cancel_reason = 'a newer run takes its place'", runs[0]))
}

// Many processes start runs of all policies at once; whatever happens, the limit of every key holds and nothing waits for ever.
func TestLimitsHoldUnderStress(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"ok": succeed})
	b.start("second", map[string]Executor{"ok": succeed})
	for _, overflow := range []string{"queue", "queue_latest", "skip", "cancel_running"} {
		version := b.register(fmt.Sprintf("workflow: %s\nparams: {k: {type: string}}\nconcurrency: {max_runs: 2, overflow: %s, key: params.k}\n"+
			"nodes: {a: {handler: ok}, b: {handler: ok, needs: [a]}}", overflow, overflow))
		stop := b.most(version)
		var together sync.WaitGroup
		for i := range 4 {
			together.Go(func() {
				for range 15 {
					b.start1(version, fmt.Sprintf(`{"k": "k%d"}`, i%2))
				}
			})
		}
		together.Wait()
		b.until("all have ended", func() bool { n := b.states(version); return n["running"]+n["queued"] == 0 })
		require.LessOrEqual(t, stop(), 4, "two of each key")
	}
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBed(t, map[string]Executor{"gate": gated(gate)})
	version := b.register("workflow: keyed\nparams: {region: {type: string}, n: {type: integer, default: 0}}\n" +
		"concurrency: {max_runs: 1, key: \"${{ params.region }}-${{ params.n }}\"}\nnodes: {a: {handler: gate}}")
	cn, de := b.start1(version, `{"region": "cn"}`), b.start1(version, `{"region": "de"}`)
	require.Equal(t, []progress.State{progress.Running, progress.Running}, []progress.State{cn.State, de.State})
	require.Equal(t, "cn-0", cn.Key)
	again := b.start1(version, `{"region": "cn"}`)
	require.Equal(t, progress.Queued, again.State)
	close(gate)
	require.Equal(t, progress.Succeeded, b.wait(again.Run))

	broken := b.register("workflow: broken\nparams: {o: {type: object, default: {}}}\nconcurrency: {max_runs: 1, key: params.o.missing}\nnodes: {a: {handler: gate}}")
	require.NoError(t, b.store.InTx(t.Context(), func(tx pgx.Tx) error {
		got, err := b.engine.Launch(t.Context(), tx, []store.Trigger{{Version: broken, Kind: "api", Actor: "user:test", ScheduledAt: time.Now(), LogicalDate: "2026-11-30"}})
		require.ErrorContains(t, got[0].Err, "concurrency.key")
		return err
	}))
}

func TestAHigherLimitStartsWhatWaits(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBed(t, map[string]Executor{"gate": gated(gate)})
	version := b.register("workflow: wider\nconcurrency: {max_runs: 1}\nnodes: {a: {handler: gate}}")
	for range 6 {
		b.start1(version, "{}")
	}
	require.Equal(t, map[string]int{"running": 1, "queued": 5}, b.states(version))
	b.register("workflow: wider\nconcurrency: {max_runs: 4}\nnodes: {a: {handler: gate}}")
	b.until("four run", func() bool { return b.states(version)["running"] == 4 })
	b.register("workflow: wider\nnodes: {a: {handler: gate}}")
	b.until("all run", func() bool { return b.states(version)["running"] == 6 })
	close(gate)
	b.until("all end", func() bool { return b.states(version)["succeeded"] == 6 })
}

func TestAVersionThatIsNamedCountsByTheLimitOfToday(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBed(t, map[string]Executor{"gate": gated(gate)})
	old := b.register("workflow: pinned\nnodes: {a: {handler: gate}}")
	current := b.register("workflow: pinned\nconcurrency: {max_runs: 1}\nnodes: {a: {handler: gate}}")
	first := b.start1(current, "{}").Run
	trigger := store.Trigger{Version: old, Named: true, Kind: "api", Actor: "user:test", ScheduledAt: time.Now(), LogicalDate: "2026-11-30"}
	var got []store.Launched
	require.NoError(t, b.store.InTx(t.Context(), func(tx pgx.Tx) (err error) {
		got, err = b.engine.Launch(t.Context(), tx, []store.Trigger{trigger})
		return err
	}))
	require.Equal(t, progress.Queued, got[0].State)
	close(gate)
	require.Equal(t, progress.Succeeded, b.wait(first))
	require.Equal(t, progress.Succeeded, b.wait(got[0].Run))
}

func TestARerunWaitsForItsTurnAgain(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{}, 1)
	b := newBed(t, map[string]Executor{"gate": gated(gate), "ok": succeed})
	version := b.register(`
workflow: turns
concurrency: {max_runs: 1}
nodes:
  a: {handler: gate}
  b: {handler: ok, needs: [a], shards: 3}
`)
	gate <- struct{}{}
	first := b.start1(version, "{}").Run
	require.Equal(t, progress.Succeeded, b.wait(first))
	second := b.start1(version, "{}").Run
	require.NoError(t, b.engine.Do(t.Context(), first, Act{Actor: "user:test", Rerun: &Rerun{Scope: progress.ScopeNode, Nodes: []string{"b"}}}))
	require.Equal(t, progress.Queued, b.state(first))
	gate <- struct{}{}
	require.Equal(t, progress.Succeeded, b.wait(second))
	require.Equal(t, progress.Succeeded, b.wait(first))
	require.Equal(t, 3, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'b' AND shard >= 0 AND generation = 2 AND state = 'succeeded'", first))
}

func TestAHeldRunLetsOthersPass(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{}, 3)
	b := newBed(t, map[string]Executor{"gate": gated(gate)})
	version := b.register("workflow: passing\nconcurrency: {max_runs: 1}\nnodes: {a: {handler: gate}}")
	first, held, third := b.start1(version, "{}").Run, b.start1(version, "{}").Run, b.start1(version, "{}").Run
	require.NoError(t, b.engine.Do(t.Context(), held, Act{Actor: "user:test", Hold: true}))
	gate <- struct{}{}
	require.Equal(t, progress.Succeeded, b.wait(first))
	gate <- struct{}{}
	require.Equal(t, progress.Succeeded, b.wait(third))
	require.Equal(t, progress.Queued, b.state(held))
	require.Equal(t, progress.Running, b.start1(version, "{}").State, "a place is free, whatever is held")
	require.NoError(t, b.engine.Do(t.Context(), held, Act{Actor: "user:test", Release: true}))
	require.Equal(t, progress.Queued, b.state(held))
	gate <- struct{}{}
	b.until("its turn has come", func() bool { return b.state(held) == progress.Running })
	gate <- struct{}{}
	require.Equal(t, progress.Succeeded, b.wait(held))
}

func TestAChildThatMayNotStartSkipsItsNode(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBed(t, map[string]Executor{"gate": gated(gate)})
	skip := b.register("workflow: one\nconcurrency: {max_runs: 1, overflow: skip}\nnodes: {a: {handler: gate}}")
	latest := b.register("workflow: latest\nconcurrency: {max_runs: 1, overflow: queue_latest}\nnodes: {a: {handler: gate}}")
	b.start1(skip, "{}")
	b.start1(latest, "{}")
	run := b.launch(b.register("workflow: parent\nnodes: {refused: {workflow: {code: one}}, displaced: {workflow: {code: latest}}}"), 1, "{}")[0]
	b.until("the child waits", func() bool { return b.states(latest)["queued"] == 1 })
	b.start1(latest, "{}")
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, map[string]string{"refused": "skipped", "displaced": "skipped"}, b.nodes(run))
	close(gate)
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// unreliable is a remote worker that does to its attempts what processes and networks do: loses what it was given, dies, stands still
// until others have taken over and reports then, reports twice, fails.
type unreliable struct {
	*bed
	name string
	// servers are those it talks to, one after another.
	servers []*Engine
	seed    *rand.Rand
	pool    sync.WaitGroup
	mu      sync.Mutex
	running map[store.Attempt]bool
	refused int
}

func (u *unreliable) server() *Engine { return u.servers[u.seed.IntN(len(u.servers))] }

// live goes through lives until ctx ends.
func (u *unreliable) live(ctx context.Context) {
	for ctx.Err() == nil {
		got, err := u.server().RegisterRemote(ctx, 1, RemoteWorker{ID: u.name, Handlers: []string{"x"}, Capacity: 5, Protocol: 1})
		if err != nil {
			continue
		}
		life, end := context.WithCancel(ctx)
		u.mu.Lock()
		u.running = make(map[store.Attempt]bool)
		u.mu.Unlock()
		var beating sync.WaitGroup
		beating.Go(func() { u.beat(life, end, got.Incarnation) })
		u.work(life, end, got)
		end()
		beating.Wait()
	}
	u.pool.Wait()
}

func (u *unreliable) beat(ctx context.Context, end func(), incarnation string) {
	tick := time.NewTicker(quick.Beat / 2)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		u.mu.Lock()
		list := []store.Attempt{}
		for a := range u.running {
			list = append(list, a)
		}
		u.mu.Unlock()
		if _, err := u.servers[0].BeatRemote(ctx, incarnation, list); errors.Is(err, store.ErrWorkerLost) {
			end()
			return
		}
	}
}

func (u *unreliable) work(ctx context.Context, end func(), me RegisteredWorker) {
	for ctx.Err() == nil {
		raw, err := u.server().Poll(ctx, me.Incarnation, "", 3, 200*time.Millisecond)
		if err != nil || len(raw) == 0 {
			continue
		}
		switch u.seed.IntN(12) {
		case 0: // the answer is lost
			continue
		case 1: // it dies
			end()
			return
		}
		for _, d := range readDispatches(u, raw) {
			a := d.attempt(u)
			u.mu.Lock()
			u.running[a] = true
			u.mu.Unlock()
			fate := u.seed.IntN(10)
			u.pool.Go(func() { u.carryOut(ctx, end, me, a, fate) })
		}
	}
}

func (u *unreliable) carryOut(ctx context.Context, end func(), me RegisteredWorker, a store.Attempt, fate int) {
	report := good
	switch fate {
	case 0: // it stands still until it is lost, and reports then
		end()
		late := time.NewTimer(quick.lease() + time.Second)
		defer late.Stop()
		<-late.C
	case 1:
		report = Report{Status: "failed", Error: ReportedError{Class: "system", Message: "for once"}}
	}
	for range 1 + fate%2 { // the answer to a report may be lost, so that it comes twice
		err := u.servers[0].ReportRemote(context.WithoutCancel(ctx), Proof{1, me.Token}, a, report)
		u.mu.Lock()
		if errors.Is(err, ErrStale) {
			u.refused++
		} else if err != nil {
			u.Error(err)
		}
		u.mu.Unlock()
	}
	u.mu.Lock()
	delete(u.running, a)
	u.mu.Unlock()
}

// TestUnreliableRemoteWorkersLoseAndDoubleNothing runs runs through workers that fail in every way at once, over two servers, through a pool: every
// node run ends exactly once, what comes late is refused and recorded, and no slot leaks.
func TestUnreliableRemoteWorkersLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	servers := []*Engine{b.engine, b.startRemote()}
	b.setPool("narrow", slots(6))
	version := b.register(`
workflow: w
defaults: {retry: {backoff: fixed, delay: 0s, max_attempts: 50, max_lost: 50}}
nodes:
  a: {handler: x, pool: narrow}
  b: {handler: x, needs: [a], shards: 3}
  c: {handler: x, needs: [b], route: round_robin}
`)
	ctx, stop := context.WithCancel(t.Context())
	var living sync.WaitGroup
	var all []*unreliable
	for i := range 4 {
		u := &unreliable{bed: b, name: fmt.Sprint("worker", i), servers: servers, seed: rand.New(rand.NewPCG(7, uint64(i)))}
		all = append(all, u)
		living.Go(func() { u.live(ctx) })
	}
	runs := b.launch(version, 20, "{}")
	for _, run := range runs {
		require.Eventually(t, func() bool { return b.state(run).Terminal() }, 2*time.Minute, 20*time.Millisecond)
		require.Equal(t, progress.Succeeded, b.state(run))
		require.Equal(t, 6, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND outcome = 'succeeded'", run), "a, b, its three shards, and c, once each")
	}
	stop()
	living.Wait()
	require.Zero(t, b.count("SELECT count(*) FROM ax.held"))
	b.until("no slot is left", func() bool { return b.count("SELECT count(*) FROM ax.slots") == 0 })
	refused := 0
	for _, u := range all {
		refused += u.refused
	}
	require.Equal(t, refused, b.count("SELECT COALESCE(sum(count), 0) FROM ax.refusals WHERE kind = 'result'"))
	require.NotZero(t, refused)
	require.NotZero(t, b.count("SELECT count(*) FROM ax.node_runs WHERE outcome = 'lost'"))
}

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// routeBatch is how many nodes of one route are given away at once.
const routeBatch = 200

// routeOf says where a node waits: in its queue, which is River's queue here, or in a route of it (S26). A node that asks only for labels, or for
// one worker, is taken by whom it asks for; the others wait to be given to one.
func routeOf(n *dag.Node, queue string) (r store.Route, routed bool) {
	if n.Child != nil || n.Approval != nil || n.Wait != nil || n.Branch != nil {
		return r, false // no worker runs it
	}
	r = store.Route{Queue: queue, Kind: store.RouteAny, Labels: n.Labels}
	if n.Shards == dag.ShardsWorkers {
		r.Kind = store.RoutePinned
	} else if n.Route != nil {
		switch n.Route.Kind {
		case dag.RouteWorker:
			r.Worker = n.Route.Worker
		case dag.RouteRoundRobin:
			r.Kind = store.RouteInTurn
		case dag.RouteConsistentHash:
			r.Kind = store.RouteByKey
		}
	}
	return r, r.Kind != store.RouteAny || r.Worker != "" || len(r.Labels) > 0
}

// routes gives nodes to workers, where their routes want one chosen, and takes back what waits for a worker that was chosen and is gone.
//
// A node of such a route is held like one without a worker, in the route's own lane, which nobody serves. Whoever has the route's lock chooses
// for the first of them, and moves them to the lanes of the chosen workers, each of which is served by one worker alone. There they are queued, or wait for
// their pools, like all others. What is queued for a worker that goes is taken back to held, as for every lane that nobody serves any more; from there
// it comes here again.
func (k *keeper) routes(ctx context.Context) (time.Duration, error) {
	if _, err := k.engine.store.UnrouteLost(ctx); err != nil {
		return 0, err
	}
	waiting, err := k.engine.store.WaitingRoutes(ctx)
	if err != nil {
		return 0, err
	}
	next := k.engine.timings.Look
	for _, r := range waiting {
		given, failed, err := k.engine.giveAway(ctx, r)
		if err != nil {
			return 0, err
		}
		for a, why := range failed {
			k.engine.report(ctx, &finished{claim: store.Claim{Attempt: a}, outcome: Outcome{Err: why}, actor: "engine"})
		}
		if given == routeBatch {
			next = 0
		}
	}
	return next, nil
}

// choice is one round of choosing for a route.
type choice struct {
	engine  *Engine
	route   store.WaitingRoute
	workers []store.Candidate
	turn    int64
	ring    *ring
	loads   map[string]int
	failed  map[store.Attempt]*progress.Error
}

// giveAway chooses for the first that wait in a route, and says how many went, and which cannot because their key cannot be told.
func (e *Engine) giveAway(ctx context.Context, r store.WaitingRoute) (given int, failed map[store.Attempt]*progress.Error, err error) {
	c := &choice{engine: e, route: r, loads: make(map[string]int), failed: make(map[store.Attempt]*progress.Error)}
	err = e.store.InTx(ctx, func(tx pgx.Tx) error {
		locked, err := e.store.LockRoute(ctx, tx, r.Lane, routeBatch)
		if err != nil || !locked.Mine || len(locked.Waiters) == 0 {
			return err
		}
		if c.workers, err = e.store.Candidates(ctx, tx, r.Queue, r.Labels); err != nil {
			return err
		}
		c.turn = locked.Turn
		routed, err := c.choose(ctx, locked.Waiters)
		if err != nil || len(routed) == 0 {
			return err
		}
		given = len(routed)
		return e.store.GiveRouted(ctx, tx, r.Lane, routed, c.turn)
	})
	return given, c.failed, err
}

// choose finds a worker for each that has one; the others wait on.
func (c *choice) choose(ctx context.Context, waiters []store.RouteWaiter) ([]store.Routed, error) {
	c.prepare()
	var routed []store.Routed
	for _, w := range waiters {
		name, err := c.worker(ctx, w)
		if err != nil {
			return nil, err
		}
		if name == "" {
			continue
		}
		lane, err := c.engine.store.EnsureRoute(ctx, store.Route{Queue: c.route.Queue, Kind: store.RouteAny, Worker: name})
		if err != nil {
			return nil, err
		}
		routed = append(routed, store.Routed{Attempt: w.Attempt, Lane: lane})
	}
	return routed, nil
}

func (c *choice) prepare() {
	names := make([]string, len(c.workers))
	for i, w := range c.workers {
		names[i] = w.Name
		c.loads[w.Name] = w.Load
	}
	if c.route.Kind == store.RouteByKey {
		c.ring = newRing(names)
	}
}

// worker chooses for one; "" when nobody can take it now.
func (c *choice) worker(ctx context.Context, w store.RouteWaiter) (string, error) {
	switch c.route.Kind {
	case store.RoutePinned:
		return c.pinned(ctx, w)
	case store.RouteByKey:
		return c.byKey(ctx, w)
	}
	for range c.workers {
		candidate := c.workers[c.turn%int64(len(c.workers))]
		c.turn++
		if slices.Contains(candidate.Kinds, w.Kind) {
			return candidate.Name, nil
		}
	}
	return "", nil
}

// byKey gives what has one key to one worker, as long as that is not overloaded (S26).
func (c *choice) byKey(ctx context.Context, w store.RouteWaiter) (string, error) {
	key, failed, err := c.engine.routeKey(ctx, w.Attempt)
	if err != nil {
		return "", err
	}
	if failed != nil {
		c.failed[w.Attempt] = failed
		return "", nil
	}
	total, able := 0, make(map[string]store.Candidate)
	for _, candidate := range c.workers {
		total += c.loads[candidate.Name]
		if slices.Contains(candidate.Kinds, w.Kind) {
			able[candidate.Name] = candidate
		}
	}
	if len(able) == 0 {
		return "", nil
	}
	room := func(name string) bool {
		candidate, can := able[name]
		return can && c.loads[name] < bound(total, len(able), candidate.Capacity)
	}
	name := c.ring.owner(key, room)
	if _, can := able[name]; !can {
		return "", nil // all that can are full
	}
	c.loads[name]++
	return name, nil
}

// pinned is the worker that a shard was made for (S21); there is no other for it.
func (c *choice) pinned(ctx context.Context, w store.RouteWaiter) (string, error) {
	split, err := c.engine.splits.get(ctx, w.Attempt)
	if err != nil {
		return "", err
	}
	if w.Attempt.Shard < 0 || w.Attempt.Shard >= len(split.items) {
		c.failed[w.Attempt] = system(codeInternal, "shard %d was made for no worker", w.Attempt.Shard)
		return "", nil
	}
	var name string
	if err := json.Unmarshal(split.items[w.Attempt.Shard], &name); err != nil {
		c.failed[w.Attempt] = system(codeInternal, "the worker of shard %d cannot be read: %v", w.Attempt.Shard, err)
	}
	return name, nil
}

// routeKey is the value that an attempt is hashed by. A key that cannot be told fails the node (S15).
func (e *Engine) routeKey(ctx context.Context, a store.Attempt) (string, *progress.Error, error) {
	facts, p, err := e.load(ctx, a.Run)
	if err != nil {
		return "", nil, fmt.Errorf("find the route of %s: %w", a.ExecutionID(), err)
	}
	at, ok := p.graph.Index(a.Node)
	if !ok || p.graph.At(at).RouteKey == nil {
		return "", system(codeInternal, "node %q has no key to be routed by", a.Node), nil
	}
	v := p.graph.At(at)
	t := &Task{Attempt: a, Facts: facts, Node: v.Node}
	if err := e.shard(ctx, t); err != nil {
		return "", nil, err
	}
	vars, err := e.taskVars(ctx, t, v.Reads)
	if err != nil {
		return "", nil, err
	}
	key, failure := v.RouteKey.Eval(ctx, vars)
	if failure != nil {
		return "", permanent(codeExpression, "route: %v", failure), nil
	}
	return string(key), nil, nil
}

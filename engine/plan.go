package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/batch"
	"github.com/ax-run/ax/internal/store"
)

// plan is a stored version made ready to run. A version never changes, so a plan is kept for ever.
type plan struct {
	version  int64
	source   store.VersionSource
	graph    *dag.Graph
	arrivals *progress.Arrivals
	// undecided means that what starts with a run is not just its roots' first attempts.
	undecided bool
	// places say where each node's job goes, demands which pools it needs.
	places  []store.Place
	demands []store.Demand
}

// plans reads and keeps plans. All that are asked for at once are read together.
type plans struct {
	*batch.Batcher[int64, planned]
	store *store.Store
	mu    sync.Mutex
	known map[int64]*plan
}

// planned is a plan, or why there is none.
type planned struct {
	plan *plan
	err  error
}

func newPlans(s *store.Store) *plans {
	p := &plans{store: s, known: make(map[int64]*plan)}
	p.Batcher = batch.New(batch.Config[int64, planned]{Flush: p.load})
	return p
}

// get returns the plan of a stored version.
func (p *plans) get(ctx context.Context, version int64) (*plan, error) {
	if known := p.have(version); known != nil {
		return known, nil
	}
	made, err := p.Do(ctx, version)
	if err = errors.Join(err, made.err); err != nil {
		return nil, fmt.Errorf("prepare version %d: %w", version, err)
	}
	return made.plan, nil
}

// getAll returns the plans of stored versions, read in one go, or for each why there is none.
func (p *plans) getAll(ctx context.Context, versions []int64) (map[int64]planned, error) {
	all := make(map[int64]planned, len(versions))
	var missing []int64
	for _, v := range versions {
		if _, seen := all[v]; seen {
			continue
		}
		known := p.have(v)
		if all[v] = (planned{plan: known}); known == nil {
			missing = append(missing, v)
		}
	}
	if len(missing) == 0 {
		return all, nil
	}
	made, err := p.load(ctx, missing)
	if err != nil {
		return nil, fmt.Errorf("prepare %d versions: %w", len(missing), err)
	}
	for i, v := range missing {
		all[v] = made[i]
	}
	return all, nil
}

// Prepare reads versions that will be launched soon.
func (e *Engine) Prepare(ctx context.Context, versions []int64) error {
	_, err := e.plans.getAll(ctx, versions)
	return err
}

func (p *plans) have(version int64) *plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[version]
}

// load reads and keeps the plans of some versions. An error is that of the database.
func (p *plans) load(ctx context.Context, versions []int64) ([]planned, error) {
	sources, err := p.store.VersionSources(ctx, versions)
	if err != nil {
		return nil, err
	}
	queues := make(map[int64]map[string]string)
	for _, source := range sources {
		if queues[source.Namespace] == nil {
			if queues[source.Namespace], err = p.store.Queues(ctx, source.Namespace); err != nil {
				return nil, err
			}
		}
	}
	out := make([]planned, len(versions))
	for i, v := range versions {
		if source, ok := sources[v]; ok {
			out[i].plan, out[i].err = p.prepare(ctx, v, source, queues[source.Namespace])
		} else {
			out[i].err = fmt.Errorf("version %d: %w", v, store.ErrNotFound)
		}
		if out[i].err == nil {
			p.mu.Lock()
			p.known[v] = out[i].plan
			p.mu.Unlock()
		}
	}
	return out, nil
}

// prepare makes a version ready to run; queues are the River names of its namespace's queues. The routes of its nodes are made to exist.
func (p *plans) prepare(ctx context.Context, version int64, source store.VersionSource, queues map[string]string) (*plan, error) {
	graph, err := dag.Rebuild(source.Definition)
	if err != nil {
		return nil, err
	}
	made := &plan{version: version, source: source, graph: graph, arrivals: progress.NewArrivals(graph)}
	for _, i := range progress.Roots(graph) {
		made.undecided = made.undecided || graph.At(i).Undecided()
	}
	made.undecided = made.undecided || graph.Ordinary() == 0
	for i := range graph.Len() {
		node := graph.At(i).Node
		queue := queues[node.Queue]
		if route, routed := routeOf(node, queue); routed {
			if queue, err = p.store.EnsureRoute(ctx, route); err != nil {
				return nil, err
			}
		}
		made.places = append(made.places, store.Place{Kind: jobKind(node), Queue: queue, Priority: cmp.Or(node.Priority, graph.Definition().Priority)})
		made.demands = append(made.demands, store.NewDemand(source.Namespace, node.Pools))
	}
	return made, nil
}

// place says where a node's job goes in a run of some priority: that is the node's too, unless it has its own.
func (p *plan) place(node, priority int) store.Place {
	at := p.places[node]
	if p.graph.At(node).Node.Priority == 0 {
		at.Priority = priority
	}
	return at
}

// The kinds of jobs (River's word for what a worker must know to take one). A Go handler has a kind of its own, so that a
// worker is only handed what it knows.
const (
	kindHTTP     = "http"
	kindCommand  = "command"
	kindGoPrefix = "go:"
)

func jobKind(n *dag.Node) string {
	switch {
	case n.HTTP != nil:
		return kindHTTP
	case n.Command != nil:
		return kindCommand
	}
	return kindGoPrefix + n.Handler
}

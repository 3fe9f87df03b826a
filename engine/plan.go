package engine

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
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

// plans reads and keeps plans.
type plans struct {
	store *store.Store
	mu    sync.Mutex
	known map[int64]*plan
}

func newPlans(s *store.Store) *plans { return &plans{store: s, known: make(map[int64]*plan)} }

// get returns the plan of a stored version.
func (p *plans) get(ctx context.Context, version int64) (*plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.known[version]; known != nil {
		return known, nil
	}
	made, err := p.load(ctx, version)
	if err != nil {
		return nil, fmt.Errorf("prepare version %d: %w", version, err)
	}
	p.known[version] = made
	return made, nil
}

func (p *plans) load(ctx context.Context, version int64) (*plan, error) {
	source, err := p.store.VersionSource(ctx, version)
	if err != nil {
		return nil, err
	}
	graph, err := dag.Rebuild(source.Definition)
	if err != nil {
		return nil, err
	}
	queues, err := p.store.Queues(ctx, source.Namespace)
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
		made.places = append(made.places, store.Place{Kind: jobKind(node), Queue: queues[node.Queue], Priority: cmp.Or(node.Priority, graph.Definition().Priority)})
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

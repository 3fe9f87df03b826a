package forecast

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/ax-run/ax/dag"
)

// otherwise is how long a node is taken to take when nothing at all is known.
const otherwise = time.Second

// Past is what is known of a node from its past.
type Past struct {
	Durations
	// Copies is how many shards it had; 0 is none.
	Copies int
}

// Builder makes a World of definitions.
type Builder struct {
	World
	// Assumed are the nodes of which nothing is known, by the place of their workflow. They are taken to take as long as the middle one of those
	// that are known.
	Assumed map[int][]string
	// zone is of clock times and dates where there is no schedule.
	zone   *time.Location
	codes  map[string]int
	places map[Resource]int // by kind and name alone
	terms  map[int]*dag.Upstream
}

// NewBuilder begins a World. Zone is the one of clock times of workflows that have no schedule.
func NewBuilder(w World, zone *time.Location) *Builder {
	return &Builder{World: w, zone: zone, Assumed: make(map[int][]string), codes: make(map[string]int),
		places: make(map[Resource]int), terms: make(map[int]*dag.Upstream)}
}

// Resource adds a pool or queue.
func (b *Builder) Resource(r Resource) {
	b.places[Resource{Kind: r.Kind, Name: r.Name}] = len(b.Resources)
	b.Resources = append(b.Resources, r)
}

// place finds a resource; one that was not added has no limit.
func (b *Builder) place(kind Kind, name string) int {
	key := Resource{Kind: kind, Name: name}
	at, ok := b.places[key]
	if !ok {
		key.Capacity = Unlimited
		b.Resource(key)
		at = len(b.Resources) - 1
	}
	return at
}

// Workflow adds a workflow and returns its place. Waits says whether it starts when others complete: not while it is paused.
func (b *Builder) Workflow(g *dag.Graph, past map[string]Past, waits bool) int {
	def := g.Definition()
	place := len(b.Workflows)
	w := Workflow{Name: def.Workflow, Timeout: time.Duration(def.Timeout), Deadline: b.deadlineOf(def)}
	if c := def.Concurrency; c != nil && c.MaxRuns > 0 {
		w.MaxRuns, w.MaxQueued, w.Overflow = c.MaxRuns, cmp.Or(c.MaxQueued, Unlimited), overflows[c.Overflow]
	}
	runs := whenAllGoesWell(g)
	for i := range g.Len() {
		v := g.At(i)
		n := Node{Name: v.Name, Needs: needs(g, i), Priority: cmp.Or(v.Node.Priority, def.Priority), Patience: time.Duration(v.Node.QueueTimeout)}
		if runs[i] {
			if !b.measure(&n, v.Node, past) {
				b.Assumed[place] = append(b.Assumed[place], v.Name)
			}
			n.Uses = b.uses(v.Node)
		}
		w.Nodes = append(w.Nodes, n)
	}
	b.Workflows = append(b.Workflows, w)
	b.codes[def.Workflow] = place
	if waits && def.Upstream != nil {
		b.terms[place] = def.Upstream
	}
	return place
}

// uses are what a node takes a share of: nodes without a body take none.
func (b *Builder) uses(n *dag.Node) (uses []Use) {
	if n.Handler == "" && n.HTTP == nil && n.Command == nil {
		return nil
	}
	uses = append(uses, Use{b.place(QueueKind, n.Queue), 1})
	for _, use := range n.Pools {
		uses = append(uses, Use{b.place(PoolKind, use.Pool), max(use.Weight, 1)})
	}
	return uses
}

var overflows = map[dag.Overflow]Overflow{
	dag.OverflowQueue: Queue, dag.OverflowQueueLatest: QueueLatest, dag.OverflowSkip: Skip, dag.OverflowCancelRunning: CancelRunning,
}

// measure says how long a node takes; false where that is not known.
func (b *Builder) measure(n *Node, def *dag.Node, past map[string]Past) bool {
	if shards, err := strconv.Atoi(string(def.Shards)); err == nil {
		n.Copies = shards
	}
	if p, ok := past[n.Name]; ok {
		n.Typical, n.Slow = p.Typical, p.Slow
		n.Copies = cmp.Or(n.Copies, p.Copies)
		return true
	}
	if def.Wait != nil && def.Wait.For > 0 {
		n.Typical = time.Duration(def.Wait.For)
		n.Slow = n.Typical
		return true
	}
	return def.Branch != nil
}

// Code is the place of a workflow that was added.
func (b *Builder) Code(code string) (int, bool) {
	place, ok := b.codes[code]
	return place, ok
}

// Done is the World, when all has been added.
func (b *Builder) Done() World {
	b.assume()
	for place, up := range b.terms {
		b.Workflows[place].Upstream = b.upstream(up)
	}
	return b.World
}

// assume gives a duration to nodes of which nothing is known.
func (b *Builder) assume() {
	var known []time.Duration
	unknown := make(map[*Node]bool)
	for place := range b.Workflows {
		nodes := b.Workflows[place].Nodes
		for i := range nodes {
			if slices.Contains(b.Assumed[place], nodes[i].Name) {
				unknown[&nodes[i]] = true
			} else if len(nodes[i].Uses) > 0 {
				known = append(known, nodes[i].Typical)
			}
		}
	}
	usual := Durations{otherwise, otherwise}
	if middle, ok := Learn(known); ok {
		usual = Durations{middle.Typical, middle.Typical}
	}
	for n := range unknown {
		n.Typical, n.Slow = usual.Typical, usual.Slow
	}
}

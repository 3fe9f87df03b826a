package progress

import "github.com/ax-run/ax/dag"

// Arrivals is a graph seen by the fast path: what the success of each node adds to, while a run is
// clean. It says the same as Advance with only successes as events; a test holds them together.
//
// The run ends when every node in ends has arrived at EndOfRun: the sinks, and the nodes none of
// whose successors waits for all its parents. Any other node is an ancestor of one that waits for it.
type Arrivals struct {
	targets [][]Target
	// EndNeed is how many arrivals end the ordinary part of the run.
	EndNeed int
	// Settles says that the end needs the general path: finally nodes are to be started.
	Settles bool
}

// EndOfRun is the position that stands for the end of the run.
const EndOfRun = -1

// Target is one counter that a success adds one to; Need arrivals start it.
type Target struct{ Node, Need int }

// Of returns what the success of node i adds to. Plain is false when a successor is decided by
// anything but a count of successes, so that the general path must move it.
func (a *Arrivals) Of(i int) (targets []Target, plain bool) {
	return a.targets[i], a.targets[i] != nil
}

// NewArrivals prepares a graph for the fast path.
func NewArrivals(g *dag.Graph) *Arrivals {
	a := &Arrivals{targets: make([][]Target, g.Len())}
	for i := range g.Len() {
		v := g.At(i)
		if v.Node.Finally {
			a.Settles = true
			continue
		}
		next := successors(g, v)
		if !next.waits {
			a.EndNeed++
			next.targets = append(next.targets, Target{Node: EndOfRun})
		}
		if next.plain && !v.Special() {
			a.targets[i] = next.targets
		}
	}
	for i := range a.targets {
		for j := range a.targets[i] {
			if t := &a.targets[i][j]; t.Node == EndOfRun {
				t.Need = a.EndNeed
			}
		}
	}
	return a
}

// following is what waits for a node. Waits tells whether one of them needs all its parents; plain, whether counts of
// successes decide them all.
type following struct {
	targets      []Target
	waits, plain bool
}

func successors(g *dag.Graph, v *dag.Vertex) following {
	f := following{plain: true}
	for _, c := range v.Children {
		child := g.At(c)
		if child.Node.Finally || child.Node.TriggerRule == dag.Always {
			continue
		}
		need := Need(child.Node.TriggerRule, len(child.Parents))
		if child.Special() {
			need = 0
		}
		f.plain = f.plain && need > 0
		f.waits = f.waits || need == len(child.Parents)
		f.targets = append(f.targets, Target{Node: c, Need: need})
	}
	return f
}

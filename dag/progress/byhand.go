package progress

import "github.com/ax-run/ax/dag"

// Scope is how far a rerun reaches (S29).
type Scope string

// The scopes.
const (
	// ScopeNode reruns the nodes named; states derived from them are decided again, successors that ran stay.
	ScopeNode Scope = "node"
	// ScopeDownstream reruns the nodes named and everything after them.
	ScopeDownstream Scope = "downstream"
	// ScopeFailed reruns every failed node and what it blocked.
	ScopeFailed Scope = "failed"
	// ScopeAll reruns everything.
	ScopeAll Scope = "all"
	// ScopeFailedShards reruns the shards of split nodes that did not succeed, and keeps the expansion.
	ScopeFailedShards Scope = "failed_shards"
)

// Rerun asks for nodes to run again in the same run. Nodes matter to the scopes that take them.
type Rerun struct {
	Scope Scope
	Nodes []int
}

// Mark gives a stuck or ended node a state by hand: Succeeded, Failed or Skipped (S30).
type Mark struct {
	Node  int
	State State
	Note  string
}

// Affected lists the nodes that a rerun resets, in topological order, finally nodes included if anything else is.
func Affected(g *dag.Graph, snap *Snapshot, r *Rerun) []int {
	hit := make([]bool, g.Len())
	for i := range g.Len() {
		hit[i] = r.Scope == ScopeAll || r.Scope == ScopeFailed && snap.Nodes[i].State == Failed
	}
	for _, i := range r.Nodes {
		hit[i] = r.Scope != ScopeFailed
	}
	if r.Scope == ScopeFailedShards {
		for i := range hit {
			hit[i] = hit[i] && g.At(i).Node.Split()
		}
	}
	var out []int
	for i := range hit {
		for _, p := range g.At(i).Parents {
			hit[i] = hit[i] || hit[p] && (r.Scope == ScopeDownstream || derived(&snap.Nodes[i]))
		}
		if hit[i] {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return withFinally(g, out, hit)
}

func withFinally(g *dag.Graph, out []int, hit []bool) []int {
	for i := range hit {
		if g.At(i).Node.Finally && !hit[i] {
			out = append(out, i)
		}
	}
	return out
}

// derived reports whether a node has the state it has because of others, so that it is decided again when they are.
func derived(n *Node) bool {
	switch n.Reason {
	case ReasonUpstream, ReasonCondition, ReasonEmpty, ReasonCanceled, ReasonAborted, ReasonRunTimeout:
		return n.State.Terminal()
	}
	return false
}

// rerun resets what a rerun affects and decides everything anew.
func (a *advance) rerun(r *Rerun) {
	affected := Affected(a.g, a.snap, r)
	if len(affected) == 0 {
		return
	}
	a.reopen()
	for _, i := range affected {
		if r.Scope == ScopeFailedShards && a.g.At(i).Node.Split() && a.snap.Nodes[i].Shards != nil {
			a.resetShards(i)
			continue
		}
		a.reset(i, ReasonRerun)
	}
	a.decideAll()
}

// mark resets a node, ends it as the person says, and decides again what was derived from it.
func (a *advance) mark(m *Mark) {
	affected := Affected(a.g, a.snap, &Rerun{Scope: ScopeNode, Nodes: []int{m.Node}})
	a.reopen()
	for _, i := range affected {
		a.reset(i, ReasonMarked)
	}
	n := &a.snap.Nodes[m.Node]
	a.end(End{Node: m.Node, Shard: Whole, Generation: n.Generation, Attempt: 1, State: m.State, Reason: ReasonMarked, Note: m.Note})
	a.decideAll()
}

// reopen makes an ended run go on.
func (a *advance) reopen() {
	if !a.snap.Run.State.Terminal() {
		return
	}
	a.snap.Run = Run{State: Running}
	a.steps = append(a.steps, Step{Reopen: &Reopen{}})
}

// reset begins a node's next generation.
func (a *advance) reset(i int, why Reason) {
	n := &a.snap.Nodes[i]
	if n.State == Pending {
		return
	}
	for s := range n.Shards {
		if n.Shards[s].State.Live() {
			a.steps = append(a.steps, Step{Reset: &Reset{Node: i, Shard: s, Generation: n.Generation + 1, Live: true, Reason: why}})
		}
	}
	a.steps = append(a.steps, Step{Reset: &Reset{Node: i, Shard: Whole, Generation: n.Generation + 1, Live: n.State.Live() && n.Shards == nil, Reason: why}})
	*n = Node{State: Pending, Generation: n.Generation + 1}
}

// resetShards begins the next generation of a split node and of its shards that did not succeed; its expansion stays.
func (a *advance) resetShards(i int) {
	n := &a.snap.Nodes[i]
	generation := n.Generation + 1
	a.steps = append(a.steps, Step{Reset: &Reset{Node: i, Shard: Whole, Generation: generation, Reason: ReasonRerun}})
	shards := n.Shards
	a.steps = append(a.steps, Step{Expand: &Expand{Node: i, Generation: generation, Total: len(shards), Keep: true}})
	*n = Node{State: Running, Generation: generation, Shards: shards}
	for s := range shards {
		f := &shards[s]
		if f.State == Succeeded || f.State == Skipped {
			continue
		}
		a.steps = append(a.steps, Step{Reset: &Reset{Node: i, Shard: s, Generation: f.Generation + 1, Live: f.State.Live(), Reason: ReasonRerun}})
		*f = Node{State: Pending, Generation: f.Generation + 1}
		a.start(i, s, ReasonRerun)
	}
	a.shardEnded(i)
}

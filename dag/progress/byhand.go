package progress

import (
	"slices"

	"github.com/ax-run/ax/dag"
)

// Scope is how far a rerun reaches (S29).
type Scope string

// The scopes.
const (
	// ScopeNode reruns the nodes named; states derived from them are decided again, successors that ran stay.
	ScopeNode Scope = "node"
	// ScopeDownstream reruns the nodes named and everything after them.
	ScopeDownstream Scope = "downstream"
	// ScopeFailed reruns every node that failed or was stopped, and what that blocked.
	ScopeFailed Scope = "failed"
	// ScopeAll reruns everything.
	ScopeAll Scope = "all"
	// ScopeFailedShards reruns the shards of the split nodes named that ended without success, and keeps the expansion.
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

// Affected lists the nodes that a rerun resets, in topological order, finally nodes included if anything else is. What is pending
// has nothing to reset.
func Affected(g *dag.Graph, snap *Snapshot, r *Rerun) []int {
	hit := reached(g, snap, r)
	out := begun(snap, hit)
	if len(out) == 0 {
		return nil
	}
	for i := range hit {
		hit[i] = hit[i] || g.At(i).Node.Finally
	}
	return begun(snap, hit)
}

// reached are the nodes that a rerun names, and those that follow from them.
func reached(g *dag.Graph, snap *Snapshot, r *Rerun) []bool {
	hit := make([]bool, g.Len())
	for _, i := range r.Nodes {
		hit[i] = r.Scope != ScopeFailedShards || hasFailedShards(g.At(i).Node, &snap.Nodes[i])
	}
	for i := range hit {
		n := &snap.Nodes[i]
		switch r.Scope {
		case ScopeAll:
			hit[i] = true
		case ScopeFailed:
			hit[i] = n.State == Failed || n.State == Canceled
		}
		for _, p := range g.At(i).Parents {
			hit[i] = hit[i] || hit[p] && (r.Scope == ScopeDownstream || derived(n))
		}
	}
	return hit
}

// begun are those of some nodes that can be reset. What a test run does not run stays as it is.
func begun(snap *Snapshot, hit []bool) (nodes []int) {
	for i := range hit {
		if hit[i] && snap.Nodes[i].State != Pending && snap.Nodes[i].Reason != ReasonTest {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// hasFailedShards reports whether a split node has shards that ended without success, or could not even be split.
func hasFailedShards(node *dag.Node, n *Node) bool {
	if n.Shards == nil {
		return node.Split() && n.State == Failed
	}
	return slices.ContainsFunc(n.Shards, failedShard)
}

func failedShard(f Node) bool {
	return f.State.Terminal() && f.State != Succeeded && f.State != Skipped
}

// derived reports whether a node has the state it has because of others, so that it is decided again when they are.
func derived(n *Node) bool {
	switch n.Reason {
	case ReasonUpstream, ReasonCondition, ReasonEmpty, ReasonCanceled, ReasonAborted, ReasonRunTimeout, ReasonOverlap:
		return n.State.Terminal()
	}
	return false
}

// Changeable reports whether a rerun or mark is possible: not while the run is being stopped.
func (r *Run) Changeable() bool {
	return r.State.Terminal() || !r.Canceling && !r.TimedOut
}

// rerun resets what a rerun affects and decides everything anew.
func (a *advance) rerun(r *Rerun) {
	affected := Affected(a.g, a.snap, r)
	if len(affected) == 0 || !a.snap.Run.Changeable() {
		return
	}
	a.reopen()
	for _, i := range affected {
		if r.Scope == ScopeFailedShards && slices.Contains(r.Nodes, i) && slices.ContainsFunc(a.snap.Nodes[i].Shards, failedShard) {
			a.resetShards(i)
			continue
		}
		a.reset(i, ReasonRerun)
	}
	a.decideAll()
}

// mark resets a node, ends it as the person says, and decides again what was derived from it. Where that lets an ended part of the run go
// on, the finally nodes run after it once more; where nothing is left to run, the run has its new outcome at once.
func (a *advance) mark(m *Mark) {
	if !a.snap.Run.Changeable() || a.snap.Nodes[m.Node].Reason == ReasonTest {
		return
	}
	open, _ := a.remaining()
	affected := begun(a.snap, reached(a.g, a.snap, &Rerun{Scope: ScopeNode, Nodes: []int{m.Node}}))
	a.reopen()
	for _, i := range affected {
		a.reset(i, ReasonMarked)
	}
	n := &a.snap.Nodes[m.Node]
	a.end(End{Node: m.Node, Shard: Whole, Generation: n.Generation, Attempt: 1, State: m.State, Reason: ReasonMarked, Note: m.Note})
	if a.snap.Run.State == Queued {
		a.try()
	}
	a.decideAll()
	if still, _ := a.remaining(); open == 0 && still > 0 {
		a.resetFinally(m.Node)
	}
}

// try decides a queued run as if its turn had come, and keeps that if nothing is left to run.
func (a *advance) try() {
	before, steps := a.snap.Clone(), len(a.steps)
	a.snap.Run.State = Running
	a.decideAll()
	a.settle()
	if !a.snap.Run.State.Terminal() {
		*a.snap, a.steps = before, a.steps[:steps]
	}
}

// resetFinally begins the finally nodes anew, but for one.
func (a *advance) resetFinally(but int) {
	for i := range a.snap.Nodes {
		if i != but && a.g.At(i).Node.Finally {
			a.reset(i, ReasonMarked)
		}
	}
}

// reopen makes an ended run go on: one of a limited workflow waits for its turn again.
func (a *advance) reopen() {
	if !a.snap.Run.State.Terminal() {
		return
	}
	limited := a.snap.Run.Limited
	a.snap.Run = Run{State: Running, Limited: limited}
	if limited {
		a.snap.Run.State = Queued
	}
	a.steps = append(a.steps, Step{Reopen: &Reopen{}})
}

// reset begins a node's next generation; what is left of the old one is canceled first.
func (a *advance) reset(i int, why Reason) {
	n := &a.snap.Nodes[i]
	if n.State == Pending {
		return
	}
	a.abandon(i, why)
	a.stopShards(i, why)
	a.steps = append(a.steps, Step{Reset: &Reset{Node: i, Shard: Whole, Generation: n.Generation + 1, Reason: why}})
	*n = Node{State: Pending, Generation: n.Generation + 1}
}

// abandon ends a node that has not ended, its shards apart.
func (a *advance) abandon(i int, why Reason) {
	n := &a.snap.Nodes[i]
	if n.State.Terminal() {
		return
	}
	e := End{Node: i, Shard: Whole, Generation: n.Generation, Attempt: n.Attempt, State: Canceled, Live: n.State.Live() && n.Shards == nil, Reason: why}
	if !e.Live {
		e.Attempt++
	}
	a.end(e)
}

// resetShards begins the next generation of a split node and of its shards that failed; its expansion, and what its other shards did or
// do, stays.
func (a *advance) resetShards(i int) {
	a.abandon(i, ReasonRerun)
	n := &a.snap.Nodes[i]
	*n = Node{State: Running, Generation: n.Generation + 1, Shards: slices.Clone(n.Shards)}
	a.steps = append(a.steps, Step{Reset: &Reset{Node: i, Shard: Whole, Generation: n.Generation, Reason: ReasonRerun}},
		Step{Expand: &Expand{Node: i, Generation: n.Generation, Total: len(n.Shards), Keep: true}})
	for s := range n.Shards {
		if f := &n.Shards[s]; failedShard(*f) {
			*f = Node{State: Pending, Generation: f.Generation + 1}
			a.steps = append(a.steps, Step{Reset: &Reset{Node: i, Shard: s, Generation: f.Generation, Reason: ReasonRerun}})
		}
	}
}

package progress

import (
	"slices"

	"github.com/ax-run/ax/dag"
)

// decideAll looks at every pending node, for a fresh run or one whose facts changed at large.
func (a *advance) decideAll() {
	for i := range a.snap.Nodes {
		a.decide(i)
	}
	a.propagate()
}

// propagate decides the children of every node that ended, until nothing more follows.
func (a *advance) propagate() {
	for len(a.dirty) > 0 {
		i := a.dirty[0]
		a.dirty = a.dirty[1:]
		for _, c := range a.g.At(i).Children {
			a.decide(c)
		}
	}
}

// decide applies the trigger rule of one pending node of a running run to its direct parents' present states, or goes on with
// a split one. Finally nodes are decided by settle.
func (a *advance) decide(i int) {
	v := a.g.At(i)
	n := &a.snap.Nodes[i]
	switch {
	case a.snap.Run.State != Running:
		return
	case n.State == Running:
		a.startShards(i)
		a.endShards(i)
		return
	case n.State != Pending || v.Node.Finally:
		return
	}
	switch s := Decide(v.Node.TriggerRule, a.tally(i)); s {
	case Queued:
		a.begin(i, ReasonRule)
	case UpstreamFailed, Skipped:
		a.derive(i, s, ReasonUpstream)
	}
}

// begin takes up a node whose rule holds: its condition first (S15), then what its kind asks for.
func (a *advance) begin(i int, why Reason) {
	v := a.g.At(i)
	if v.When != nil {
		holds, err := a.snap.Eval.When(i)
		switch {
		case err != nil:
			a.broken(i, err)
			return
		case !holds:
			a.derive(i, Skipped, ReasonCondition)
			return
		}
	}
	switch {
	case v.Node.Branch != nil:
		a.branch(i)
	case v.Node.Split():
		a.expand(i)
	case v.Until != nil:
		if err := a.snap.Eval.Until(i); err != nil {
			a.broken(i, err)
			return
		}
		fallthrough
	default:
		a.start(i, Whole, why)
	}
}

// branch takes the edges that a branch names; the others count as skipped for their targets.
func (a *advance) branch(i int) {
	taken, err := a.snap.Eval.Branch(i)
	if err != nil {
		a.broken(i, err)
		return
	}
	n := &a.snap.Nodes[i]
	a.end(End{Node: i, Shard: Whole, Generation: n.Generation, Attempt: n.Attempt + 1, State: Succeeded, Reason: ReasonBranch, Taken: taken})
}

// broken fails a node whose expression could not be evaluated.
func (a *advance) broken(i int, err *Error) {
	n := &a.snap.Nodes[i]
	a.giveUp(End{Node: i, Shard: Whole, Generation: n.Generation, Attempt: n.Attempt + 1, Reason: ReasonCondition, Err: err})
}

// tally counts the direct parents of a node. An edge that a branch has not taken counts as skipped.
func (a *advance) tally(i int) Tally {
	parents := a.g.At(i).Parents
	t := Tally{Total: len(parents)}
	for _, p := range parents {
		n := &a.snap.Nodes[p]
		if n.State == Succeeded && n.Reason == ReasonBranch && !slices.Contains(n.Taken, i) {
			t.K++
			continue
		}
		t.add(n)
	}
	return t
}

// settle starts finally nodes once everything else is terminal (S16), in the order of the edges among
// them, and ends the run when all nodes are terminal (I7).
func (a *advance) settle() {
	ordinary, all := a.remaining()
	if ordinary == 0 && all > 0 && a.snap.Run.State == Running {
		a.startFinally()
		_, all = a.remaining()
	}
	if all == 0 && !a.snap.Run.State.Terminal() {
		a.endRun()
	}
}

func (a *advance) remaining() (ordinary, all int) {
	for i := range a.snap.Nodes {
		if a.snap.Nodes[i].State.Terminal() {
			continue
		}
		all++
		if !a.g.At(i).Node.Finally {
			ordinary++
		}
	}
	return ordinary, all
}

// startFinally goes through the nodes in topological order, so that one that ends at once is seen by those after it.
func (a *advance) startFinally() {
	for i := range a.snap.Nodes {
		if a.snap.Nodes[i].State != Pending {
			continue
		}
		if t := a.tally(i); t.all() {
			a.begin(i, ReasonFinally)
		}
	}
}

// endRun computes the outcome over all nodes, not over leaves (S2).
func (a *advance) endRun() {
	end := RunEnd{State: Succeeded, Reason: ReasonAllSucceeded}
	failed := false
	for i := range a.snap.Nodes {
		n := &a.snap.Nodes[i]
		switch {
		case n.State == Failed && n.Tolerated:
			end.Warnings++
		case n.State == Failed, n.State == UpstreamFailed:
			failed = true
		}
	}
	switch {
	case a.snap.Run.Displaced:
		end.State, end.Reason = Skipped, ReasonOverlap
	case a.snap.Run.Canceling:
		end.State, end.Reason = Canceled, ReasonCanceled
	case a.snap.Run.TimedOut:
		end.State, end.Reason = Failed, ReasonRunTimeout
	case failed:
		end.State, end.Reason = Failed, ReasonNodeFailed
	}
	a.snap.Run.State = end.State
	a.steps = append(a.steps, Step{Run: &end})
}

// Roots are the nodes that start when a run does: those whose rule holds without a parent having ended.
func Roots(g *dag.Graph) []int {
	var roots []int
	for i := range g.Len() {
		v := g.At(i)
		if !v.Node.Finally && Decide(v.Node.TriggerRule, Tally{Total: len(v.Parents)}) == Queued {
			roots = append(roots, i)
		}
	}
	return roots
}

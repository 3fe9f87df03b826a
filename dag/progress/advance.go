package progress

import (
	"github.com/ax-run/ax/dag"
)

// Advance is the one place where the fate of nodes and runs is decided. It takes the snapshot of
// a run and what happened to it, in order, and returns the changes that follow: attempts to start, rows that
// end nodes, and the end of the run. It changes snap to the state after the steps. It is
// pure and deterministic; asking with no events decides whatever is decidable, such as the roots of a fresh run.
//
// A result for a node that is not running is ignored: it belongs to an attempt that is not current any more (S18).
func Advance(g *dag.Graph, snap *Snapshot, events []Event) []Step {
	a := advance{g: g, snap: snap}
	if len(events) == 0 {
		a.decideAll()
	}
	for _, e := range events {
		a.apply(e)
	}
	a.settle()
	return a.steps
}

// advance carries one call's work: the nodes whose children must be looked at, and the steps so far.
type advance struct {
	g     *dag.Graph
	snap  *Snapshot
	dirty []int
	steps []Step
}

func (a *advance) apply(e Event) {
	ended := a.snap.Run.State.Terminal()
	switch {
	case e.Result != nil:
		a.result(e.Result)
	case e.Cancel != nil && !ended:
		// A second cancel stops the finally nodes too; a run that has not begun has nothing to tidy up.
		again := a.snap.Run.Canceling
		a.snap.Run.Canceling = true
		a.stop(ReasonCanceled, again || a.snap.Run.State == Queued)
	case e.Deadline && !ended && !a.snap.Run.TimedOut:
		a.snap.Run.TimedOut = true
		a.stop(ReasonRunTimeout, false)
	case e.Displaced && a.snap.Run.State == Queued:
		a.displace()
	case e.Rerun != nil:
		a.rerun(e.Rerun)
	case e.Mark != nil:
		a.mark(e.Mark)
	}
	a.propagate()
}

// facts are those of a node or of one of its shards.
func (a *advance) facts(node, shard int) *Node {
	n := &a.snap.Nodes[node]
	if shard == Whole {
		return n
	}
	if shard >= len(n.Shards) {
		return &Node{}
	}
	return &n.Shards[shard]
}

// result moves the node or shard whose attempt ended. A split node has no attempts, only its shards do.
func (a *advance) result(r *Result) {
	n := a.facts(r.Node, r.Shard)
	if n.State != Running || n.Shards != nil {
		return
	}
	end := End{Node: r.Node, Shard: r.Shard, Generation: n.Generation, Attempt: n.Attempt, Reported: true, Reason: ReasonResult, Note: r.Note, Err: r.Err}
	switch {
	case r.Err != nil:
		a.failed(n, &end)
		return
	case r.Skipped:
		end.State = Skipped
	default:
		end.State = Succeeded
	}
	a.end(end)
}

// failed decides what a failed attempt leads to, in the order of S16: class, retry, on_failure.
func (a *advance) failed(n *Node, end *End) {
	node := a.g.At(end.Node).Node
	switch end.Err.Class {
	case Lost:
		n.Lost++
	case HandedBack:
	default:
		n.Failures++
	}
	v := judge(node, n, end.Err, a.snap.Seed^int64(end.Node)<<20^int64(end.Shard+1)<<40)
	end.Reason = v.reason
	if !v.retry || a.stopping(node) {
		a.giveUp(*end)
		return
	}
	end.State = Retrying
	if v.after == 0 {
		end.State = Queued
	}
	n.Attempt++
	n.State = end.State
	a.steps = append(a.steps, Step{End: end}, Step{Start: &Start{Node: end.Node, Shard: end.Shard, Generation: n.Generation,
		Attempt: n.Attempt, After: v.after, Reason: v.reason}})
}

// giveUp makes a failure final: what it does to the run is the node's policy. A shard's failure is first its node's affair.
func (a *advance) giveUp(e End) {
	policy := a.g.At(e.Node).Node.OnFailure
	e.State, e.Tolerated = Failed, policy == dag.SkipNode && e.Shard == Whole
	a.end(e)
	if policy == dag.AbortRun && e.Shard == Whole {
		a.stop(ReasonAborted, false)
	}
}

// stopping reports whether a node of a canceled or timed out run must not begin again.
func (a *advance) stopping(node *dag.Node) bool {
	return !node.Finally && (a.snap.Run.Canceling || a.snap.Run.TimedOut)
}

// end makes a node or shard terminal.
func (a *advance) end(e End) {
	n := a.facts(e.Node, e.Shard)
	n.State, n.Reason, n.Tolerated, n.Attempt, n.Taken = e.State, e.Reason, e.Tolerated, e.Attempt, e.Taken
	a.steps = append(a.steps, Step{End: &e})
	if e.Shard != Whole {
		a.shardEnded(e.Node)
		return
	}
	a.dirty = append(a.dirty, e.Node)
}

// derive ends a pending node without a start.
func (a *advance) derive(i int, s State, why Reason) {
	n := &a.snap.Nodes[i]
	a.end(End{Node: i, Shard: Whole, Generation: n.Generation, Attempt: n.Attempt + 1, State: s, Reason: why})
}

// start makes a pending node's or shard's first attempt due.
func (a *advance) start(node, shard int, why Reason) {
	n := a.facts(node, shard)
	n.State = Queued
	n.Attempt++
	a.steps = append(a.steps, Step{Start: &Start{Node: node, Shard: shard, Generation: n.Generation, Attempt: n.Attempt, Reason: why}})
}

// displace skips everything of a run that has not started.
func (a *advance) displace() {
	a.snap.Run.Displaced = true
	for i := range a.snap.Nodes {
		if !a.snap.Nodes[i].State.Terminal() {
			a.derive(i, Skipped, ReasonOverlap)
			a.stopShards(i, ReasonOverlap)
		}
	}
}

// stop cancels everything that has not ended, finally nodes excepted unless a second cancel asks for them too.
func (a *advance) stop(why Reason, alsoFinally bool) {
	for i := range a.snap.Nodes {
		n := &a.snap.Nodes[i]
		if n.State.Terminal() || a.g.At(i).Node.Finally && !alsoFinally {
			continue
		}
		a.abandon(i, why)
		a.stopShards(i, why)
	}
}

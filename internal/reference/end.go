package reference

import (
	"slices"

	"github.com/ax-run/ax/dag/progress"
)

// conclude starts the finally nodes that may, and ends the run when all nodes are terminal (S16, I7).
func (r *Twin) conclude() {
	for r.Run.State == progress.Running && every(r.ordinary(), r.ended) && slices.ContainsFunc(positions(r.Shape.Nodes), r.finallyBegun) {
	}
	if every(positions(r.Shape.Nodes), r.ended) && !r.Run.State.Terminal() {
		r.Run.State = r.outcome()
	}
}

func (r *Twin) ended(i int) bool { return r.Snapshot.Nodes[i].State.Terminal() }

func (r *Twin) ordinary() []int {
	return slices.DeleteFunc(positions(r.Shape.Nodes), func(i int) bool { return r.Shape.Nodes[i].Finally })
}

// finallyBegun takes up a finally node if it may, and reports whether it did.
func (r *Twin) finallyBegun(i int) bool {
	if r.Snapshot.Nodes[i].State != progress.Pending || !every(r.Shape.Nodes[i].Needs, r.ended) {
		return false
	}
	r.begin(i)
	return true
}

func every(nodes []int, is func(int) bool) bool {
	return !slices.ContainsFunc(nodes, func(i int) bool { return !is(i) })
}

// outcome is the run's (S2).
func (r *Twin) outcome() progress.State {
	bad := slices.ContainsFunc(r.Snapshot.Nodes, func(n progress.Node) bool {
		return n.State == progress.Failed && !n.Tolerated || n.State == progress.UpstreamFailed
	})
	switch {
	case r.Run.Displaced:
		return progress.Skipped
	case r.Run.Canceling:
		return progress.Canceled
	case bad, r.Run.TimedOut:
		return progress.Failed
	}
	return progress.Succeeded
}

// Warnings is how many failures were tolerated.
func (r *Twin) Warnings() (n int) {
	for _, node := range r.Snapshot.Nodes {
		if node.State == progress.Failed && node.Tolerated {
			n++
		}
	}
	return n
}

// displace skips what a run has not begun, when a newer run takes its place (S22).
func (r *Twin) displace() {
	r.Run.Displaced = true
	for i := range r.Shape.Nodes {
		if !r.ended(i) {
			r.cancelShards(i)
			r.endUnstarted(i, progress.Skipped)
		}
	}
}

// stopping runs are left to end before anybody changes them by hand.
func (r *Twin) stopping() bool {
	return !r.Run.State.Terminal() && (r.Run.Canceling || r.Run.TimedOut)
}

// rerun is S29.
func (r *Twin) rerun(want *progress.Rerun) {
	again := r.withDerived(r.named(want), want.Scope == progress.ScopeDownstream)
	if r.stopping() || every(again, r.pending) {
		return
	}
	for i, n := range r.Shape.Nodes {
		if n.Finally && !slices.Contains(again, i) {
			again = append(again, i)
		}
	}
	r.reopen()
	for _, i := range again {
		if want.Scope == progress.ScopeFailedShards && slices.Contains(want.Nodes, i) && slices.ContainsFunc(r.Snapshot.Nodes[i].Shards, undone) {
			r.renewShards(i)
		} else {
			r.renew(i)
		}
	}
}

func (r *Twin) pending(i int) bool { return r.Snapshot.Nodes[i].State == progress.Pending }

// named are the nodes that a scope means by itself.
func (r *Twin) named(want *progress.Rerun) []int {
	return slices.DeleteFunc(positions(r.Shape.Nodes), func(i int) bool {
		at := r.Snapshot.Nodes[i]
		switch want.Scope {
		case progress.ScopeAll:
			return false
		case progress.ScopeFailed:
			return at.State != progress.Failed && at.State != progress.Canceled
		case progress.ScopeFailedShards:
			unsplit := r.Shape.Nodes[i].Splits && len(at.Shards) == 0 && at.State == progress.Failed
			return !slices.Contains(want.Nodes, i) || !unsplit && !slices.ContainsFunc(at.Shards, undone)
		}
		return !slices.Contains(want.Nodes, i)
	})
}

func undone(f progress.Node) bool {
	return f.State == progress.Failed || f.State == progress.Canceled
}

// withDerived adds to some nodes all that follow from them: with down whatever is below, else what has its state because of others.
func (r *Twin) withDerived(nodes []int, down bool) []int {
	for grown := true; grown; {
		grown = false
		for i, n := range r.Shape.Nodes {
			below := slices.ContainsFunc(n.Needs, func(p int) bool { return slices.Contains(nodes, p) })
			if below && !slices.Contains(nodes, i) && (down || r.derived[i] && r.ended(i)) {
				nodes, grown = append(nodes, i), true
			}
		}
	}
	return nodes
}

// reopen lets an ended run go on, in its turn.
func (r *Twin) reopen() {
	if !r.Run.State.Terminal() {
		return
	}
	r.Run = progress.Run{State: progress.Running, Limited: r.Run.Limited}
	if r.Run.Limited {
		r.Run.State = progress.Queued
	}
}

// renew begins a node's next generation.
func (r *Twin) renew(i int) {
	if r.pending(i) {
		return
	}
	r.Snapshot.Nodes[i] = progress.Node{State: progress.Pending, Generation: r.Snapshot.Nodes[i].Generation + 1}
	r.Marked[i], r.derived[i] = false, false
}

// renewShards begins the next generation of a split node and of its shards that ended without success.
func (r *Twin) renewShards(i int) {
	shards := r.Snapshot.Nodes[i].Shards
	r.renew(i)
	r.Snapshot.Nodes[i].State, r.Snapshot.Nodes[i].Shards = progress.Running, shards
	for s, f := range shards {
		if undone(f) {
			shards[s] = progress.Node{State: progress.Pending, Generation: f.Generation + 1}
		}
	}
}

// mark is S30: where an ended run goes on because of it, its finally nodes run again, and where nothing is left to run it has its new outcome
// at once.
func (r *Twin) mark(want *progress.Mark) {
	if r.stopping() {
		return
	}
	over := every(r.ordinary(), r.ended)
	again := r.withDerived([]int{want.Node}, false)
	r.reopen()
	for _, i := range again {
		r.renew(i)
	}
	at := &r.Snapshot.Nodes[want.Node]
	at.State, at.Attempt = want.State, 1
	r.Marked[want.Node] = true
	if r.Run.State == progress.Queued {
		turn := r.copy()
		turn.Run.State = progress.Running
		turn.decideAll()
		turn.conclude()
		if turn.Run.State.Terminal() {
			*r = *turn
		}
	}
	r.decideAll()
	if over && !every(r.ordinary(), r.ended) {
		for i, n := range r.Shape.Nodes {
			if n.Finally && i != want.Node {
				r.renew(i)
			}
		}
	}
}

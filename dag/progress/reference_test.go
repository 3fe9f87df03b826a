package progress_test

import (
	"slices"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
)

// reference is the rules of a run once more, from their text, as naively as can be: after whatever happened it looks
// at all nodes, again and again, until nothing is left to decide. It shares data types with the product, no logic.
type reference struct {
	shape
	progress.Snapshot
}

// apply takes what happened, in order, and then lets the finally nodes and the run follow.
func (r *reference) apply(events []progress.Event) {
	r.decideAll()
	for _, e := range events {
		switch {
		case e.Result != nil:
			r.result(e.Result)
		case e.Cancel != nil:
			// The first cancel spares the finally nodes of a run that has begun (S16).
			spare := !r.Run.Canceling && r.Run.State == progress.Running
			r.Run.Canceling = true
			r.cancel(spare)
		case e.Deadline && !r.Run.TimedOut:
			r.Run.TimedOut = true
			r.cancel(true)
		}
		r.decideAll()
	}
	r.conclude()
}

// decideAll applies S14 until nothing changes.
func (r *reference) decideAll() {
	for r.Run.State == progress.Running && slices.ContainsFunc(positions(r.nodes), r.decided) {
	}
}

func positions(nodes []spec) []int {
	all := make([]int, len(nodes))
	for i := range all {
		all[i] = i
	}
	return all
}

// decided decides one node and reports whether it could.
func (r *reference) decided(i int) bool {
	n, at := r.nodes[i], &r.Nodes[i]
	if at.State != progress.Pending || n.finally {
		return false
	}
	at.State = triggers[n.rule].decide(r.parents(i))
	if at.State == progress.Pending {
		return false
	}
	at.Attempt++ // the first attempt, or the number of the decision that there is none
	return true
}

// parents are the classes of a node's direct parents (S14).
func (r *reference) parents(i int) (p parents) {
	for _, up := range r.nodes[i].needs {
		n := r.Nodes[up]
		switch n.State {
		case progress.Succeeded:
			p += "S"
		case progress.Failed:
			if n.Tolerated {
				p += "S"
			} else {
				p += "F"
			}
		case progress.UpstreamFailed:
			p += "U"
		case progress.Canceled:
			p += "C"
		case progress.Skipped:
			p += "K"
		default:
			p += "P"
		}
	}
	return p
}

// result is the end of an attempt (S16).
func (r *reference) result(res *progress.Result) {
	n, at := r.nodes[res.Node], &r.Nodes[res.Node]
	if at.State != progress.Running {
		return
	}
	if res.Err == nil {
		at.State = progress.Succeeded
		if res.Skipped {
			at.State = progress.Skipped
		}
		return
	}
	switch res.Err.Class {
	case progress.Lost:
		at.Lost++
	case progress.Permanent, progress.System, progress.Timeout:
		at.Failures++
	}
	if again, after := n.repeats(*at, res.Err); again {
		at.Attempt++
		at.State = progress.Retrying
		if after == 0 {
			at.State = progress.Queued
		}
		return
	}
	at.State, at.Tolerated = progress.Failed, n.onFailure == dag.SkipNode
	if n.onFailure == dag.AbortRun {
		r.cancel(true)
	}
}

func live(s progress.State) bool {
	return slices.Contains([]progress.State{progress.Waiting, progress.Queued, progress.Running, progress.Retrying}, s)
}

// repeats says whether a failed attempt is repeated, and after what delay.
func (p policy) repeats(at progress.Node, err *progress.Error) (bool, time.Duration) {
	if err.Class == progress.Permanent || !p.repeatable {
		return false, 0
	}
	switch err.Class {
	case progress.HandedBack:
		return true, 0
	case progress.Lost:
		return at.Lost <= p.maxLost, 0
	}
	wanted := (len(p.only) == 0 || slices.Contains(p.only, err.Code)) && !slices.Contains(p.except, err.Code)
	return wanted && at.Failures < p.maxAttempts, max(p.delay, err.RetryAfter)
}

// cancel ends what has not ended.
func (r *reference) cancel(spareFinally bool) {
	for i, n := range r.nodes {
		at := &r.Nodes[i]
		if at.State.Terminal() || n.finally && spareFinally {
			continue
		}
		if at.State == progress.Pending {
			at.Attempt++
		}
		at.State = progress.Canceled
	}
}

// conclude starts the finally nodes that may, and ends the run when all nodes are terminal (S16, I7).
func (r *reference) conclude() {
	ended := func(i int) bool { return r.Nodes[i].State.Terminal() }
	all := positions(r.nodes)
	ordinary := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return r.nodes[i].finally })
	if every(ordinary, ended) {
		for i, n := range r.nodes {
			if r.Nodes[i].State == progress.Pending && every(n.needs, ended) {
				r.Nodes[i].State = progress.Queued
				r.Nodes[i].Attempt++
			}
		}
	}
	if every(all, ended) && !r.Run.State.Terminal() {
		r.Run.State = r.outcome()
	}
}

func every(nodes []int, is func(int) bool) bool {
	return !slices.ContainsFunc(nodes, func(i int) bool { return !is(i) })
}

// outcome is the run's (S2).
func (r *reference) outcome() progress.State {
	bad := slices.ContainsFunc(r.Nodes, func(n progress.Node) bool {
		return n.State == progress.Failed && !n.Tolerated || n.State == progress.UpstreamFailed
	})
	switch {
	case r.Run.Canceling:
		return progress.Canceled
	case bad, r.Run.TimedOut:
		return progress.Failed
	}
	return progress.Succeeded
}

func (r *reference) warnings() (n int) {
	for _, node := range r.Nodes {
		if node.State == progress.Failed && node.Tolerated {
			n++
		}
	}
	return n
}

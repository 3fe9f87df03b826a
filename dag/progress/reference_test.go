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
	// marked are the nodes that ended by a mark, derived those whose end others decided.
	marked, derived []bool
}

func newReference(s shape, snap *progress.Snapshot) *reference {
	return &reference{shape: s, Snapshot: s.plain(snap), marked: make([]bool, len(s.nodes)), derived: make([]bool, len(s.nodes))}
}

func (r *reference) copy() *reference {
	return &reference{shape: r.shape, Snapshot: r.plain(&r.Snapshot), marked: slices.Clone(r.marked), derived: slices.Clone(r.derived)}
}

// apply takes what happened, in order, and then lets the finally nodes and the run follow.
func (r *reference) apply(events []progress.Event) {
	r.decideAll()
	for _, e := range events {
		open := !r.Run.State.Terminal()
		switch {
		case e.Result != nil:
			r.result(e.Result)
		case e.Cancel != nil && open:
			// The first cancel spares the finally nodes of a run that has begun (S16).
			spare := !r.Run.Canceling && r.Run.State == progress.Running
			r.Run.Canceling = true
			r.cancel(spare)
		case e.Deadline && open && !r.Run.TimedOut:
			r.Run.TimedOut = true
			r.cancel(true)
		case e.Displaced && r.Run.State == progress.Queued:
			r.displace()
		case e.Rerun != nil:
			r.rerun(e.Rerun)
		case e.Mark != nil:
			r.mark(e.Mark)
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
		return r.beginShards(i)
	}
	switch s := triggers[n.rule].decide(r.parents(i)); s {
	case progress.Pending:
		return false
	case progress.Queued:
		r.begin(i)
	default:
		r.endUnstarted(i, s)
	}
	return true
}

// begin is what S15 and S21 say of a node whose rule holds.
func (r *reference) begin(i int) {
	n, at := r.nodes[i], &r.Nodes[i]
	a := answer{when: holds}
	if n.conditional || n.branches || n.splits {
		a = r.answer(i, at.Generation)
	}
	switch {
	case n.conditional && a.when == not:
		r.endUnstarted(i, progress.Skipped)
	case n.conditional && a.when == fails, (n.branches || n.splits) && a.work == fails:
		r.derived[i] = true
		at.Attempt++
		r.fail(i)
	case n.splits && a.total == 0:
		r.endUnstarted(i, progress.Skipped)
	case n.branches:
		at.Attempt++
		at.State, at.Taken = progress.Succeeded, a.taken
	case n.splits:
		at.State = progress.Running
		for range a.total {
			at.Shards = append(at.Shards, progress.Node{State: progress.Pending, Generation: at.Generation})
		}
		r.beginShards(i)
	default:
		at.Attempt++
		at.State = progress.Queued
	}
}

// beginShards starts the pending shards of a node and reports whether there were any.
func (r *reference) beginShards(i int) (any bool) {
	for s := range r.Nodes[i].Shards {
		if f := &r.Nodes[i].Shards[s]; f.State == progress.Pending {
			f.State, f.Attempt, any = progress.Queued, 1, true
		}
	}
	return any
}

// endUnstarted ends a node because of what others are, or what its condition says.
func (r *reference) endUnstarted(i int, s progress.State) {
	r.Nodes[i].State = s
	r.Nodes[i].Attempt++
	r.derived[i] = true
}

// parents are the classes of a node's direct parents (S14, S15).
func (r *reference) parents(i int) (p parents) {
	for _, up := range r.nodes[i].needs {
		n := r.Nodes[up]
		passedOver := r.nodes[up].branches && !r.marked[up] && !slices.Contains(n.Taken, i)
		switch {
		case n.State == progress.Succeeded && passedOver, n.State == progress.Skipped:
			p += "K"
		case n.State == progress.Succeeded, n.State == progress.Failed && n.Tolerated:
			p += "S"
		case n.State == progress.Failed:
			p += "F"
		case n.State == progress.UpstreamFailed:
			p += "U"
		case n.State == progress.Canceled:
			p += "C"
		default:
			p += "P"
		}
	}
	return p
}

// result is the end of an attempt (S16).
func (r *reference) result(res *progress.Result) {
	at := factsOf(&r.Snapshot, spot{res.Node, res.Shard})
	if at.State != progress.Running || len(at.Shards) > 0 {
		return
	}
	switch {
	case res.Err == nil && res.Skipped:
		at.State = progress.Skipped
	case res.Err == nil:
		at.State = progress.Succeeded
	case r.repeated(res, at):
		return
	case res.Shard == progress.Whole:
		r.fail(res.Node)
	default:
		at.State = progress.Failed
	}
	if res.Shard != progress.Whole {
		r.shardEnded(res.Node)
	}
}

// repeated makes the next attempt due after a failed one, if there is to be one.
func (r *reference) repeated(res *progress.Result, at *progress.Node) bool {
	switch res.Err.Class {
	case progress.Lost:
		at.Lost++
	case progress.Permanent, progress.System, progress.Timeout:
		at.Failures++
	}
	again, after := r.nodes[res.Node].repeats(*at, res.Err)
	if !again {
		return false
	}
	at.Attempt++
	at.State = progress.Retrying
	if after == 0 {
		at.State = progress.Queued
	}
	return true
}

// fail makes a node's failure final (S16).
func (r *reference) fail(i int) {
	r.Nodes[i].State, r.Nodes[i].Tolerated = progress.Failed, r.nodes[i].onFailure == dag.SkipNode
	if r.nodes[i].onFailure == dag.AbortRun {
		r.cancel(true)
	}
}

// shardEnded is what the end of a shard means for its node (S21).
func (r *reference) shardEnded(i int) {
	n, at := r.nodes[i], &r.Nodes[i]
	good, open := 0, 0
	for _, f := range at.Shards {
		switch {
		case f.State == progress.Succeeded || f.State == progress.Skipped:
			good++
		case !f.State.Terminal():
			open++
		}
	}
	enough := n.success.needed(len(at.Shards))
	if n.failFast && good+open < enough {
		r.cancelShards(i)
		open = 0
	}
	switch {
	case open > 0:
	case good >= enough:
		at.State = progress.Succeeded
		at.Attempt++
	default:
		at.Attempt++
		r.fail(i)
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
		if !r.Nodes[i].State.Terminal() && !(n.finally && spareFinally) {
			r.cancelNode(i)
			r.derived[i] = true
		}
	}
}

// cancelNode ends a node that has not ended, with its shards.
func (r *reference) cancelNode(i int) {
	at := &r.Nodes[i]
	if at.State.Terminal() {
		return
	}
	if at.State == progress.Pending || len(at.Shards) > 0 {
		at.Attempt++
	}
	at.State = progress.Canceled
	r.cancelShards(i)
}

func (r *reference) cancelShards(i int) {
	for s := range r.Nodes[i].Shards {
		if f := &r.Nodes[i].Shards[s]; !f.State.Terminal() {
			f.State, f.Attempt = progress.Canceled, max(f.Attempt, 1)
		}
	}
}

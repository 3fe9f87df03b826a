package reference

import (
	"slices"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
)

// Twin is a run as the rules' text has it: after whatever happened it looks at all nodes, again and again, until nothing is left to
// decide.
type Twin struct {
	Shape
	progress.Snapshot
	// Marked are the nodes that ended by a mark, derived those whose end others decided.
	Marked  []bool
	derived []bool
}

// NewTwin is the run of a shape as a snapshot has it.
func NewTwin(s Shape, snap *progress.Snapshot) *Twin {
	return &Twin{Shape: s, Snapshot: Plain(snap), Marked: make([]bool, len(s.Nodes)), derived: make([]bool, len(s.Nodes))}
}

func (r *Twin) copy() *Twin {
	return &Twin{Shape: r.Shape, Snapshot: Plain(&r.Snapshot), Marked: slices.Clone(r.Marked), derived: slices.Clone(r.derived)}
}

// Apply takes what happened, in order, and then lets the finally nodes and the run follow.
func (r *Twin) Apply(events []progress.Event) {
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
func (r *Twin) decideAll() {
	for r.Run.State == progress.Running && slices.ContainsFunc(positions(r.Shape.Nodes), r.decided) {
	}
}

func positions(nodes []Node) []int {
	all := make([]int, len(nodes))
	for i := range all {
		all[i] = i
	}
	return all
}

// decided decides one node and reports whether it could.
func (r *Twin) decided(i int) bool {
	n, at := r.Shape.Nodes[i], &r.Snapshot.Nodes[i]
	if at.State != progress.Pending || n.Finally {
		return r.beginShards(i)
	}
	switch s := Triggers[n.Rule].Decide(r.Parents(i)); s {
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
func (r *Twin) begin(i int) {
	n, at := r.Shape.Nodes[i], &r.Snapshot.Nodes[i]
	when, a := r.says(i)
	switch {
	case when == Not:
		r.endUnstarted(i, progress.Skipped)
	case when == Breaks, (n.Branches || n.Splits) && a.Work == Breaks:
		r.derived[i] = true
		at.Attempt++
		r.fail(i)
	case n.Splits && a.Total == 0:
		r.endUnstarted(i, progress.Skipped)
	case n.Branches:
		at.Attempt++
		at.State, at.Taken = progress.Succeeded, a.Taken
	case n.Splits:
		at.State = progress.Running
		for range a.Total {
			at.Shards = append(at.Shards, progress.Node{State: progress.Pending, Generation: at.Generation})
		}
		r.beginShards(i)
	default:
		at.Attempt++
		at.State = progress.Queued
	}
}

// says is what a node's condition says, and its other expressions.
func (r *Twin) says(i int) (Verdict, Answer) {
	n := r.Shape.Nodes[i]
	if !n.Conditional && !n.Branches && !n.Splits {
		return Holds, Answer{}
	}
	a := r.Answer(i, r.Snapshot.Nodes[i].Generation)
	switch {
	case !n.Conditional:
		return Holds, a
	case a.When == IfOutput && r.hasOutput(n.Needs[0]):
		return Holds, a
	case a.When == IfOutput:
		return Not, a
	}
	return a.When, a
}

// hasOutput reports whether a node has one: a mark gives none.
func (r *Twin) hasOutput(i int) bool {
	return r.Snapshot.Nodes[i].State == progress.Succeeded && !r.Marked[i]
}

// beginShards starts the pending shards of a node and reports whether there were any.
func (r *Twin) beginShards(i int) (any bool) {
	for s := range r.Snapshot.Nodes[i].Shards {
		if f := &r.Snapshot.Nodes[i].Shards[s]; f.State == progress.Pending {
			f.State, f.Attempt, any = progress.Queued, 1, true
		}
	}
	return any
}

// endUnstarted ends a node because of what others are, or what its condition says.
func (r *Twin) endUnstarted(i int, s progress.State) {
	r.Snapshot.Nodes[i].State = s
	r.Snapshot.Nodes[i].Attempt++
	r.derived[i] = true
}

// Parents are the classes of a node's direct parents (S14, S15).
func (r *Twin) Parents(i int) (p Parents) {
	for _, up := range r.Shape.Nodes[i].Needs {
		n := r.Snapshot.Nodes[up]
		passedOver := r.Shape.Nodes[up].Branches && !r.Marked[up] && !slices.Contains(n.Taken, i)
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
func (r *Twin) result(res *progress.Result) {
	at := At(&r.Snapshot, Spot{res.Node, res.Shard})
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
func (r *Twin) repeated(res *progress.Result, at *progress.Node) bool {
	switch res.Err.Class {
	case progress.Lost:
		at.Lost++
	case progress.Permanent, progress.System, progress.Timeout:
		at.Failures++
	}
	again, after := r.Shape.Nodes[res.Node].repeats(*at, res.Err)
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
func (r *Twin) fail(i int) {
	r.Snapshot.Nodes[i].State, r.Snapshot.Nodes[i].Tolerated = progress.Failed, r.Shape.Nodes[i].OnFailure == dag.SkipNode
	if r.Shape.Nodes[i].OnFailure == dag.AbortRun {
		r.cancel(true)
	}
}

// shardEnded is what the end of a shard means for its node (S21).
func (r *Twin) shardEnded(i int) {
	n, at := r.Shape.Nodes[i], &r.Snapshot.Nodes[i]
	good, open := 0, 0
	for _, f := range at.Shards {
		switch {
		case f.State == progress.Succeeded || f.State == progress.Skipped:
			good++
		case !f.State.Terminal():
			open++
		}
	}
	enough := n.Success.needed(len(at.Shards))
	if n.FailFast && good+open < enough {
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

// repeats says whether a failed attempt is repeated, and after what delay.
func (p Policy) repeats(at progress.Node, err *progress.Error) (bool, time.Duration) {
	if err.Class == progress.Permanent || !p.Repeatable {
		return false, 0
	}
	switch err.Class {
	case progress.HandedBack:
		return true, 0
	case progress.Lost:
		return at.Lost <= p.MaxLost, 0
	}
	wanted := (len(p.Only) == 0 || slices.Contains(p.Only, err.Code)) && !slices.Contains(p.Except, err.Code)
	return wanted && at.Failures < p.MaxAttempts, max(p.Delay, err.RetryAfter)
}

// cancel ends what has not ended.
func (r *Twin) cancel(spareFinally bool) {
	for i, n := range r.Shape.Nodes {
		if !r.Snapshot.Nodes[i].State.Terminal() && !(n.Finally && spareFinally) {
			r.cancelNode(i)
			r.derived[i] = true
		}
	}
}

// cancelNode ends a node that has not ended, with its shards.
func (r *Twin) cancelNode(i int) {
	at := &r.Snapshot.Nodes[i]
	if at.State.Terminal() {
		return
	}
	if at.State == progress.Pending || len(at.Shards) > 0 {
		at.Attempt++
	}
	at.State = progress.Canceled
	r.cancelShards(i)
}

func (r *Twin) cancelShards(i int) {
	for s := range r.Snapshot.Nodes[i].Shards {
		if f := &r.Snapshot.Nodes[i].Shards[s]; !f.State.Terminal() {
			f.State, f.Attempt = progress.Canceled, max(f.Attempt, 1)
		}
	}
}

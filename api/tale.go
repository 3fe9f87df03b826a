package api

import (
	"cmp"
	"slices"
	"time"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// The order of what one commit did: its transitions have the same time, and are told cause first.
const (
	rankCreated = iota
	rankBegun
	rankResult
	rankDecision
	rankQueued
	rankStarted
	rankRunEnded
)

// tale gathers transitions.
type tale []telling

type telling struct {
	Transition
	rank int
}

func (t tale) inOrder() []Transition {
	slices.SortStableFunc(t, func(a, b telling) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.rank, b.rank)) })
	out := make([]Transition, len(t))
	for i := range t {
		out[i] = t[i].Transition
	}
	return out
}

func (t *tale) tell(rank int, at *time.Time, tr Transition) {
	tr.At = at.UTC()
	*t = append(*t, telling{tr, rank})
}

// run tells of the run itself.
func (t *tale) run(r store.RunRow) {
	last := string(progress.Queued)
	t.tell(rankCreated, &r.CreatedAt, Transition{To: last, Actor: r.Actor, Reason: r.Trigger})
	if r.StartedAt != nil {
		t.tell(rankBegun, r.StartedAt, Transition{From: last, To: string(progress.Running), Actor: "engine", Reason: "started"})
		last = string(progress.Running)
	}
	if r.FinishedAt != nil {
		t.tell(rankRunEnded, r.FinishedAt, Transition{From: last, To: string(r.State), Actor: "engine", Reason: r.Reason})
	}
}

// ended tells of an attempt in history, or of a decision that ended a node without one; prev is the node's row before.
func (t *tale) ended(r, prev *store.NodeRecord) {
	from := t.begun(r.Attempt, times{r.QueuedAt, r.StartedAt}, r.Worker, prev)
	rank := rankResult
	if r.StartedAt == nil {
		rank = rankDecision
	}
	end := about(r.Attempt)
	end.From, end.To, end.Actor, end.Reason, end.Error = from, string(r.State), r.Actor, r.Reason, errorView(r.Err)
	t.tell(rank, &r.FinishedAt, end)
}

// live tells how what is queued, running or held came there.
func (t *tale) live(l *store.LiveNode, prev *store.NodeRecord) {
	from := t.begun(l.Attempt, times{l.QueuedAt, l.StartedAt}, l.Worker, prev)
	if b := blockedNode(l); b != nil && from != string(l.State) {
		held := about(l.Attempt)
		held.From, held.To, held.Actor, held.Reason = from, string(l.State), "engine", string(b.Reason)
		t.tell(rankQueued, &l.Since, held)
	}
}

type times struct{ queued, started *time.Time }

// begun tells that an attempt was queued and started, as far as it was, and returns the state it came to.
func (t *tale) begun(a store.Attempt, at times, worker string, prev *store.NodeRecord) (state string) {
	state = string(progress.Pending)
	reason := progress.ReasonRule
	if prev != nil {
		state, reason = string(prev.State), progress.ReasonRetry
		if prev.Outcome == string(progress.Lost) {
			reason = progress.ReasonReroute
		}
	}
	if at.queued != nil && state != string(progress.Queued) {
		queued := about(a)
		queued.From, queued.To, queued.Actor, queued.Reason = state, string(progress.Queued), "engine", string(reason)
		t.tell(rankQueued, at.queued, queued)
		state = queued.To
	}
	if at.started != nil {
		started := about(a)
		started.From, started.To, started.Actor, started.Reason = state, string(progress.Running), "worker:"+worker, "started"
		t.tell(rankStarted, at.started, started)
		state = started.To
	}
	return state
}

func about(a store.Attempt) Transition {
	return Transition{Node: a.Node, NodeRun: a.ExecutionID(), Attempt: a.Number}
}

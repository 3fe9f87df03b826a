package progress_test

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/reference"
)

// replay carries steps out one by one, as the store does, and checks that each is one that may be taken there and then.
func (w *walk) replay(before *progress.Snapshot, steps []progress.Step, events []progress.Event) {
	r := replay{walk: w, now: fork(w.Shape, before), kept: map[int][]progress.Node{}}
	for i, s := range steps {
		switch {
		case s.Start != nil:
			r.start(s.Start)
		case s.End != nil:
			r.end(s.End, events)
		case s.Expand != nil:
			r.expand(s.Expand)
		case s.Reset != nil:
			r.reset(s.Reset)
		case s.Reopen != nil:
			r.reopen()
		case s.Run != nil:
			require.Equal(w, len(steps)-1, i, "the end of the run is the last step")
			r.runEnd(s.Run)
		}
	}
	require.Equal(w, reference.Spots(w.snap), reference.Spots(r.now), "the steps lead to the snapshot")
	for _, at := range reference.Spots(r.now) {
		want, got := reference.At(w.snap, at), reference.At(r.now, at)
		require.Equal(w, []any{want.State, want.Generation, want.Attempt, want.Reason, want.Taken},
			[]any{got.State, got.Generation, got.Attempt, got.Reason, got.Taken}, "the steps lead to the snapshot")
	}
	require.Equal(w, w.snap.Run.State, r.now.Run.State)
}

type replay struct {
	*walk
	now *progress.Snapshot
	// kept are the shards of split nodes that were begun anew; the new generation may keep them.
	kept map[int][]progress.Node
}

// permitted checks that the transition table has a change of a node.
func (w *walk) permitted(from, to progress.State) {
	require.True(w, slices.ContainsFunc(progress.NodeTransitions, func(t progress.Transition) bool { return t.From == from && t.To == to }),
		"%s → %s is in the table", from, to)
}

// start checks I4: a node starts once an attempt, and only when its rule holds.
func (r *replay) start(s *progress.Start) {
	n := reference.At(r.now, reference.Spot{Node: s.Node, Shard: s.Shard})
	key := attempt{reference.Spot{Node: s.Node, Shard: s.Shard}, s.Generation, s.Attempt}
	require.False(r, r.started[key], "an attempt is started once")
	r.started[key] = true
	require.Equal(r, n.Generation, s.Generation)
	require.Equal(r, n.Attempt+1, s.Attempt)
	switch s.Reason {
	case progress.ReasonRule, progress.ReasonFinally, progress.ReasonShards:
		r.permitted(n.State, progress.Queued)
		require.Equal(r, s.Reason == progress.ReasonShards, s.Shard != progress.Whole)
		require.Equal(r, 1, s.Attempt)
		require.Zero(r, s.After)
		require.True(r, s.Shard != progress.Whole && r.now.Nodes[s.Node].State == progress.Running || r.mayBegin(s.Node), "the rule of %s holds", r.Nodes[s.Node].Name)
		n.State = progress.Queued
	case progress.ReasonRetry, progress.ReasonReroute:
		require.Equal(r, s.After > 0, n.State == progress.Retrying, "a delay is waited for, none is not")
		require.True(r, s.After > 0 || n.State == progress.Queued)
	default:
		require.Fail(r, "no reason to start", s.Reason)
	}
	n.Attempt = s.Attempt
}

// mayBegin reports whether a node's rule holds, going by what the steps so far have led to.
func (r *replay) mayBegin(i int) bool {
	if !r.Nodes[i].Finally {
		so := reference.NewTwin(r.Shape, r.now)
		for j := range so.Marked {
			so.Marked[j] = r.now.Nodes[j].Reason == progress.ReasonMarked
		}
		return reference.Triggers[r.Nodes[i].Rule].Decide(so.Parents(i)) == progress.Queued
	}
	for j, other := range r.Nodes {
		if !r.now.Nodes[j].State.Terminal() && (!other.Finally || slices.Contains(r.Nodes[i].Needs, j)) {
			return false
		}
	}
	return true
}

// end checks that a row of history is about the current attempt, or about the decision that there is none (I2).
func (r *replay) end(e *progress.End, events []progress.Event) {
	at := reference.Spot{Node: e.Node, Shard: e.Shard}
	n := reference.At(r.now, at)
	require.Equal(r, n.Generation, e.Generation)
	from := n.State
	if e.Reported {
		require.Equal(r, n.Attempt, e.Attempt)
		require.True(r, slices.ContainsFunc(events, func(ev progress.Event) bool {
			return ev.Result != nil && at == reference.Spot{Node: ev.Result.Node, Shard: ev.Result.Shard} && ev.Result.Err == e.Err
		}))
		require.False(r, e.Live, "the live row of a result goes with it")
	} else {
		r.unreported(n, e)
	}
	r.permitted(from, e.State)
	require.NotEmpty(r, e.Reason, "nothing changes without a reason (S3)")
	n.State, n.Tolerated, n.Attempt, n.Taken = e.State, e.Tolerated, e.Attempt, e.Taken
	if e.State.Terminal() {
		n.Reason = e.Reason
	}
}

// unreported is the end of something that no attempt brought about.
func (r *replay) unreported(n *progress.Node, e *progress.End) {
	require.Equal(r, reference.Live(n.State) && n.Shards == nil, e.Live, "what is live is removed")
	if e.Live {
		require.Equal(r, n.Attempt, e.Attempt)
	} else {
		require.Equal(r, n.Attempt+1, e.Attempt)
	}
	switch e.Reason {
	case progress.ReasonCondition, progress.ReasonEmpty, progress.ReasonBranch:
		require.True(r, r.mayBegin(e.Node), "the rule of %s holds", r.Nodes[e.Node].Name)
	case progress.ReasonShards:
		require.False(r, slices.ContainsFunc(n.Shards, func(f progress.Node) bool { return !f.State.Terminal() }))
	}
	broken := e.State == progress.Failed && (e.Reason == progress.ReasonCondition || e.Reason == progress.ReasonShards)
	require.Equal(r, broken, e.Err != nil)
}

// expand splits a node whose rule holds, or keeps the shards of its generation before.
func (r *replay) expand(e *progress.Expand) {
	n := &r.now.Nodes[e.Node]
	require.Equal(r, n.Generation, e.Generation)
	r.permitted(n.State, progress.Running)
	n.State, n.Shards = progress.Running, make([]progress.Node, e.Total)
	if e.Keep {
		require.Len(r, r.kept[e.Node], e.Total)
		copy(n.Shards, r.kept[e.Node])
		return
	}
	for s := range n.Shards {
		n.Shards[s] = progress.Node{State: progress.Pending, Generation: e.Generation}
	}
	n.State = progress.Pending
	require.True(r, r.mayBegin(e.Node), "the rule of %s holds", r.Nodes[e.Node].Name)
	n.State = progress.Running
}

// reset begins a generation anew; the one before has ended (I1).
func (r *replay) reset(s *progress.Reset) {
	n := reference.At(r.now, reference.Spot{Node: s.Node, Shard: s.Shard})
	require.True(r, n.State.Terminal(), "a generation follows one that has ended")
	require.Equal(r, n.Generation+1, s.Generation)
	require.NotEmpty(r, s.Reason)
	if s.Shard == progress.Whole {
		r.kept[s.Node] = n.Shards
	}
	*n = progress.Node{State: progress.Pending, Generation: s.Generation}
}

func (r *replay) reopen() {
	require.True(r, r.now.Run.State.Terminal())
	r.now.Run.State = progress.Running
	if r.now.Run.Limited {
		r.now.Run.State = progress.Queued
	}
}

func (r *replay) runEnd(e *progress.RunEnd) {
	require.True(r, slices.ContainsFunc(progress.RunTransitions, func(t progress.Transition) bool {
		return t.From == r.now.Run.State && t.To == e.State
	}), "%s → %s is in the table", r.now.Run.State, e.State)
	require.Equal(r, r.ref.Warnings(), e.Warnings)
	require.NotEmpty(r, e.Reason)
	r.now.Run.State = e.State
}

// invariants checks what must hold at any moment.
func (w *walk) invariants(before *progress.Snapshot) {
	over := func(n *progress.Node) bool { return n.State.Terminal() }
	alive := w.snap.Run.State == progress.Queued
	for _, at := range reference.Spots(before) {
		if was := reference.At(before, at); over(was) && at.Shard < len(w.snap.Nodes[at.Node].Shards) {
			now := reference.At(w.snap, at)
			require.True(w, now.Generation > was.Generation || now.Generation == was.Generation && now.State == was.State, "I1: terminal is terminal")
		}
	}
	for i := range w.snap.Nodes {
		n := &w.snap.Nodes[i]
		open := slices.ContainsFunc(n.Shards, func(f progress.Node) bool { return !over(&f) })
		require.True(w, n.Shards == nil || over(n) == !open, "a split node ends with its shards")
		alive = alive || reference.Live(n.State)
	}
	if before.Run.State.Terminal() && !w.snap.Run.State.Terminal() {
		require.True(w, slices.ContainsFunc(w.snap.Nodes, func(n progress.Node) bool { return !over(&n) }), "a run that goes on has something to do")
	}
	ended := !slices.ContainsFunc(w.snap.Nodes, func(n progress.Node) bool { return !over(&n) })
	require.Equal(w, ended, w.snap.Run.State.Terminal(), "I7: a run is terminal exactly when all its nodes are")
	require.True(w, alive || w.snap.Run.State.Terminal(), "I5: something ends every state that is not terminal")
}

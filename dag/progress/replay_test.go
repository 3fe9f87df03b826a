package progress_test

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
)

// replay carries steps out one by one, as the store does, and checks that each is one that may be taken there and then.
func (w *walk) replay(before progress.Snapshot, steps []progress.Step, events []progress.Event) {
	r := replay{walk: w, now: cloned(before)}
	for i, s := range steps {
		switch {
		case s.Start != nil:
			r.start(s.Start)
		case s.End != nil:
			r.end(s.End, events)
		case s.Run != nil:
			require.Equal(w, len(steps)-1, i, "the end of the run is the last step")
			r.runEnd(s.Run)
		}
	}
	for i := range w.nodes {
		require.Equal(w, w.snap.Nodes[i].State, r.now.Nodes[i].State, "the steps lead to the snapshot")
		require.Equal(w, w.snap.Nodes[i].Attempt, r.now.Nodes[i].Attempt)
		require.Equal(w, w.snap.Nodes[i].Reason, r.now.Nodes[i].Reason)
	}
	require.Equal(w, w.snap.Run.State, r.now.Run.State)
}

type replay struct {
	*walk
	now progress.Snapshot
}

// permitted checks that the transition table has a change of a node.
func (w *walk) permitted(from, to progress.State) {
	require.True(w, slices.ContainsFunc(progress.NodeTransitions, func(t progress.Transition) bool { return t.From == from && t.To == to }),
		"%s → %s is in the table", from, to)
}

// start checks I4: a node starts once an attempt, and only when its rule holds.
func (r *replay) start(s *progress.Start) {
	n := &r.now.Nodes[s.Node]
	key := attempt{s.Node, s.Attempt}
	require.False(r, r.started[key], "an attempt is started once")
	r.started[key] = true
	require.Equal(r, n.Generation, s.Generation)
	switch s.Reason {
	case progress.ReasonRule, progress.ReasonFinally:
		r.permitted(n.State, progress.Queued)
		require.Equal(r, 1, s.Attempt)
		require.Zero(r, s.After)
		require.True(r, r.mayStart(s.Node), "the rule of %s holds", r.nodes[s.Node].name)
		n.State = progress.Queued
	case progress.ReasonRetry, progress.ReasonReroute:
		require.Equal(r, s.After > 0, n.State == progress.Retrying, "a delay is waited for, none is not")
		require.True(r, s.After > 0 || n.State == progress.Queued)
		require.Equal(r, n.Attempt+1, s.Attempt)
	default:
		require.Fail(r, "no reason to start", s.Reason)
	}
	n.Attempt = s.Attempt
}

func (r *replay) mayStart(i int) bool {
	n := reference{shape: r.shape, Snapshot: r.now}
	if !r.nodes[i].finally {
		return triggers[r.nodes[i].rule].decide(n.parents(i)) == progress.Queued
	}
	for j, other := range r.nodes {
		if !r.now.Nodes[j].State.Terminal() && (!other.finally || slices.Contains(r.nodes[i].needs, j)) {
			return false
		}
	}
	return true
}

// end checks that a row of history is about the current attempt, or about the decision that there is none (I2).
func (r *replay) end(e *progress.End, events []progress.Event) {
	n := &r.now.Nodes[e.Node]
	require.Equal(r, n.Generation, e.Generation)
	from := n.State
	if e.Reported {
		require.Equal(r, n.Attempt, e.Attempt)
		require.True(r, slices.ContainsFunc(events, func(ev progress.Event) bool {
			return ev.Result != nil && ev.Result.Node == e.Node && ev.Result.Err == e.Err
		}))
		require.False(r, e.Live, "the live row of a result goes with it")
	} else {
		require.Equal(r, live(from), e.Live, "what is live is removed")
		require.Nil(r, e.Err)
		if !e.Live {
			require.Equal(r, n.Attempt+1, e.Attempt)
		} else {
			require.Equal(r, n.Attempt, e.Attempt)
		}
	}
	r.permitted(from, e.State)
	require.NotEmpty(r, e.Reason, "nothing changes without a reason (S3)")
	n.State, n.Tolerated, n.Attempt = e.State, e.Tolerated, e.Attempt
	if e.State.Terminal() {
		n.Reason = e.Reason
	}
}

func (r *replay) runEnd(e *progress.RunEnd) {
	require.True(r, slices.ContainsFunc(progress.RunTransitions, func(t progress.Transition) bool {
		return t.From == r.now.Run.State && t.To == e.State
	}), "%s → %s is in the table", r.now.Run.State, e.State)
	require.Equal(r, r.ref.warnings(), e.Warnings)
	require.NotEmpty(r, e.Reason)
	r.now.Run.State = e.State
}

// invariants checks what must hold at any moment.
func (w *walk) invariants(before progress.Snapshot) {
	terminal, alive := 0, false
	for i, n := range w.snap.Nodes {
		if was := before.Nodes[i]; was.State.Terminal() {
			require.Equal(w, was, n, "I1: terminal is terminal")
		}
		if n.State.Terminal() {
			terminal++
		}
		alive = alive || live(n.State)
	}
	if before.Run.State.Terminal() {
		require.Equal(w, before.Run.State, w.snap.Run.State, "I1: terminal is terminal")
	}
	require.Equal(w, terminal == len(w.nodes), w.snap.Run.State.Terminal(), "I7: a run is terminal exactly when all its nodes are")
	require.True(w, alive || w.snap.Run.State.Terminal(), "I5: something ends every state that is not terminal")
}

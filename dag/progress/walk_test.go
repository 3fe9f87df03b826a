package progress_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
)

var allRules = []dag.Rule{
	dag.AllSuccess, dag.AllFailed, dag.AllDone, dag.OneSuccess, dag.OneFailed, dag.OneDone, dag.NoneFailed,
	dag.NoneFailedMinOneSuccess, dag.NoneSkipped, dag.Always,
}

func TestAdvanceAgreesWithTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWalk(t, drawShape(t, shapeOptions{maxNodes: 9, rules: allRules, policies: anyPolicy}))
		w.begin()
		for !w.snap.Run.State.Terminal() {
			w.step()
		}
		w.late()
	})
}

// walk takes a run through random happenings, by Advance and by the reference.
type walk struct {
	*rapid.T
	shape
	snap progress.Snapshot
	ref  reference
	// trouble is how many more things may happen to the run that would not let it end.
	trouble int
	cancels int
	// started are the attempts that were ever started.
	started map[attempt]bool
}

type attempt struct{ node, number int }

func newWalk(t *rapid.T, s shape) *walk {
	snap := progress.Fresh(s.graph, time.Time{}, 7)
	ref := reference{shape: s, Snapshot: snap}
	ref.Nodes = slices.Clone(snap.Nodes)
	return &walk{T: t, shape: s, snap: snap, ref: ref, trouble: 40, started: map[attempt]bool{}}
}

// begin starts the run: at once, or from the queue of its workflow, where it may be canceled.
func (w *walk) begin() {
	if rapid.IntRange(0, 4).Draw(w.T, "queued") > 0 {
		w.advance()
		return
	}
	w.setRun(progress.Queued)
	if rapid.Bool().Draw(w.T, "cancel the queued run") {
		w.advance(progress.Event{Cancel: &progress.Cancel{}})
		require.Equal(w, progress.Canceled, w.snap.Run.State)
		require.Empty(w, w.started, "what has not begun costs nothing to stop")
		return
	}
	w.setRun(progress.Running)
	w.advance()
}

func (w *walk) setRun(s progress.State) { w.snap.Run.State, w.ref.Run.State = s, s }

// step lets one thing happen.
func (w *walk) step() {
	w.trouble--
	switch kind := rapid.IntRange(0, 19).Draw(w.T, "what happens"); {
	case kind == 0 && w.cancels < 2 && w.trouble > 0:
		w.cancels++
		w.advance(progress.Event{Cancel: &progress.Cancel{}})
	case kind == 1 && w.trouble > 0:
		w.advance(progress.Event{Deadline: true})
	case kind < 8:
		w.carry()
	default:
		w.finish()
	}
}

// carry moves a live node as others do: a worker takes it, its delay is over, or its worker is missing.
func (w *walk) carry() {
	nodes := w.in(progress.Queued, progress.Retrying, progress.Waiting)
	if len(nodes) == 0 {
		w.finish()
		return
	}
	i := rapid.SampledFrom(nodes).Draw(w.T, "carried")
	to := progress.Queued
	if w.snap.Nodes[i].State == progress.Queued {
		to = progress.Running
	}
	if w.trouble > 0 && w.snap.Nodes[i].State != progress.Waiting && rapid.IntRange(0, 5).Draw(w.T, "no worker") == 0 {
		to = progress.Waiting
	}
	w.move(i, to)
}

func (w *walk) move(i int, to progress.State) {
	w.permitted(w.snap.Nodes[i].State, to)
	w.snap.Nodes[i].State, w.ref.Nodes[i].State = to, to
}

// in are the nodes in one of some states.
func (w *walk) in(states ...progress.State) (nodes []int) {
	for i, n := range w.snap.Nodes {
		if slices.Contains(states, n.State) {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// finish ends up to three running attempts at once, maybe in one batch with a cancel or with the result of an attempt that is not
// current any more.
func (w *walk) finish() {
	var events []progress.Event
	for range rapid.IntRange(1, 3).Draw(w.T, "batch") {
		nodes := slices.DeleteFunc(w.in(progress.Running), func(i int) bool {
			return slices.ContainsFunc(events, func(e progress.Event) bool { return e.Result.Node == i })
		})
		if len(nodes) > 0 {
			events = append(events, w.outcome(rapid.SampledFrom(nodes).Draw(w.T, "finished")))
		}
	}
	if len(events) == 0 {
		w.takeOne()
		return
	}
	if dead := w.in(progress.Pending, progress.Succeeded, progress.Failed, progress.Canceled); len(dead) > 0 && rapid.IntRange(0, 4).Draw(w.T, "stale") == 0 {
		events = append(events, w.outcome(rapid.SampledFrom(dead).Draw(w.T, "stale result")))
	}
	if w.trouble > 0 && w.cancels < 2 && rapid.IntRange(0, 19).Draw(w.T, "cancel too") == 0 {
		w.cancels++
		events = append(events, progress.Event{Cancel: &progress.Cancel{}})
	}
	w.advance(rapid.Permutation(events).Draw(w.T, "order")...)
}

// takeOne makes the first live node run, so that something can end.
func (w *walk) takeOne() {
	i := w.in(progress.Queued, progress.Retrying, progress.Waiting)[0]
	if w.snap.Nodes[i].State != progress.Queued {
		w.move(i, progress.Queued)
	}
	w.move(i, progress.Running)
}

// outcome draws how an attempt ended.
func (w *walk) outcome(i int) progress.Event {
	classes := []progress.Class{"", "", "", "skipped", progress.Permanent, progress.System, progress.System, progress.Timeout, progress.Lost}
	if w.trouble > 0 {
		classes = append(classes, progress.HandedBack)
	}
	res := progress.Result{Shard: progress.Whole, Node: i}
	switch class := rapid.SampledFrom(classes).Draw(w.T, "class"); class {
	case "":
	case "skipped":
		res.Skipped = true
	default:
		res.Err = &progress.Error{Class: class, Code: rapid.SampledFrom([]string{"busy", "full", "odd"}).Draw(w.T, "code"),
			RetryAfter: rapid.SampledFrom([]time.Duration{0, 0, time.Minute}).Draw(w.T, "retry after")}
	}
	return progress.Event{Result: &res}
}

// advance asks both what follows, and checks the steps and the invariants.
func (w *walk) advance(events ...progress.Event) {
	before, twin := cloned(w.snap), cloned(w.snap)
	steps := progress.Advance(w.graph, &w.snap, events)
	require.Equal(w, steps, progress.Advance(w.graph, &twin, events), "Advance is deterministic")
	w.ref.apply(events)
	require.Equal(w, w.ref.Snapshot, unreasoned(w.snap), "the reference says what, the steps say why")
	w.replay(before, steps, events)
	w.invariants(before)
	if w.snap.Run.State == progress.Running {
		require.Empty(w, progress.Advance(w.graph, &w.snap, nil), "nothing is left to decide")
	}
}

// unreasoned is a snapshot without why its nodes ended.
func unreasoned(s progress.Snapshot) progress.Snapshot {
	s = cloned(s)
	for i := range s.Nodes {
		s.Nodes[i].Reason = ""
	}
	return s
}

func cloned(s progress.Snapshot) progress.Snapshot {
	s.Nodes = slices.Clone(s.Nodes)
	return s
}

// late tries to change a run that has ended.
func (w *walk) late() {
	for i := range w.nodes {
		w.advance(w.outcome(i))
	}
	w.advance(progress.Event{Deadline: true})
	w.advance(progress.Event{Cancel: &progress.Cancel{}})
}

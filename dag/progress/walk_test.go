package progress_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/reference"
)

var anyPolicy = reference.Policies([]dag.OnFailure{dag.AbortChain, dag.AbortChain, dag.SkipNode, dag.AbortRun}, []time.Duration{0, time.Second})

var random = dag.Definition{Meta: dag.Meta{Workflow: "random"}}

func TestAdvanceAgreesWithTheReference(t *testing.T) {
	options := reference.Options{Definition: random, MaxNodes: 9, Rules: reference.AllRules, Policies: anyPolicy}
	rapid.Check(t, func(t *rapid.T) {
		newWalk(t, reference.Draw(t, options)).walk()
	})
}

// TestAdvanceAgreesWithTheReferenceOnAnything has conditions, branches, shards and people who rerun and mark.
func TestAdvanceAgreesWithTheReferenceOnAnything(t *testing.T) {
	options := reference.Options{Definition: random, MaxNodes: 8, Rules: reference.AllRules, Policies: anyPolicy, Rich: true, Answers: 3, FailFast: true}
	rapid.Check(t, func(t *rapid.T) {
		w := newWalk(t, reference.Draw(t, options))
		w.hands, w.reopenings = 3, 3
		w.walk()
	})
}

// walk takes a run through random happenings, by Advance and by the reference.
type walk struct {
	*rapid.T
	reference.Shape
	snap *progress.Snapshot
	ref  *reference.Twin
	// trouble is how many more things may happen to the run that would not let it end.
	trouble int
	cancels int
	// hands is how often people may still change a run that goes on, reopenings how often one that has ended.
	hands, reopenings int
	// started are the attempts that were ever started.
	started map[attempt]bool
}

type attempt struct {
	reference.Spot
	generation, number int
}

func newWalk(t *rapid.T, s reference.Shape) *walk {
	fresh := progress.Fresh(s.Graph, time.Time{}, 7)
	fresh.Run.Limited = rapid.Bool().Draw(t, "limited")
	return &walk{T: t, Shape: s, snap: fork(s, &fresh), ref: reference.NewTwin(s, &fresh), trouble: 40, started: map[attempt]bool{}}
}

func (w *walk) walk() {
	w.begin()
	for w.goesOn() {
		w.step()
	}
	w.late()
}

// begin starts the run: at once, or from the queue of its workflow.
func (w *walk) begin() {
	if rapid.IntRange(0, 4).Draw(w.T, "queued") > 0 {
		w.advance()
		return
	}
	w.setRun(progress.Queued)
	if rapid.IntRange(0, 2).Draw(w.T, "its end before its turn") > 0 {
		return
	}
	want := rapid.SampledFrom([]progress.Event{{Cancel: &progress.Cancel{}}, {Displaced: true}}).Draw(w.T, "end")
	w.advance(want)
	require.True(w, w.snap.Run.State == progress.Canceled || want.Displaced && w.snap.Run.State == progress.Skipped)
	require.Empty(w, w.started, "what has not begun costs nothing to stop")
}

func (w *walk) setRun(s progress.State) { w.snap.Run.State, w.ref.Run.State = s, s }

// goesOn reports whether more may happen; somebody may have reopened the run for that.
func (w *walk) goesOn() bool {
	if w.snap.Run.State.Terminal() && w.reopenings > 0 && rapid.Bool().Draw(w.T, "reopen") {
		w.reopenings--
		w.advance(w.byHand())
	}
	return !w.snap.Run.State.Terminal()
}

// step lets one thing happen.
func (w *walk) step() {
	w.trouble--
	kind := rapid.IntRange(0, 19).Draw(w.T, "what happens")
	switch {
	case kind == 0 && w.cancels < 2 && w.trouble > 0:
		w.cancels++
		w.advance(progress.Event{Cancel: &progress.Cancel{}})
	case kind == 1 && w.trouble > 0:
		w.advance(progress.Event{Deadline: true})
	case kind == 2 && w.hands > 0:
		w.hands--
		w.advance(w.byHand())
	case w.snap.Run.State == progress.Queued:
		w.setRun(progress.Running)
		w.advance()
	case kind < 8:
		w.carry()
	default:
		w.finish()
	}
}

// byHand draws what a person does to the run.
func (w *walk) byHand() progress.Event {
	nodes := rapid.IntRange(0, len(w.Nodes)-1)
	if rapid.IntRange(0, 2).Draw(w.T, "mark") == 0 {
		return progress.Event{Mark: &progress.Mark{Node: nodes.Draw(w.T, "marked"),
			State: rapid.SampledFrom([]progress.State{progress.Succeeded, progress.Failed, progress.Skipped}).Draw(w.T, "as")}}
	}
	scopes := []progress.Scope{progress.ScopeNode, progress.ScopeDownstream, progress.ScopeFailed, progress.ScopeAll, progress.ScopeFailedShards}
	return progress.Event{Rerun: &progress.Rerun{Scope: rapid.SampledFrom(scopes).Draw(w.T, "scope"),
		Nodes: rapid.SliceOfNDistinct(nodes, 0, 3, rapid.ID).Draw(w.T, "rerun")}}
}

// carry moves a live node as others do: a worker takes it, its delay is over, or its worker is missing.
func (w *walk) carry() {
	live := w.in(progress.Queued, progress.Retrying, progress.Waiting)
	if len(live) == 0 {
		w.finish()
		return
	}
	at := rapid.SampledFrom(live).Draw(w.T, "carried")
	from, to := reference.At(w.snap, at).State, progress.Queued
	if from == progress.Queued {
		to = progress.Running
	}
	if w.trouble > 0 && from != progress.Waiting && rapid.IntRange(0, 5).Draw(w.T, "no worker") == 0 {
		to = progress.Waiting
	}
	w.move(at, to)
}

func (w *walk) move(at reference.Spot, to progress.State) {
	w.permitted(reference.At(w.snap, at).State, to)
	reference.At(w.snap, at).State, reference.At(&w.ref.Snapshot, at).State = to, to
}

// in are the nodes and shards in one of some states; a split node itself is in none.
func (w *walk) in(states ...progress.State) []reference.Spot {
	return slices.DeleteFunc(reference.Spots(w.snap), func(at reference.Spot) bool {
		n := reference.At(w.snap, at)
		return n.Shards != nil || !slices.Contains(states, n.State)
	})
}

// finish ends up to three running attempts at once, maybe in one batch with a cancel, with what a person does, or with the result of an
// attempt that is not current any more.
func (w *walk) finish() {
	var events []progress.Event
	for range rapid.IntRange(1, 3).Draw(w.T, "batch") {
		running := slices.DeleteFunc(w.in(progress.Running), func(at reference.Spot) bool {
			return slices.ContainsFunc(events, func(e progress.Event) bool { return at == reference.Spot{Node: e.Result.Node, Shard: e.Result.Shard} })
		})
		if len(running) > 0 {
			events = append(events, w.outcome(rapid.SampledFrom(running).Draw(w.T, "finished")))
		}
	}
	if len(events) == 0 {
		w.takeOne()
		return
	}
	dead := slices.DeleteFunc(reference.Spots(w.snap), func(at reference.Spot) bool {
		n := reference.At(w.snap, at)
		return n.State == progress.Running && n.Shards == nil
	})
	if len(dead) > 0 && rapid.IntRange(0, 4).Draw(w.T, "stale") == 0 {
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
	at := w.in(progress.Queued, progress.Retrying, progress.Waiting)[0]
	if reference.At(w.snap, at).State != progress.Queued {
		w.move(at, progress.Queued)
	}
	w.move(at, progress.Running)
}

// outcome draws how an attempt ended.
func (w *walk) outcome(at reference.Spot) progress.Event {
	classes := []progress.Class{"", "", "", "skipped", progress.Permanent, progress.System, progress.System, progress.Timeout, progress.Lost}
	if w.trouble > 0 {
		classes = append(classes, progress.HandedBack)
	}
	res := progress.Result{Node: at.Node, Shard: at.Shard}
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
	before, twin := fork(w.Shape, w.snap), fork(w.Shape, w.snap)
	steps := progress.Advance(w.Graph, w.snap, events)
	require.Equal(w, steps, progress.Advance(w.Graph, twin, events), "Advance is deterministic")
	w.ref.Apply(events)
	require.Equal(w, w.ref.Snapshot, reference.Plain(w.snap), "the reference says what, the steps say why")
	w.replay(before, steps, events)
	w.invariants(before)
	if w.snap.Run.State == progress.Running {
		require.Empty(w, progress.Advance(w.Graph, w.snap, nil), "nothing is left to decide")
	}
}

// late tries to change a run that has ended.
func (w *walk) late() {
	for _, at := range reference.Spots(w.snap) {
		w.advance(w.outcome(at))
	}
	w.advance(progress.Event{Deadline: true})
	w.advance(progress.Event{Cancel: &progress.Cancel{}})
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// Act is something a person does to a run (S29, S30, S33): exactly one of Rerun, Mark, Hold and Release is set.
type Act struct {
	Actor, Note string
	Rerun       *Rerun
	Mark        *Mark
	Hold        bool
	Release     bool
	// Expect is the fingerprint that a preview gave: the act is refused with ErrChanged if the run is not what it was then.
	// "" takes the run as it is.
	Expect string
}

// Rerun runs nodes of a run again, in the same run.
type Rerun struct {
	Scope progress.Scope
	Nodes []string
}

// Mark gives a node a state by hand.
type Mark struct {
	Node  string
	State progress.State
}

// Preview is what an act would do.
type Preview struct {
	Fingerprint string
	// Nodes are those that would be reset, in topological order; in a replay, those that would run.
	Nodes []PreviewNode
	// Copied is how many nodes a replay would take over.
	Copied int
	State  progress.State
}

// PreviewNode is a node that an act resets, and what it is now.
type PreviewNode struct {
	Name  string
	State progress.State
}

// ErrChanged says that a run is not any more what the preview of an act showed; nothing was done.
var ErrChanged = errors.New("the run has changed since the preview")

// ErrPointless says that an act would change nothing.
var ErrPointless = errors.New("there is nothing to do")

// UnknownNodeError names a node that a run's version does not have.
type UnknownNodeError struct{ Node string }

// Error says it.
func (e *UnknownNodeError) Error() string {
	return fmt.Sprintf("the run's version has no node %q", e.Node)
}

// Do carries an act out, all of it or nothing, and returns when it is durable. A running node that it touches is fenced
// first. ErrChanged, ErrPointless, *UnknownNodeError and store.ErrNotFound say why it was refused.
func (e *Engine) Do(ctx context.Context, run store.RunID, act Act) error {
	// The wish is committed first, so that those who share the run's row drain and let this through.
	err := e.store.InTx(ctx, func(tx pgx.Tx) error {
		return e.store.AddIntent(ctx, tx, store.Intent{Run: run, Kind: store.IntentAct, Actor: act.Actor})
	})
	if err != nil {
		return err
	}
	f := &finished{wake: true, act: &act, refused: fmt.Errorf("run %s: %w", run, store.ErrNotFound), claim: store.Claim{Attempt: store.Attempt{Run: run}}}
	return e.completer.finish(ctx, f).err
}

// Preview says what an act would do, without doing it.
func (e *Engine) Preview(ctx context.Context, run store.RunID, act Act) (Preview, error) {
	var out Preview
	err := e.store.InTx(ctx, func(tx pgx.Tx) error {
		r, err := e.examine(ctx, tx, run)
		if err != nil {
			return err
		}
		out, err = r.preview(&act)
		return err
	})
	return out, err
}

// examine locks a run and reads all there is of it; nothing is changed.
func (e *Engine) examine(ctx context.Context, tx pgx.Tx, run store.RunID) (*moving, error) {
	m := &movement{engine: e}
	locked, err := e.store.LockRuns(ctx, tx, []store.RunID{run}, nil)
	if err != nil {
		return nil, err
	}
	if err := m.recall(ctx, tx, &locked); err != nil {
		return nil, err
	}
	if len(m.runs) == 0 {
		return nil, fmt.Errorf("run %s: %w", run, store.ErrNotFound)
	}
	return m.runs[0], nil
}

func (r *moving) preview(act *Act) (Preview, error) {
	out := Preview{Fingerprint: r.fingerprint(), State: r.snap.Run.State}
	event, err := r.event(act)
	if err != nil {
		return out, err
	}
	wanted := event.Rerun
	if event.Mark != nil {
		wanted = &progress.Rerun{Scope: progress.ScopeNode, Nodes: []int{event.Mark.Node}}
	}
	if wanted == nil {
		return out, nil
	}
	for _, i := range progress.Affected(r.plan.graph, &r.snap, wanted) {
		out.Nodes = append(out.Nodes, PreviewNode{Name: r.plan.graph.At(i).Name, State: r.snap.Nodes[i].State})
	}
	return out, nil
}

// fingerprint changes whenever anything about the run does.
func (r *moving) fingerprint() string {
	h := fnv.New64a()
	note := func(n *progress.Node) { fmt.Fprintf(h, "%s %d %d;", n.State, n.Generation, n.Attempt) }
	fmt.Fprintf(h, "%s %d %t %t %t;", r.row.State, r.row.Generation, r.row.Canceling, r.row.TimedOut, r.row.Held)
	for i := range r.snap.Nodes {
		note(&r.snap.Nodes[i])
		for s := range r.snap.Nodes[i].Shards {
			note(&r.snap.Nodes[i].Shards[s])
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// confirm turns the acts that may be carried out into events, and refuses the others.
func (r *moving) confirm() {
	kept := r.acts[:0]
	for _, f := range r.acts {
		if f.refused = r.allow(f.act); f.refused == nil {
			kept = append(kept, f)
		}
	}
	r.acts = kept
}

func (r *moving) allow(act *Act) error {
	if act.Expect != "" && act.Expect != r.fingerprint() {
		return ErrChanged
	}
	event, err := r.event(act)
	if err != nil {
		return err
	}
	switch {
	case act.Hold || act.Release:
		if r.row.State.Terminal() || r.held == act.Hold {
			return ErrPointless
		}
		r.held = act.Hold
		r.shifts = true
	case event.Rerun != nil && len(progress.Affected(r.plan.graph, &r.snap, event.Rerun)) == 0:
		return ErrPointless
	default:
		r.events = append(r.events, event)
	}
	return nil
}

// event is what an act means to the rules.
func (r *moving) event(act *Act) (progress.Event, error) {
	var names []string
	switch {
	case act.Rerun != nil:
		names = act.Rerun.Nodes
	case act.Mark != nil:
		names = []string{act.Mark.Node}
	}
	var nodes []int
	for _, name := range names {
		i, ok := r.plan.graph.Index(name)
		if !ok {
			return progress.Event{}, &UnknownNodeError{Node: name}
		}
		nodes = append(nodes, i)
	}
	switch {
	case act.Rerun != nil:
		return progress.Event{Rerun: &progress.Rerun{Scope: act.Rerun.Scope, Nodes: nodes}}, nil
	case act.Mark != nil:
		return progress.Event{Mark: &progress.Mark{Node: nodes[0], State: act.Mark.State, Note: act.Note}}, nil
	}
	return progress.Event{}, nil
}

// reopens reports whether something asks an ended run to go on.
func (r *moving) reopens() bool {
	for _, e := range r.events {
		if e.Rerun != nil || e.Mark != nil {
			return true
		}
	}
	return false
}

// shift holds back what is queued of a run that is held now, or makes due again what was held back until its release.
func (m *movement) shift(r *moving) {
	for at, l := range r.live {
		n := r.facts(at)
		if n.State.Terminal() || n.Attempt != l.Attempt.Number || !shifts(l, r.held) {
			continue
		}
		m.changes.Drops = append(m.changes.Drops, l.Attempt)
		m.begin(r, &progress.Start{Node: at.node, Shard: at.shard, Generation: l.Attempt.Generation, Attempt: l.Attempt.Number})
	}
}

// shifts reports whether a live row is affected when its run is held, or released.
func shifts(l *store.Live, held bool) bool {
	switch l.Kind {
	case store.ModeHold:
		return !held
	case store.ModePool, store.ModeWorker, store.ModeQueue:
		return held
	}
	return held && l.State == progress.Queued
}

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// Act is something a person does to a run (S29, S30, S33): exactly one of Rerun, Mark, Hold, Release and Cancel is set.
type Act struct {
	Actor, Note string
	Rerun       *Rerun
	Mark        *Mark
	Hold        bool
	Release     bool
	Cancel      bool
	// Expect is the fingerprint that a preview gave: the act is refused with ErrChanged if the run is not what it was then.
	// "" takes the run as it is.
	Expect string
}

// Rerun runs nodes of a run again, in the same run.
type Rerun struct {
	Scope progress.Scope
	Nodes []string
	// Letters are dead letters of the nodes that are to be answered by it: where one is not open any more, it is refused with an
	// *AnsweredError.
	Letters []store.Attempt
}

// Mark gives a node a state by hand.
type Mark struct {
	Node  string
	State progress.State
}

// ErrChanged says that a run is not any more what the preview of an act showed; nothing was done.
var ErrChanged = errors.New("the run has changed since the preview")

// ErrPointless says that an act would change nothing.
var ErrPointless = errors.New("there is nothing to do")

// ErrStopping says that a run is being canceled, or has timed out and is about to end: only then can its nodes be changed. It is not held
// any more either.
var ErrStopping = errors.New("the run is being stopped; try again when it has ended")

// UnknownNodeError names a node that a run's version does not have.
type UnknownNodeError struct{ Node string }

// Error says it.
func (e *UnknownNodeError) Error() string {
	return fmt.Sprintf("the run's version has no node %q", e.Node)
}

// Do carries an act out, all of it or nothing, and returns when it is durable. A running node that it touches is fenced
// first. ErrChanged, ErrPointless, ErrStopping, *UnknownNodeError, *AnsweredError and store.ErrNotFound say why it was refused.
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
	if act.Expect != "" && (act.Expect != r.fingerprint() || len(r.events) > 0) {
		return ErrChanged
	}
	event, err := r.check(act)
	switch {
	case err != nil:
		return err
	case act.Hold || act.Release:
		r.held = act.Hold
		r.shifts = true
	default:
		r.cancel = cmp.Or(event.Cancel, r.cancel)
		r.events = append(r.events, event)
	}
	return nil
}

// check says what an act means to the rules, or why it cannot be.
func (r *moving) check(act *Act) (progress.Event, error) {
	event, err := r.event(act)
	switch over := r.snap.Run.State.Terminal(); {
	case err != nil:
		return event, err
	case event.Rerun == nil && event.Mark == nil:
		if over || !act.Cancel && r.held == act.Hold {
			return event, ErrPointless
		}
		if act.Hold && !r.snap.Run.Changeable() {
			return event, ErrStopping
		}
	case !r.snap.Run.Changeable():
		return event, ErrStopping
	case act.Rerun != nil && r.answerable(act.Rerun) != nil:
		return event, r.answerable(act.Rerun)
	case event.Rerun != nil && len(progress.Affected(r.plan.graph, &r.snap, event.Rerun)) == 0:
		return event, ErrPointless
	case event.Mark != nil && r.snap.Nodes[event.Mark.Node].Reason == progress.ReasonTest:
		return event, ErrPointless
	}
	return event, nil
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
	case act.Mark != nil && !markable(act.Mark.State):
		return progress.Event{}, fmt.Errorf("a node is marked succeeded, failed or skipped, not %q", act.Mark.State)
	case act.Mark != nil:
		return progress.Event{Mark: &progress.Mark{Node: nodes[0], State: act.Mark.State, Note: act.Note}}, nil
	}
	if act.Cancel {
		return progress.Event{Cancel: &progress.Cancel{Actor: act.Actor, Reason: act.Note}}, nil
	}
	return progress.Event{}, nil
}

func markable(s progress.State) bool {
	return s == progress.Succeeded || s == progress.Failed || s == progress.Skipped
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

// unhold ends the hold of a run that is being stopped: its finally nodes run, and its clock goes on (S16, S33).
func (r *moving) unhold() {
	if r.held && !r.snap.Run.State.Terminal() && !r.snap.Run.Changeable() {
		r.held, r.shifts = false, true
	}
}

// shift holds back what is queued of a run that is held now, or makes due again what was held back until its release; how long it was held
// stays with it.
func (m *movement) shift(r *moving) {
	for at, l := range r.live {
		n, held := r.facts(at), l.Kind == store.ModeHold
		current := !n.State.Terminal() && n.Generation == l.Attempt.Generation && n.Attempt == l.Attempt.Number
		if !current || r.held == held || r.held && l.State != progress.Queued {
			continue
		}
		m.changes.Drops = append(m.changes.Drops, l.Attempt)
		m.begin(r, &progress.Start{Node: at.node, Shard: at.shard, Generation: l.Attempt.Generation, Attempt: l.Attempt.Number})
		if l.Holds != nil {
			m.changes.Begins[len(m.changes.Begins)-1].Detail = slices.Concat([]byte(`{"holds":`), l.Holds, []byte("}"))
		}
	}
}

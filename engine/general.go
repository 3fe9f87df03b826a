package engine

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// moveGeneral moves things of any runs in one transaction: it locks the runs, lets progress.Advance decide, and
// writes its steps. Every thing is answered when it returns nil; none is otherwise.
func (e *Engine) moveGeneral(ctx context.Context, batch []*finished) error {
	m := &movement{engine: e, batch: batch, changes: store.Changes{Grace: e.timings.Grace}}
	err := e.store.InTx(ctx, func(tx pgx.Tx) error { return m.run(ctx, tx) })
	if err != nil {
		return err
	}
	e.completer.refuse(ctx, m.stale)
	for _, r := range m.runs {
		e.facts.leave(r.row.ID)
	}
	for _, f := range m.moved {
		f.reply = reply{err: f.refused}
	}
	m.observe()
	return nil
}

// movement carries one general transaction.
type movement struct {
	engine *Engine
	batch  []*finished

	changes      store.Changes
	moved, stale []*finished
	runs         []*moving
	byID         map[store.RunID]*moving
	// freed are limited workflows of which a run ended.
	freed []int64
	// children are the workflow nodes whose runs are to be launched.
	children []child
	// probes are the oddities of runs that are looked at for what must not be; discards are live rows that belong to nothing.
	probes   map[store.RunID]*probe
	discards []store.Taken
}

func (m *movement) run(ctx context.Context, tx pgx.Tx) error {
	var runs []store.RunID
	for _, f := range m.batch {
		runs = append(runs, f.claim.Attempt.Run)
	}
	slices.Sort(runs)
	locked, err := m.engine.store.LockRuns(ctx, tx, slices.Compact(runs), claimsOf(m.batch))
	if err != nil {
		return err
	}
	m.engine.at(atHalf)
	if err := m.investigate(ctx, tx); err != nil {
		return err
	}
	if err := m.recall(ctx, tx, &locked); err != nil {
		return err
	}
	if err := m.readLetters(ctx, tx); err != nil {
		return err
	}
	for _, r := range m.runs {
		if err := m.advance(r); err != nil {
			return err
		}
	}
	if len(m.discards) > 0 {
		if err := m.engine.store.Discard(ctx, tx, m.discards); err != nil {
			return err
		}
	}
	if err := m.engine.store.Apply(ctx, tx, m.changes); err != nil {
		return err
	}
	if err := m.launchChildren(ctx, tx); err != nil {
		return err
	}
	if err := m.engine.startQueued(ctx, tx, m.freed); err != nil {
		return err
	}
	m.engine.at(atApplied)
	return nil
}

// advance asks for a run's steps and gathers what they write.
func (m *movement) advance(r *moving) error {
	r.confirm()
	if !r.touched && r.wishes == 0 && len(r.events) == 0 {
		return nil
	}
	if r.probe != nil {
		if mended, err := m.mend(r); err != nil || !mended && r.wishes == 0 {
			return err
		}
	}
	if r.row.State.Terminal() && !r.reopens() {
		return nil
	}
	if r.row.State == progress.Queued {
		// Whoever ended a run meanwhile has passed over this one, because it was locked or wanted.
		m.freed = append(m.freed, r.row.Workflow)
		if len(r.events) == 0 {
			if r.shifts {
				m.write(r, nil)
			}
			return nil
		}
	}
	steps := progress.Advance(r.plan.graph, &r.snap, r.events)
	if r.decides && len(r.events) > 0 {
		steps = append(steps, progress.Advance(r.plan.graph, &r.snap, nil)...)
	}
	if r.eval.err != nil {
		return r.eval.err
	}
	r.unhold()
	m.write(r, steps)
	if r.shifts {
		m.shift(r)
	}
	return nil
}

func (m *movement) observe() {
	for _, r := range m.runs {
		for _, got := range r.results {
			m.engine.metrics.NodeRunEnded(resultState(got.f), got.f.took)
		}
		if r.ended != "" {
			m.engine.metrics.RunEnded(r.ended)
		}
	}
}

func resultState(f *finished) progress.State {
	switch {
	case f.outcome.Err != nil:
		return progress.Failed
	case f.outcome.Skipped:
		return progress.Skipped
	}
	return progress.Succeeded
}

package engine

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// press makes the queues of some keys as long as their room, after runs were added to them: older queued runs are displaced, and under
// cancel_running as many running ones are asked to end as wait for a place (S22). The workflows are locked.
func (l *launch) press(ctx context.Context, tx pgx.Tx, g *gate) error {
	var displaced []store.RunID
	for _, at := range g.pressed {
		limit, load := g.limits[at.workflow], g.loads[at]
		// Of this launch's own runs the older ones never come to be.
		for surplus := len(load.waiting) - room(limit); surplus > 0; surplus-- {
			load.waiting[0].run.State = progress.Skipped
			load.waiting = load.waiting[1:]
			load.Queued--
		}
		gone, err := l.engine.store.Displaced(ctx, tx, at.workflow, at.key, room(limit)-len(load.waiting))
		if err != nil {
			return err
		}
		displaced = append(displaced, gone...)
		if limit.Overflow != dag.OverflowCancelRunning {
			continue
		}
		if err := l.engine.store.MakeRoom(ctx, tx, at.workflow, at.key, load.Queued-len(gone)); err != nil {
			return err
		}
	}
	return l.engine.displace(ctx, tx, displaced)
}

// displace ends queued runs that newer ones take the place of: skipped, with every node of theirs (I7).
func (e *Engine) displace(ctx context.Context, tx pgx.Tx, runs []store.RunID) error {
	if len(runs) == 0 {
		return nil
	}
	locked, err := e.store.LockRuns(ctx, tx, runs, nil)
	if err != nil {
		return err
	}
	m := &movement{engine: e}
	if err := m.recall(ctx, tx, &locked); err != nil {
		return err
	}
	for _, r := range m.runs {
		r.events = append(r.events, progress.Event{Displaced: true})
		if err := m.advance(r); err != nil {
			return err
		}
	}
	return e.store.Apply(ctx, tx, m.changes)
}

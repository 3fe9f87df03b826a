package planner

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// Resuming says how a paused workflow goes on.
type Resuming struct {
	Workflow int64
	Actor    string
	// Catchup makes up what was skipped in the pause: of each schedule the newest instant, or all up to its limit. Empty and none make up
	// nothing (S10). A fixed delay has nothing to make up.
	Catchup dag.Catchup
	// Launcher makes the runs; it is needed for a Catchup only.
	Launcher Launcher
}

// Resumed is what resuming came to.
type Resumed struct {
	// Changed is false when the workflow was not paused; then nothing was done.
	Changed bool
	// Filled are the ledger's rows of the runs that were made up.
	Filled []store.Fire
}

type resuming struct {
	Resuming
	store     *store.Store
	calendars []store.Calendar
}

// Resume lets a paused workflow start by itself again, from now on: what came while it was paused and nobody planned is recorded as
// skipped. Delayed runs whose time has come start now (S33).
func Resume(ctx context.Context, s *store.Store, r Resuming) (Resumed, error) {
	var out Resumed
	err := s.InTx(ctx, func(tx pgx.Tx) (err error) {
		out, err = (&resuming{Resuming: r, store: s}).run(ctx, tx)
		return err
	})
	if err != nil {
		return Resumed{}, fmt.Errorf("resume workflow %d: %w", r.Workflow, err)
	}
	return out, nil
}

func (r *resuming) makesUp() bool { return r.Catchup != "" && r.Catchup != dag.CatchupNone }

func (r *resuming) run(ctx context.Context, tx pgx.Tx) (Resumed, error) {
	if r.makesUp() {
		if err := r.store.LockFills(ctx, tx, r.Workflow); err != nil {
			return Resumed{}, err
		}
	}
	scheds, now, err := r.store.LockSchedules(ctx, tx, r.Workflow)
	if err != nil {
		return Resumed{}, err
	}
	was, changed, err := r.store.ClearPaused(ctx, tx, r.Workflow)
	if err != nil || !changed {
		return Resumed{}, err
	}
	if err := r.store.UnparkDelayed(ctx, tx, r.Workflow); err != nil {
		return Resumed{}, err
	}
	if r.calendars, err = r.store.AllCalendars(ctx, tx, was.Namespace); err != nil {
		return Resumed{}, err
	}
	var fires []store.Fire
	var advances []store.Advance
	for _, sched := range scheds {
		row := rowOf{Schedule: sched, workflow: r.Workflow, calendars: r.calendars}
		owed, next := settle(row, now, store.SkipPaused)
		if err := tellUnfired(ctx, r.store, tx, row, owed); err != nil {
			return Resumed{}, err
		}
		fires = append(fires, owed...)
		advances = append(advances, store.Advance{Schedule: sched.ID, Next: next})
	}
	out := Resumed{Changed: true}
	if err := r.store.WriteFires(ctx, tx, fires, advances); err != nil || !r.makesUp() {
		return out, err
	}
	for _, sched := range scheds {
		if sched.RemovedAt != nil {
			continue
		}
		rows, err := r.fill(ctx, tx, sched, was)
		if err != nil {
			return Resumed{}, err
		}
		out.Filled = append(out.Filled, rows...)
	}
	return out, r.store.WriteFires(ctx, tx, out.Filled, nil)
}

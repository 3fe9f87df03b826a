package planner

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

// Repeater makes runs that repeat ended ones, in the planner's transaction: one Launched for each wish, in order. An error means that the
// transaction is spoilt.
type Repeater interface {
	Repeat(ctx context.Context, tx pgx.Tx, wishes []store.Repeat) ([]store.Launched, error)
}

// make makes the runs of some instants, and returns the instants' rows. What ended runs need is locked before what new ones do.
func (f *feed) make(ctx context.Context, chosen []weighed) ([]store.BackfillSlot, error) {
	var repeats, fresh []weighed
	for _, w := range chosen {
		if w.verdict == VerdictRun {
			fresh = append(fresh, w)
		} else {
			repeats = append(repeats, w)
		}
	}
	var rows []store.BackfillSlot
	for _, part := range []struct {
		of []weighed
		do func(context.Context, pgx.Tx, []weighed) ([]store.Launched, error)
	}{{repeats, f.repeat}, {fresh, f.launch}} {
		got, err := f.carryOut(ctx, part.of, part.do)
		if err != nil {
			return nil, err
		}
		rows = append(rows, got...)
	}
	return rows, f.watch(ctx, rows)
}

// carryOut makes runs together, or each apart so that one that spoils the transaction fails alone.
func (f *feed) carryOut(ctx context.Context, some []weighed, do func(context.Context, pgx.Tx, []weighed) ([]store.Launched, error)) ([]store.BackfillSlot, error) {
	if len(some) == 0 {
		return nil, nil
	}
	var launched []store.Launched
	if !f.apart {
		got, err := do(ctx, f.tx, some)
		if err != nil {
			return nil, err
		}
		launched = got
	}
	for i := range some {
		if !f.apart {
			break
		}
		var one []store.Launched
		err := f.store.InSavepoint(ctx, f.tx, func(tx pgx.Tx) (err error) {
			one, err = do(ctx, tx, some[i:i+1])
			return err
		})
		if err != nil {
			if store.Transient(err) {
				return nil, err
			}
			one = []store.Launched{{Err: err}}
		}
		launched = append(launched, one...)
	}
	return f.rows(some, launched)
}

// rows are the instants' rows, and the counts go by them.
func (f *feed) rows(some []weighed, launched []store.Launched) ([]store.BackfillSlot, error) {
	rows := make([]store.BackfillSlot, len(some))
	for i, l := range launched {
		if l.Err != nil && store.Transient(l.Err) {
			return nil, l.Err
		}
		row := store.BackfillSlot{Schedule: some[i].schedule, At: some[i].at, State: store.SlotActive, Run: l.Run, Round: f.b.Round}
		switch {
		case l.Err != nil:
			row.State, row.Run, row.Reason = store.SlotFailed, some[i].fact.Run, reason(l.Err)
			f.b.Counts.Failed++
		case l.Refused != "":
			row.State, row.Run = store.SlotWaiting, some[i].fact.Run
			f.b.Counts.Waiting++
			f.refused = true
		default:
			f.b.Counts.Active++
		}
		rows[i] = row
	}
	return rows, nil
}

// version is that of runs that are made now.
func (f *feed) version() int64 {
	if f.b.Version != 0 {
		return f.b.Version
	}
	return f.b.Newest
}

// launch makes the runs of instants that have none, and the ledger's rows of them.
func (f *feed) launch(ctx context.Context, tx pgx.Tx, some []weighed) ([]store.Launched, error) {
	triggers := make([]store.Trigger, len(some))
	last := make(map[int64]time.Time)
	for i, w := range some {
		t, err := w.trigger(f.version(), triggerBackfill, f.b.Actor)
		if err != nil {
			return nil, err
		}
		if t.Params, err = paramsOf(w.era.spec.Params, f.b.Params); err != nil {
			return nil, err
		}
		if before, ok := last[w.schedule]; ok && before.Before(w.at) && (t.PreviousScheduledAt == nil || t.PreviousScheduledAt.Before(before)) {
			t.PreviousScheduledAt = &before
		}
		last[w.schedule] = w.at
		t.Named, t.Yields, t.Priority = f.b.Version != 0, true, backfillPriority
		triggers[i] = t
	}
	launched, err := f.launcher.Launch(ctx, tx, triggers)
	if err != nil {
		return nil, err
	}
	rows, err := fills(triggers, launched)
	if err != nil {
		return nil, err
	}
	return launched, f.store.WriteFires(ctx, tx, rows, nil)
}

// repeat makes runs anew.
func (f *feed) repeat(ctx context.Context, tx pgx.Tx, some []weighed) ([]store.Launched, error) {
	wishes := make([]store.Repeat, len(some))
	for i, w := range some {
		wishes[i] = store.Repeat{
			Run: w.fact.Run, Version: f.version(), Whole: w.verdict == VerdictRepeat || string(f.b.Params) != "{}", Params: f.b.Params,
			Kind: triggerBackfill, Actor: f.b.Actor, Priority: backfillPriority,
		}
	}
	return f.repeater.Repeat(ctx, tx, wishes)
}

// watch lets the runs of a backfill that cascades count for the workflows that wait (S12).
func (f *feed) watch(ctx context.Context, rows []store.BackfillSlot) error {
	if !f.b.Cascade {
		return nil
	}
	watched, err := f.store.Watched(ctx, f.tx, f.b.Workflow)
	if err != nil || !watched {
		return err
	}
	var runs []store.RunID
	for _, r := range rows {
		if r.State == store.SlotActive {
			runs = append(runs, r.Run)
		}
	}
	return f.store.WatchRuns(ctx, f.tx, runs)
}

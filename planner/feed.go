package planner

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

// Feeding backfills (S32).
//
// The problem. A backfill is about up to 200,000 instants, may have a few active runs at once, goes on for days, and must make one run for each
// instant whatever process dies when, without being in the way of what its schedules start meanwhile.
//
// The shape. A planner claims a backfill's row, looks at what has become of its active runs, and fills the places that are free: first with
// instants that waited for a place, then with those that are to be tried again, then with the next ones of its walk. Runs, the ledger's rows,
// the instants' rows, the counts and how far the walk is are one commit. So:
//
//  1. Nothing is made twice: whoever holds the row sees how far the walk is, and the key of an instant's row is the last line of defence.
//  2. Nothing is lost: what was not committed is not passed either.
//  3. No instant meets the live schedule: a backfill ends before the first instant that the schedule had not decided when it was made.
//     Others who make up instants of the workflow (a resume, another backfill) take turns by a lock.
//  4. Its runs yield: they start only where nobody of the workflow waits, so that they never take a place in the queue, or that of a run.
//
// The end of a run writes a completion and wakes planners; a poll is beneath that.
type feed struct {
	*Planner
	tx   pgx.Tx
	b    store.Backfill
	walk *walk
	// apart makes each run in a savepoint of its own.
	apart bool
	// added, saved and dropped are instants' rows.
	added, saved, dropped []store.BackfillSlot
	// refused says that there was no place for something.
	refused bool
}

const (
	// triggerBackfill is the trigger of the runs.
	triggerBackfill = "backfill"
	// backfillPriority is theirs where the workflow's own is more urgent.
	backfillPriority = 3
	// maxFed is how many runs one transaction makes.
	maxFed = 50
)

// feedBackfills looks at backfills until there is nothing to do for any, and returns how long to sleep.
func (p *Planner) feedBackfills(ctx context.Context) (time.Duration, error) {
	found, err := p.feedBackfill(ctx)
	if err != nil || found {
		return 0, err
	}
	return maxSleep, nil
}

// feedBackfill looks at one backfill, if there is something to do for any. One that cannot go on is put off with its reason.
func (p *Planner) feedBackfill(ctx context.Context) (found bool, err error) {
	var id store.RunID
	for _, apart := range []bool{false, true} {
		err = p.store.InTx(ctx, func(tx pgx.Tx) error {
			b, ok, err := p.store.ClaimBackfill(ctx, tx)
			if found = ok; err != nil || !ok {
				return err
			}
			id = b.ID
			return (&feed{Planner: p, tx: tx, b: b, apart: apart}).run(ctx)
		})
		if err == nil || ctx.Err() != nil || store.Transient(err) {
			return found, err
		}
	}
	p.logger.Error("a backfill cannot go on", "backfill", id, "error", err)
	return found, p.store.TroubleBackfill(ctx, id, reason(err), pause)
}

func (f *feed) run(ctx context.Context) error {
	if err := f.store.LockFills(ctx, f.tx, f.b.Workflow); err != nil {
		return err
	}
	succeeded, failed, err := f.store.SettleSlots(ctx, f.tx, f.b.ID)
	if err != nil {
		return err
	}
	c := &f.b.Counts
	c.Active, c.Succeeded, c.Failed = c.Active-succeeded-failed, c.Succeeded+succeeded, c.Failed+failed
	again := time.Duration(-1)
	if f.b.State == store.BackfillRunning {
		if again, err = f.goOn(ctx); err != nil {
			return err
		}
	}
	return f.write(ctx, again)
}

// goOn fills the places that are free, ends the backfill when nothing is left, and says when to look again.
func (f *feed) goOn(ctx context.Context) (again time.Duration, err error) {
	if f.walk, err = newWalk(ctx, f.store, f.tx, &f.b); err != nil {
		return 0, err
	}
	for _, take := range []func(context.Context, int) error{f.takeWaiting, f.takeFailed, f.takeNext} {
		room := min(f.b.MaxRuns-f.b.Counts.Active, maxFed)
		if room <= 0 || f.refused {
			break
		}
		if err := take(ctx, room); err != nil {
			return 0, err
		}
	}
	switch {
	case f.refused:
		return maxSleep, nil
	case f.b.Counts.Active >= f.b.MaxRuns:
		return pause, nil
	}
	return f.end(ctx)
}

// end ends a backfill of which nothing is left.
func (f *feed) end(ctx context.Context) (again time.Duration, err error) {
	if len(f.walk.next(1)) > 0 || f.b.Counts.Waiting > 0 {
		return 0, nil
	}
	if f.b.Counts.Active > 0 {
		return pause, nil
	}
	if len(f.saved) == 0 { // else what failed again may be among what is listed
		left, err := f.store.FailedSlots(ctx, f.tx, &f.b, 1)
		if err != nil || len(left) > 0 {
			return 0, err
		}
		f.b.State = store.BackfillCompleted
		if f.b.Counts.Failed > 0 {
			f.b.State = store.BackfillWithFailures
		}
	}
	return 0, nil
}

func (f *feed) write(ctx context.Context, again time.Duration) error {
	if err := f.store.AddSlots(ctx, f.tx, f.b.ID, f.added); err != nil {
		return err
	}
	if err := f.store.SaveSlots(ctx, f.tx, f.b.ID, f.saved); err != nil {
		return err
	}
	if err := f.store.DropSlots(ctx, f.tx, f.b.ID, f.dropped); err != nil {
		return err
	}
	return f.store.SaveBackfill(ctx, f.tx, &f.b, again)
}

// takeNext takes up the next instants of the walk: as many as there is room for, past those of which nothing is to be made.
func (f *feed) takeNext(ctx context.Context, room int) error {
	slots := f.walk.next(walkStep)
	some, err := weighAll(ctx, f.store, f.tx, f.b.Reprocess, slots)
	if err != nil {
		return err
	}
	passed := 0
	var chosen []weighed
	for _, w := range some {
		if w.verdict != VerdictNone {
			if len(chosen) == room {
				break
			}
			chosen = append(chosen, w)
		}
		passed++
	}
	f.walk.pass(slots[:passed])
	f.b.Counts.Passed += passed - len(chosen)
	made, err := f.make(ctx, chosen)
	f.added = append(f.added, made...)
	return err
}

// takeWaiting takes up instants that waited for a place. Others may have made their runs meanwhile.
func (f *feed) takeWaiting(ctx context.Context, room int) error {
	rows, err := f.store.WaitingSlots(ctx, f.tx, &f.b, room)
	if err != nil {
		return err
	}
	some, err := f.weighRows(ctx, rows, f.b.Reprocess)
	if err != nil {
		return err
	}
	f.b.Counts.Waiting -= len(rows)
	var chosen []weighed
	for i, w := range some {
		if w.verdict != VerdictNone {
			chosen = append(chosen, w)
			continue
		}
		f.dropped = append(f.dropped, rows[i])
		f.b.Counts.Passed++
	}
	made, err := f.make(ctx, chosen)
	f.saved = append(f.saved, made...)
	return err
}

// takeFailed takes up instants that failed in an earlier round. One whose run was set right by hand meanwhile has succeeded.
func (f *feed) takeFailed(ctx context.Context, room int) error {
	rows, err := f.store.FailedSlots(ctx, f.tx, &f.b, room)
	if err != nil {
		return err
	}
	some, err := f.weighRows(ctx, rows, store.ReprocessFailed)
	if err != nil {
		return err
	}
	c := &f.b.Counts
	c.Failed -= len(rows)
	var chosen []weighed
	for i, w := range some {
		row := rows[i]
		row.Round, row.Run, row.Reason = f.b.Round, w.fact.Run, ""
		switch {
		case w.verdict != VerdictNone:
			chosen = append(chosen, w)
			continue
		case w.why == NoneHasRun:
			row.State = store.SlotSucceeded
			c.Succeeded++
		case w.why == NoneActive:
			row.State = store.SlotActive
			c.Active++
		default:
			row.Reason = w.why
			c.Failed++
		}
		f.saved = append(f.saved, row)
	}
	made, err := f.make(ctx, chosen)
	f.saved = append(f.saved, made...)
	return err
}

// weighRows weighs instants that were taken up before.
func (f *feed) weighRows(ctx context.Context, rows []store.BackfillSlot, reprocess string) ([]weighed, error) {
	slots := make([]slot, len(rows))
	for i, r := range rows {
		slots[i] = f.walk.at(r.Schedule, r.At)
	}
	return weighAll(ctx, f.store, f.tx, reprocess, slots)
}

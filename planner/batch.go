package planner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

const (
	// trigger and actor of what the planner starts.
	trigger = "schedule"
	actor   = "planner"
	// pause is when a schedule that cannot be planned is looked at again: another version of ax may know how.
	pause = time.Minute
	// longestReason is how much of an error the ledger keeps, in bytes.
	longestReason = 500
)

// item is a claimed schedule and its decision.
type item struct {
	schedule store.DueSchedule
	decision Decision
}

// batch is one transaction's work.
type batch struct {
	*Planner
	now    time.Time // the database's, when the transaction began
	began  time.Time // the same moment by this process's clock, to measure with
	items  []item
	more   bool
	ledger []store.Fire
	// starts are when the fires among the ledger's rows were to start; for most that is their instant.
	starts map[fireKey]time.Time
}

type fireKey struct {
	schedule int64
	at       time.Time
}

// claim takes what is due and decides it. Of too many runs for one transaction, schedules are left to the next.
func (p *Planner) claim(ctx context.Context, tx pgx.Tx) (*batch, error) {
	b := &batch{Planner: p, began: time.Now(), starts: make(map[fireKey]time.Time)}
	due, now, err := p.store.ClaimDue(ctx, tx, batchSize)
	if err != nil {
		return nil, err
	}
	b.now, b.more = now, len(due) == batchSize
	fires := 0
	for i := range due {
		d, err := Due(due[i], now)
		if err != nil {
			d = b.unreadable(due[i], err)
		}
		b.items = append(b.items, item{due[i], d})
		if d.Next != nil && !d.Next.After(now) {
			b.more = true
		}
		if fires += len(d.Fires); fires >= batchSize {
			b.more = true
			break
		}
	}
	return b, nil
}

// unreadable records that a schedule cannot be planned.
func (b *batch) unreadable(s store.DueSchedule, err error) Decision {
	b.logger.Error("schedule cannot be read", "schedule", s.ID, "error", err)
	at := s.NextFireAt
	if s.Decided != nil {
		at = latest(at, s.Decided.Add(tick))
	}
	return Decision{
		Ledger: []store.Fire{{Schedule: s.ID, At: at, Count: 1, Result: store.FailedFire, Reason: reason(err)}},
		Next:   new(b.now.Add(pause)),
	}
}

// fire creates the runs of some items, writes the ledger and moves the schedules on.
func (b *batch) fire(ctx context.Context, tx pgx.Tx, items []item) error {
	rows, err := b.launch(ctx, tx, items)
	if err != nil {
		return err
	}
	fired := make(map[int64]bool)
	for _, row := range rows {
		fired[row.Schedule] = fired[row.Schedule] || row.Result == store.Fired
	}
	var advances []store.Advance
	for i := range items {
		d := &items[i].decision
		rows = append(rows, d.Ledger...)
		if d.Wait > 0 && !fired[items[i].schedule.ID] {
			d.Next = new(b.now.Add(d.Wait))
		}
		advances = append(advances, store.Advance{Schedule: items[i].schedule.ID, Next: d.Next})
	}
	if err := b.store.WriteFires(ctx, tx, rows, advances); err != nil {
		return err
	}
	if err := b.store.AddCompletions(ctx, tx, unfiredOf(items, rows)); err != nil {
		return err
	}
	b.ledger = append(b.ledger, rows...)
	return nil
}

// launch creates the runs and returns what the ledger says of them.
func (b *batch) launch(ctx context.Context, tx pgx.Tx, items []item) ([]store.Fire, error) {
	var triggers []store.Trigger
	for i := range items {
		more, err := triggersOf(&items[i])
		if err != nil {
			return nil, err
		}
		triggers = append(triggers, more...)
		for _, f := range items[i].decision.Fires {
			if f.Due.After(f.At) {
				b.starts[fireKey{items[i].schedule.ID, f.At}] = f.Due
			}
		}
	}
	if len(triggers) == 0 {
		return nil, nil
	}
	launched, err := b.launcher.Launch(ctx, tx, triggers)
	if err != nil {
		return nil, err
	}
	rows := make([]store.Fire, len(triggers))
	for i, l := range launched {
		if l.Err != nil && store.Transient(l.Err) {
			return nil, l.Err
		}
		rows[i] = outcome(triggers[i], l)
	}
	return rows, nil
}

func triggersOf(it *item) ([]store.Trigger, error) {
	params, err := encodeParams(it.decision.Params)
	if err != nil {
		return nil, fmt.Errorf("encode params of schedule %d: %w", it.schedule.ID, err)
	}
	out := make([]store.Trigger, len(it.decision.Fires))
	for i, f := range it.decision.Fires {
		out[i] = store.Trigger{
			Version: it.schedule.Version, Kind: trigger, Actor: actor, Schedule: it.schedule.ID, ScheduledAt: f.At,
			PreviousScheduledAt: f.Previous, LogicalDate: f.LogicalDate, Params: params,
		}
	}
	return out, nil
}

// outcome is the ledger's row for a trigger.
func outcome(t store.Trigger, l store.Launched) store.Fire {
	row := store.Fire{Schedule: t.Schedule, At: t.ScheduledAt, Count: 1, Result: store.Fired, Run: l.Run}
	switch {
	case l.Err != nil:
		row.Result, row.Run, row.Reason = store.FailedFire, 0, reason(l.Err)
	case l.Refused != "":
		row.Result, row.Run, row.Reason = store.SkippedFire, 0, l.Refused
	}
	return row
}

// fireApart fires each item in a savepoint of its own, so that one that cannot be fired stops no other.
func (b *batch) fireApart(ctx context.Context, tx pgx.Tx) error {
	for _, it := range b.items {
		if err := b.fireAlone(ctx, tx, it); err != nil {
			return err
		}
	}
	return nil
}

// fireAlone fires an item; else records its runs as failed; else, when not even that can be written, moves it on.
func (b *batch) fireAlone(ctx context.Context, tx pgx.Tx, it item) error {
	attempt := func(it item) error {
		return b.store.InSavepoint(ctx, tx, func(tx pgx.Tx) error { return b.fire(ctx, tx, []item{it}) })
	}
	err := attempt(it)
	if err == nil || store.Transient(err) {
		return err
	}
	b.logger.Error("schedule cannot be fired", "schedule", it.schedule.ID, "error", err)
	if err = attempt(it.failing(err)); err == nil || store.Transient(err) {
		return err
	}
	b.logger.Error("schedule cannot be recorded as failed", "schedule", it.schedule.ID, "error", err)
	it.decision = Decision{Next: new(b.now.Add(pause))}
	return attempt(it)
}

// failing is the item with every run that it asked for recorded as failed.
func (it item) failing(err error) item {
	rows := append([]store.Fire(nil), it.decision.Ledger...)
	for _, f := range it.decision.Fires {
		rows = append(rows, store.Fire{Schedule: it.schedule.ID, At: f.At, Count: 1, Result: store.FailedFire, Reason: reason(err)})
	}
	it.decision.Ledger, it.decision.Fires = rows, nil
	return it
}

// reason is an error as the ledger keeps it: short, and text that PostgreSQL takes.
func reason(err error) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", ""), "�")
	if len(text) > longestReason {
		text = strings.ToValidUTF8(text[:longestReason], "") + "…"
	}
	return text
}

// tell tells of the ledger's rows after the commit.
func (b *batch) tell() {
	committed := b.now.Add(time.Since(b.began))
	for _, row := range b.ledger {
		o := Observed{Result: row.Result, Count: row.Count}
		if row.Result == store.Fired {
			start, ok := b.starts[fireKey{row.Schedule, row.At}]
			if !ok {
				start = row.At
			}
			o.Delay = committed.Sub(start)
		}
		b.observe(o)
	}
}

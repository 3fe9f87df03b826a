package planner

import (
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// maxFires bounds the runs that one decision asks for; the rest is decided next.
const maxFires = 500

// Fire is a run to be created (S11). At is in the schedule's zone.
type Fire struct {
	At time.Time
	// Due is when it was to start: At, or later by the schedule's jitter.
	Due time.Time
	// Previous is the schedule's last instant before that became a run; nil for the first.
	Previous    *time.Time
	LogicalDate string
}

// Decision says what becomes of every instant of a schedule that has come.
type Decision struct {
	// Ledger are the instants that become no run, in order.
	Ledger []store.Fire
	Fires  []Fire
	// Next is the instant to decide next, nil when the schedule is over. It has come already when there
	// were more than one decision may hold.
	Next *time.Time
	// Wait is how long after its last run a schedule of a fixed delay fires again: the end of a run that this decision makes sets
	// the schedule's next fire, and where it makes none, the next one is that long after the decision (S4).
	Wait time.Duration
	// Params are the values the schedule gives to its runs.
	Params map[string]any
}

// Due decides a claimed schedule's instants from NextFireAt to now, the database's clock, each exactly once (S9, S10).
// It takes bounded time, however long ago NextFireAt is. An error means that the stored spec cannot be read.
func Due(s store.DueSchedule, now time.Time) (Decision, error) {
	spec, err := decodeSpec(s.Spec)
	if err != nil {
		return Decision{}, err
	}
	line, err := Timetable{Spec: spec, Anchor: s.Anchor, Calendars: s.Calendars, Workflow: s.Workflow}.line()
	if err != nil {
		return Decision{}, err
	}
	line.pin(s.NextFireAt)
	d := decider{Decision: Decision{Params: spec.Params}, schedule: s.ID, times: line, previous: s.LastFired}
	after := line.instant(s.NextFireAt).Add(-tick)
	if s.Decided != nil {
		after = latest(after, *s.Decided)
	}
	until := line.come(now)
	switch {
	case s.Paused:
		d.skip(after, until, store.Fire{Result: store.SkippedFire, Reason: store.SkipPaused})
	case line.at != nil:
		d.fire(after, until)
	default:
		missed := earliest(now.Add(-time.Duration(spec.MisfireThreshold)-line.jitter), until)
		d.missed(after, missed, now.Add(-time.Duration(spec.CatchupWindow)-line.jitter), spec.Late)
		d.fire(latest(after, missed), until)
	}
	switch {
	case line.delay > 0:
		d.wait(now)
	case d.Next == nil:
		d.setNext(latest(after, until))
	}
	return d.Decision, nil
}

// wait says when a fixed delay fires after it did, or did not: on a day that the calendars exclude, not before the next day.
func (d *decider) wait(now time.Time) {
	switch {
	case len(d.Ledger) > 0 && d.Ledger[0].Reason == store.SkipCalendar:
		d.Next = new(dayOf(now.In(d.zone)).add(1).begin(d.zone))
	case len(d.Ledger)+len(d.Fires) > 0:
		d.Wait = d.delay
	case d.end == nil || !d.at.After(*d.end): // decided before, by a ledger that is ahead
		d.Next = new(now.Add(d.delay))
	}
}

// decider makes one decision. All its stretches are after one instant and up to another, and come in order.
type decider struct {
	Decision
	*times
	schedule int64
	previous *time.Time
}

// missed decides instants that are late by the misfire threshold or more, as the policy says. Those before edge are
// beyond its window.
func (d *decider) missed(after, until, edge time.Time, policy dag.Late) {
	keep, surplus := 1, store.Fire{Result: store.Coalesced}
	switch policy.Catchup {
	case dag.CatchupNone:
		d.skip(after, until, store.Fire{Result: store.SkippedFire, Reason: store.SkipCatchup})
		return
	case dag.CatchupAll:
		keep, surplus = policy.CatchupLimit, store.Fire{Result: store.SkippedFire, Reason: store.SkipCatchup}
	}
	late := earliest(edge.Add(-tick), until)
	d.skip(after, late, store.Fire{Result: store.SkippedFire, Reason: store.SkipLate})
	after = latest(after, late)
	if !after.Before(until) {
		return
	}
	first := d.lastWanted(after, until, keep)
	d.skip(after, first, surplus)
	d.fire(first, until)
}

// skip writes one row for all instants of a stretch, and one for each part of it that the calendars exclude.
func (d *decider) skip(after, until time.Time, row store.Fire) {
	for _, part := range d.split(after, until) {
		if part.out {
			d.skipAll(part.after, part.until, excluded)
		} else {
			d.skipAll(part.after, part.until, row)
		}
	}
}

var excluded = store.Fire{Result: store.SkippedFire, Reason: store.SkipCalendar}

func (d *decider) skipAll(after, until time.Time, row store.Fire) {
	if row.Count = d.count(after, until); row.Count == 0 {
		return
	}
	row.Schedule = d.schedule
	row.At, _ = d.next(after)
	if row.Count > 1 {
		last, _ := d.next(d.tail(after, until, 1))
		row.Until = &last
	}
	d.Ledger = append(d.Ledger, row)
}

// fire asks for a run at each instant of a stretch, until there are too many for one decision.
func (d *decider) fire(after, until time.Time) {
	for _, part := range d.split(after, until) {
		switch {
		case d.Next != nil:
			return
		case part.out:
			d.skipAll(part.after, part.until, excluded)
		default:
			d.fireAll(part.after, part.until)
		}
	}
}

func (d *decider) fireAll(after, until time.Time) {
	for at, ok := d.next(after); ok && !at.After(until); at, ok = d.next(at) {
		if len(d.Fires) == maxFires {
			d.Next = &at
			return
		}
		d.Fires = append(d.Fires, Fire{At: at, Due: d.due(at), Previous: d.previous, LogicalDate: at.Format(time.DateOnly)})
		d.previous = &at
	}
}

func (d *decider) setNext(after time.Time) {
	if at, ok := d.next(after); ok {
		d.Next = new(d.due(at))
	}
}

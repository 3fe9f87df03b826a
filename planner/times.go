package planner

import (
	"fmt"
	"sort"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/cron"
	"github.com/ax-run/ax/internal/store"
)

// tick is how finely the database tells time.
const tick = time.Microsecond

// times is the line of instants at which a schedule is expected to fire. It answers for any stretch of it without walking
// through it, so that a backlog of any size costs little.
type times struct {
	zone *time.Location
	// One of the three is set.
	cron  *cron.Schedule
	every time.Duration // from anchor on, anchor included
	at    *time.Time
	// delay is set for a fixed delay, of which only one instant is known: at.
	delay time.Duration

	anchor     time.Time
	start, end *time.Time // both are themselves within

	// days are those that the calendars leave; nil is all. Instants of others come too, and are decided as skipped.
	days *days
	// jitter bounds the offsets, which seed and name make.
	jitter time.Duration
	seed   int64
	name   string
}

// Timetable is a schedule as its workflow's row has it: what its instants depend on.
type Timetable struct {
	Spec dag.Schedule
	// Anchor is where an interval is counted from (S4).
	Anchor time.Time
	// Calendars are those that the spec names, and maybe others.
	Calendars []store.Calendar
	// Workflow is 0 for a schedule that is not stored.
	Workflow int64
}

// line makes the schedule's instants.
func (t Timetable) line() (*times, error) {
	s := t.Spec
	zone, err := cron.LoadZone(s.Timezone)
	if err != nil {
		return nil, fmt.Errorf("read schedule %q: %w", s.Name, err)
	}
	l := &times{
		zone: zone, anchor: t.Anchor, at: toTick(s.At), start: toTick(s.Start), end: toTick(s.End), jitter: time.Duration(s.Jitter), seed: t.Workflow, name: s.Name,
	}
	if l.days, err = newDays(s.Calendars, t.Calendars); err != nil {
		return nil, fmt.Errorf("read schedule %q: %w", s.Name, err)
	}
	switch {
	case s.Cron != "":
		err = l.follow(s)
	case s.Every > 0:
		l.every = time.Duration(s.Every).Truncate(tick)
	case s.Delay > 0:
		l.delay = time.Duration(s.Delay)
		l.at = new(t.Anchor.Add(l.delay))
	case s.At == nil:
		err = fmt.Errorf("read schedule %q: it says neither cron nor every nor delay nor at", s.Name)
	}
	return l, err
}

// Next lists the next n fires after an instant, in the schedule's zone; fewer when it ends before. Without a stored row, Anchor is the
// present second.
func (t Timetable) Next(from time.Time, n int) ([]time.Time, error) {
	if t.Spec.Start != nil {
		t.Anchor = anchorOf(t.Spec, nil, t.Anchor, t.Anchor)
	}
	line, err := t.line()
	if err != nil {
		return nil, err
	}
	return line.list(from, n), nil
}

// Undecided lists the first n fires, from an instant on, that a stored schedule has not decided, in its zone. Due is when it fires next,
// nil when it is over or waits for the end of its run.
func (t Timetable) Undecided(due *time.Time, from time.Time, n int) ([]time.Time, error) {
	if due == nil {
		return nil, nil
	}
	line, err := t.line()
	if err != nil {
		return nil, err
	}
	line.pin(*due)
	return line.list(latest(line.instant(*due), from).Add(-tick), n), nil
}

// pin says when a fixed delay fires, as its row has it; other schedules know that by themselves.
func (t *times) pin(next time.Time) {
	if t.delay > 0 {
		t.at = &next
	}
}

// follow reads the expression; "@every D" is every: D (S5).
func (t *times) follow(s dag.Schedule) error {
	parsed, err := cron.Parse(s.Cron, cron.Options{
		Dialect: s.Dialect, Zone: t.zone, DST: cron.DST(s.DST), Gap: s.DSTGap, Overlap: s.DSTOverlap,
	})
	if err != nil {
		return fmt.Errorf("read schedule %q: %w", s.Name, err)
	}
	if every, ok := parsed.Every(); ok {
		t.every = every
		return nil
	}
	t.cron = parsed
	return nil
}

func toTick(at *time.Time) *time.Time {
	if at == nil {
		return nil
	}
	return new(at.Truncate(tick))
}

// next is the first instant after the given one, in the schedule's zone; false when none is left.
func (t *times) next(after time.Time) (time.Time, bool) {
	at, ok := t.following(t.fromStart(after))
	if !ok || t.end != nil && at.After(*t.end) || !dag.Tellable(at) {
		return time.Time{}, false
	}
	return at.In(t.zone), true
}

// maxExcluded is how many days in a row may be excluded before a list of fires ends.
const maxExcluded = 4000

// list is the first n instants after one that the calendars do not exclude.
func (t *times) list(after time.Time, n int) (fires []time.Time) {
	excluded := 0
	for at, ok := t.next(after); ok && len(fires) < n && excluded < maxExcluded; at, ok = t.next(after) {
		if after = at; t.excludes(at) {
			excluded++
			after = dayOf(at).add(1).begin(t.zone).Add(-tick)
			continue
		}
		excluded = 0
		fires = append(fires, at)
	}
	return fires
}

func (t *times) following(after time.Time) (time.Time, bool) {
	switch {
	case t.cron != nil:
		return t.cron.Next(after)
	case t.every > 0:
		return time.UnixMicro(t.anchor.UnixMicro() + t.every.Microseconds()*(t.periods(after)+1)), true
	}
	return *t.at, t.at.After(after)
}

// fromStart moves an instant on to just before the start, if that is later.
func (t *times) fromStart(after time.Time) time.Time {
	if t.start != nil {
		return latest(after, t.start.Add(-tick))
	}
	return after
}

// periods is how many whole periods an instant is after the anchor; -1 before it. A time.Duration would be too short between
// distant instants.
func (t *times) periods(at time.Time) int64 {
	if at.Before(t.anchor) {
		return -1
	}
	return (at.UnixMicro() - t.anchor.UnixMicro()) / t.every.Microseconds()
}

// count is how many instants there are after one and up to another, that one included.
func (t *times) count(after, until time.Time) int {
	after = t.fromStart(after)
	if t.end != nil {
		until = earliest(until, *t.end)
	}
	switch {
	case !after.Before(until):
		return 0
	case t.cron != nil:
		return t.cron.Count(after, until)
	case t.every > 0:
		return int(t.periods(until) - t.periods(after))
	case t.at.After(after) && !t.at.After(until):
		return 1
	}
	return 0
}

// tail is the instant after which the last n instants up to until begin; after itself when there are no more than n.
func (t *times) tail(after, until time.Time, n int) time.Time {
	span := time.Second
	for until.Add(-span).After(after) && t.count(until.Add(-span), until) < n {
		span *= 2
	}
	from := latest(after, until.Add(-span))
	few := func(i int) bool { return t.count(from.Add(time.Duration(i)*tick), until) <= n }
	if few(0) {
		return from
	}
	return from.Add(time.Duration(sort.Search(int(until.Sub(from)/tick), few)) * tick)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

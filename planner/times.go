package planner

import (
	"fmt"
	"sort"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/cron"
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
}

func newTimes(s dag.Schedule, anchor time.Time) (*times, error) {
	zone, err := cron.LoadZone(s.Timezone)
	if err != nil {
		return nil, fmt.Errorf("read schedule %q: %w", s.Name, err)
	}
	t := &times{zone: zone, anchor: anchor, at: toTick(s.At), start: toTick(s.Start), end: toTick(s.End)}
	switch {
	case s.Cron != "":
		err = t.follow(s)
	case s.Every > 0:
		t.every = time.Duration(s.Every).Truncate(tick)
	case s.Delay > 0:
		t.delay = time.Duration(s.Delay)
		t.at = new(anchor.Add(t.delay))
	case s.At == nil:
		err = fmt.Errorf("read schedule %q: it says neither cron nor every nor delay nor at", s.Name)
	}
	return t, err
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
	if !ok || t.end != nil && at.After(*t.end) {
		return time.Time{}, false
	}
	return at.In(t.zone), true
}

// list is the first n instants after one.
func (t *times) list(after time.Time, n int) (fires []time.Time) {
	for at, ok := t.next(after); ok && len(fires) < n; at, ok = t.next(at) {
		fires = append(fires, at)
	}
	return fires
}

func (t *times) following(after time.Time) (time.Time, bool) {
	switch {
	case t.cron != nil:
		return t.cron.Next(after)
	case t.every > 0:
		return t.anchor.Add(t.every * time.Duration(t.periods(after)+1)), true
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

// periods is how many whole periods an instant is after the anchor; -1 before it.
func (t *times) periods(at time.Time) int64 {
	if at.Before(t.anchor) {
		return -1
	}
	return int64(at.Sub(t.anchor) / t.every)
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

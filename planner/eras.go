package planner

import (
	"slices"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// era is a time in which a schedule had one spec. The first one has no beginning: what was before a schedule is filled by the first spec
// it had (S10, S32).
type era struct {
	from, until time.Time // from is within, until is not; a zero time is no bound
	spec        dag.Schedule
	line        *times // nil while the schedule was removed, for a fixed delay, and for what cannot be read
	// broken is why it cannot be read.
	broken error
}

// eras is a schedule's past and present, oldest first.
type eras []era

// newEras reads a schedule's history. Calendars are those of today; one that is gone excludes nothing.
func newEras(history []store.SpecRow, workflow int64, calendars []store.Calendar) eras {
	out := make(eras, len(history))
	for i, row := range history {
		if i > 0 {
			out[i].from = row.From
			out[i-1].until = row.From
		}
		if row.Spec == nil {
			continue
		}
		spec, err := decodeSpec(row.Spec)
		if err != nil {
			out[i].broken = err
			continue
		}
		spec.Calendars = slices.DeleteFunc(spec.Calendars, func(u dag.CalendarUse) bool {
			return !slices.ContainsFunc(calendars, func(c store.Calendar) bool { return c.Name == u.Name })
		})
		line, err := Timetable{Spec: spec, Anchor: row.Anchor, Calendars: calendars, Workflow: workflow}.line()
		out[i].spec, out[i].broken = spec, err
		if err == nil && line.delay == 0 {
			out[i].line = line
		}
	}
	return out
}

// at is the era of an instant; nil when the schedule had no instants then.
func (e eras) at(instant time.Time) *era {
	for i := range e {
		if (e[i].until.IsZero() || instant.Before(e[i].until)) && !instant.Before(e[i].from) && e[i].line != nil {
			return &e[i]
		}
	}
	return nil
}

// within is the part of a stretch that falls into an era; false when there is none.
func (e *era) within(s stretch) (stretch, bool) {
	if !e.from.IsZero() {
		s.after = latest(s.after, e.from.Add(-tick))
	}
	if !e.until.IsZero() {
		s.until = earliest(s.until, e.until.Add(-tick))
	}
	return s, e.line != nil && s.after.Before(s.until)
}

// count is how many instants a stretch has, those on excluded dates too.
func (e eras) count(all stretch) (n int) {
	for i := range e {
		if part, ok := e[i].within(all); ok {
			n += e[i].line.count(part.after, part.until)
		}
	}
	return n
}

// first are the first n instants of a stretch.
func (e eras) first(all stretch, n int) (slots []slot) {
	for i := range e {
		part, ok := e[i].within(all)
		if !ok {
			continue
		}
		for at, ok := e[i].line.next(part.after); ok && !at.After(part.until) && len(slots) < n; at, ok = e[i].line.next(at) {
			slots = append(slots, slot{at: at, era: &e[i]})
		}
	}
	return slots
}

// last are the last n instants of a stretch, newest first.
func (e eras) last(all stretch, n int) (slots []slot) {
	for i := len(e) - 1; i >= 0 && len(slots) < n; i-- {
		part, ok := e[i].within(all)
		if !ok {
			continue
		}
		left := n - len(slots)
		part.after = e[i].line.tail(part.after, part.until, left)
		tail := e[i:i+1].first(part, left)
		slices.Reverse(tail)
		slots = append(slots, tail...)
	}
	return slots
}

// reach lets an interval that is counted from its registration be counted from an instant before it on, in the same phase.
func (e eras) reach(back time.Time) {
	if len(e) == 0 || e[0].line == nil || e[0].line.every == 0 || e[0].spec.Start != nil {
		return
	}
	if line := e[0].line; back.Before(line.anchor) {
		line.anchor = line.anchor.Add(-line.every * ((line.anchor.Sub(back) + line.every - 1) / line.every))
	}
}

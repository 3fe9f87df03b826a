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
	line        *times // nil while the schedule was removed, and for what cannot be read
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
			continue
		}
		spec.Calendars = slices.DeleteFunc(spec.Calendars, func(u dag.CalendarUse) bool {
			return !slices.ContainsFunc(calendars, func(c store.Calendar) bool { return c.Name == u.Name })
		})
		line, err := Timetable{Spec: spec, Anchor: row.Anchor, Calendars: calendars, Workflow: workflow}.line()
		if err == nil && line.delay == 0 {
			out[i].spec, out[i].line = spec, line
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

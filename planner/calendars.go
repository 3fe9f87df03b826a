package planner

import (
	"context"
	"fmt"
	"slices"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// CalendarsOf are the names of the calendars that schedules use.
func CalendarsOf(schedules []dag.Schedule) []string {
	var names []string
	for _, s := range schedules {
		for _, use := range s.Calendars {
			names = append(names, use.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CalendarsIn are the names of the calendars that schedules use, or have used.
func CalendarsIn(histories []store.ScheduleHistory) []string {
	var all []dag.Schedule
	for _, h := range histories {
		for _, row := range h.Specs {
			if spec, err := decodeSpec(row.Spec); err == nil {
				all = append(all, spec)
			}
		}
	}
	return CalendarsOf(all)
}

// UnknownCalendars are the problems of a definition that names calendars which are not there.
func UnknownCalendars(schedules []dag.Schedule, there []store.Calendar) (problems dag.Problems) {
	for i, s := range schedules {
		for j, use := range s.Calendars {
			if slices.ContainsFunc(there, func(c store.Calendar) bool { return c.Name == use.Name }) {
				continue
			}
			problems = append(problems, dag.Problem{
				Path: fmt.Sprintf("schedules[%d].calendars[%d].name", i, j), Severity: dag.SeverityError, Code: dag.CodeUnknownCalendar,
				Message: fmt.Sprintf("there is no calendar %q", use.Name), Hint: "make it first, with `ax calendars put`", Value: use.Name,
			})
		}
	}
	return problems
}

// readCalendars reads the calendars that the workflow's schedules use, before and from now on; the latter must exist.
func (r *registration) readCalendars(ctx context.Context, def *dag.Definition) error {
	all := slices.Clone(def.Schedules)
	for _, old := range r.workflow.Schedules {
		if was, err := decodeSpec(old.Spec); err == nil {
			all = append(all, was)
		}
	}
	var err error
	if r.calendars, err = r.store.LockCalendars(ctx, r.tx, r.namespace, CalendarsOf(all)); err != nil {
		return err
	}
	return UnknownCalendars(def.Schedules, r.calendars).Err()
}

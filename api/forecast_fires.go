package api

import (
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/forecast"
	"github.com/ax-run/ax/planner"
)

// readFires adds the fires of all schedules from an instant on.
func (f *foretold) readFires(begin time.Time) error {
	rows, err := f.Store.FlowSchedules(f.ctx, f.namespace, f.in.To)
	if err != nil {
		return err
	}
	specs := make([]dag.Schedule, len(rows))
	for i, row := range rows {
		if specs[i], err = specOf(row.ScheduleRow); err != nil {
			return err
		}
	}
	var own []dag.Schedule
	if f.instead != nil {
		own = f.instead.Definition().Schedules
	}
	all := append(append([]dag.Schedule(nil), specs...), own...)
	if f.calendars, err = f.Store.CalendarsNamed(f.ctx, f.namespace, planner.CalendarsOf(all)); err != nil {
		return err
	}
	for i, row := range rows {
		if f.replaced(row.Workflow) {
			continue
		}
		table := planner.Timetable{Spec: specs[i], Anchor: row.Anchor, Calendars: f.calendars, Workflow: row.Workflow}
		if err := f.addFires(f.places[row.Workflow], table, row.NextFireAt, begin); err != nil {
			return err
		}
	}
	for _, spec := range own {
		place, _ := f.builder.Code(f.instead.Definition().Workflow)
		table := planner.Timetable{Spec: spec, Anchor: anchorNow(spec, f.now), Calendars: f.calendars}
		if err := f.addFires(place, table, nil, begin); err != nil {
			return err
		}
	}
	return nil
}

// anchorNow is where a schedule that is not registered counts from (S4).
func anchorNow(spec dag.Schedule, now time.Time) time.Time {
	if spec.Start != nil && (spec.Delay == 0 || spec.Start.After(now)) {
		return *spec.Start
	}
	return now.Truncate(time.Second)
}

// replaced says that a workflow's schedules are not those to simulate: it has no version, or another definition is in its place.
func (f *foretold) replaced(workflow int64) bool {
	at, ok := f.places[workflow]
	if !ok || f.instead == nil {
		return !ok
	}
	place, _ := f.builder.Code(f.instead.Definition().Workflow)
	return at == place
}

func (f *foretold) addFires(place int, table planner.Timetable, due *time.Time, begin time.Time) error {
	left := maxForecastFires - len(f.builder.Fires)
	instants, err := table.Expected(due, begin, f.in.To, left+1)
	if err != nil {
		return err
	}
	if len(instants) > left {
		return tooMuch("has more than %d fires", maxForecastFires)
	}
	for _, at := range instants {
		f.builder.Fires = append(f.builder.Fires, forecast.Fire{
			Workflow: place, Schedule: table.Spec.Name, At: at.Due, Scheduled: at.At, Date: at.At.Format(time.DateOnly), Delay: time.Duration(table.Spec.Delay),
		})
	}
	return nil
}

// readDelayed adds the runs that were asked for in advance.
func (f *foretold) readDelayed() error {
	left := maxForecastFires - len(f.builder.Fires)
	delayed, err := f.Store.FlowsDelayed(f.ctx, f.namespace, f.in.To, left+1)
	if err != nil {
		return err
	}
	if len(delayed) > left {
		return tooMuch("has more than %d fires and delayed runs", maxForecastFires)
	}
	for _, d := range delayed {
		place, ok := f.places[d.Workflow]
		if !ok {
			continue
		}
		f.builder.Fires = append(f.builder.Fires, forecast.Fire{Workflow: place, At: later(d.RunAt, f.now), Scheduled: d.ScheduledAt, Date: d.LogicalDate})
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

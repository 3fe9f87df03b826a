package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/cron"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// Upcoming is a schedule and its next fires.
type Upcoming struct {
	Schedule string  `json:"schedule"`
	Timezone string  `json:"timezone"`
	Fires    []Local `json:"fires" nullable:"false" doc:"The next five; none when the schedule is over."`
}

// Local is an instant in the schedule's zone and in UTC (S5).
type Local struct {
	Local time.Time `json:"local"`
	UTC   time.Time `json:"utc"`
}

// upcomingFires is how many fires a registration answers with.
const upcomingFires = 5

func upcomingView(name, zone string, fires []time.Time) Upcoming {
	u := Upcoming{Schedule: name, Timezone: zone, Fires: make([]Local, len(fires))}
	for i, at := range fires {
		u.Fires[i] = Local{Local: at, UTC: at.UTC()}
	}
	return u
}

// foretell computes the next fires of schedules that are not stored.
func foretell(schedules []dag.Schedule, calendars []store.Calendar, now time.Time) ([]Upcoming, error) {
	all := make([]Upcoming, len(schedules))
	for i, s := range schedules {
		fires, err := planner.Timetable{Spec: s, Anchor: now.Truncate(time.Second), Calendars: calendars}.Next(now, upcomingFires)
		if err != nil {
			return nil, fmt.Errorf("foretell schedule %q: %w", s.Name, err)
		}
		all[i] = upcomingView(s.Name, s.Timezone, fires)
	}
	return all, nil
}

// timetables are a workflow's schedules with the calendars that they use.
func (a *API) timetables(ctx context.Context, w store.WorkflowRow, rows []store.ScheduleRow) ([]planner.Timetable, error) {
	specs := make([]dag.Schedule, len(rows))
	for i, row := range rows {
		var err error
		if specs[i], err = specOf(row); err != nil {
			return nil, err
		}
	}
	calendars, err := a.Store.CalendarsNamed(ctx, w.Namespace, planner.CalendarsOf(specs))
	if err != nil {
		return nil, err
	}
	tables := make([]planner.Timetable, len(rows))
	for i, row := range rows {
		tables[i] = planner.Timetable{Spec: specs[i], Anchor: row.Anchor, Calendars: calendars, Workflow: w.ID}
	}
	return tables, nil
}

// specOf reads a stored schedule.
func specOf(row store.ScheduleRow) (dag.Schedule, error) {
	var s dag.Schedule
	d := json.NewDecoder(bytes.NewReader(row.Spec))
	d.UseNumber()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("read schedule %q: %w", row.Name, err)
	}
	return s, nil
}

// zoneOf is the zone of a workflow's logical dates: its first schedule's, else the server's (S6, S11).
func zoneOf(schedules []store.ScheduleRow, otherwise string) (*time.Location, error) {
	zone := otherwise
	if len(schedules) > 0 {
		s, err := specOf(schedules[0])
		if err != nil {
			return nil, err
		}
		zone = s.Timezone
	}
	return cron.LoadZone(zone)
}

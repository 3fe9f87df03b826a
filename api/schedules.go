package api

import (
	"bytes"
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
func foretell(schedules []dag.Schedule, now time.Time) ([]Upcoming, error) {
	all := make([]Upcoming, len(schedules))
	for i, s := range schedules {
		fires, err := planner.NextFires(s, now.Truncate(time.Second), now, upcomingFires)
		if err != nil {
			return nil, fmt.Errorf("foretell schedule %q: %w", s.Name, err)
		}
		all[i] = upcomingView(s.Name, s.Timezone, fires)
	}
	return all, nil
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

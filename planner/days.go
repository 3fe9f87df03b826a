package planner

import (
	"fmt"
	"slices"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// day is a date of the calendar.
type day struct {
	year  int
	month time.Month
	day   int
}

func dayOf(t time.Time) day {
	y, m, d := t.Date()
	return day{y, m, d}
}

func (d day) add(n int) day { return dayOf(time.Date(d.year, d.month, d.day+n, 0, 0, 0, 0, time.UTC)) }

// begin is the first instant of the date in a zone. Where clocks go forward at midnight it is not 00:00.
func (d day) begin(zone *time.Location) time.Time {
	at := time.Date(d.year, d.month, d.day, 0, 0, 0, 0, zone)
	for step := 0; step < 4 && dayOf(at) != d; step++ {
		at = at.Add(30 * time.Minute)
	}
	return at
}

// days are the dates on which a schedule fires: those of the calendars that it includes, if there are any, without those of the
// calendars that it excludes.
type days struct {
	include, exclude []map[day]bool
}

// newDays reads the calendars that a schedule uses; nil is every day.
func newDays(uses []dag.CalendarUse, calendars []store.Calendar) (*days, error) {
	if len(uses) == 0 {
		return nil, nil
	}
	d := &days{}
	for _, use := range uses {
		i := slices.IndexFunc(calendars, func(c store.Calendar) bool { return c.Name == use.Name })
		if i < 0 {
			return nil, fmt.Errorf("there is no calendar %q", use.Name)
		}
		dates := make(map[day]bool, len(calendars[i].Dates))
		for _, at := range calendars[i].Dates {
			dates[dayOf(at)] = true
		}
		if use.Mode == "include" {
			d.include = append(d.include, dates)
		} else {
			d.exclude = append(d.exclude, dates)
		}
	}
	return d, nil
}

// has reports whether the schedule fires on a date.
func (d *days) has(on day) bool {
	if d == nil {
		return true
	}
	in := func(dates map[day]bool) bool { return dates[on] }
	return (d.include == nil || slices.ContainsFunc(d.include, in)) && !slices.ContainsFunc(d.exclude, in)
}

// stretch is what lies after one instant and up to another.
type stretch struct {
	after, until time.Time
	// out means that the schedule's calendars exclude it.
	out bool
}

// split cuts a stretch where the calendars begin or cease to exclude, oldest first.
func (t *times) split(after, until time.Time) []stretch {
	if t.days == nil || !after.Before(until) {
		return []stretch{{after: after, until: until}}
	}
	var parts []stretch
	for on := dayOf(after.In(t.zone)); after.Before(until); on = on.add(1) {
		end := earliest(on.add(1).begin(t.zone).Add(-tick), until)
		if !after.Before(end) && end.Before(until) {
			continue
		}
		out := !t.days.has(on)
		if n := len(parts); n > 0 && parts[n-1].out == out {
			parts[n-1].until = end
		} else {
			parts = append(parts, stretch{after, end, out})
		}
		after = end
	}
	return parts
}

// excludes reports whether the calendars exclude an instant.
func (t *times) excludes(at time.Time) bool {
	return t.days != nil && !t.days.has(dayOf(at.In(t.zone)))
}

// lastWanted is the instant after which the last n instants up to until begin that the calendars do not exclude.
func (t *times) lastWanted(after, until time.Time, n int) time.Time {
	parts := t.split(after, until)
	for i := len(parts) - 1; i >= 0; i-- {
		p := parts[i]
		if p.out {
			continue
		}
		if there := t.count(p.after, p.until); there < n {
			n -= there
			continue
		}
		return t.tail(p.after, p.until, n)
	}
	return after
}

package api

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/cron"
	"github.com/ax-run/ax/planner"
)

// momentForms says how a moment may be written.
const momentForms = "write 2026-11-30T02:30:00+08:00; or as the clocks of the schedule's zone show it 2026-11-30T02:30, 02:30, yesterday 02:30 or 2026-11-30; " +
	"or 2026-11-30T02:30[Europe/Berlin], or -2h"

// lostPlus is an instant whose + was taken for a space on the way, as forms do.
var lostPlus = regexp.MustCompile(`^(\d{4}-\d\d-\d\d[Tt]\S+) (\d\d:\d\d)$`)

// readMoment reads a moment as people write one. Now is in the zone of the workflow: what is left out of a wall clock's time is of its day.
func readMoment(text string, now time.Time) (planner.Moment, error) {
	text = strings.TrimSpace(lostPlus.ReplaceAllString(text, "$1+$2"))
	m, ok, err := zonedMoment(text)
	if !ok && err == nil {
		m, ok = exactMoment(text, now)
	}
	if !ok && err == nil {
		m, ok = wallMoment(text, now)
	}
	switch {
	case err != nil:
		return m, err
	case !ok:
		return m, fmt.Errorf("it is no time: %s", momentForms)
	case !m.Exact.IsZero():
		return m, dag.CheckInstant(m.Exact)
	}
	return m, dag.CheckInstant(m.Wall)
}

// zonedMoment reads a wall clock's time with the name of its zone.
func zonedMoment(text string) (m planner.Moment, ok bool, err error) {
	wall, name, ok := strings.Cut(strings.TrimSuffix(text, "]"), "[")
	if !ok || !strings.HasSuffix(text, "]") {
		return m, false, nil
	}
	if m, ok = wallOf(wall); !ok {
		return m, false, nil
	}
	m.Zone, err = cron.LoadZone(name)
	return m, err == nil, err
}

// exactMoment reads an instant with its offset, or a time from now.
func exactMoment(text string, now time.Time) (m planner.Moment, ok bool) {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00"} {
		if at, err := time.Parse(form, text); err == nil {
			return planner.Moment{Exact: at, Within: meant(at)}, true
		}
	}
	if text == "now" {
		text = "0s"
	}
	d, err := time.ParseDuration(text)
	return planner.Moment{Exact: now.Add(d).Truncate(time.Minute), Within: time.Minute}, err == nil
}

// meant is how much later an instant may be that is meant by a time: as much as was not said of it.
func meant(at time.Time) time.Duration {
	switch {
	case at.Nanosecond() != 0:
		return time.Microsecond
	case at.Second() != 0:
		return time.Second
	}
	return time.Minute
}

// days before today that have a name.
var namedDays = map[string]int{"today": 0, "yesterday": -1, "tomorrow": 1}

// wallMoment reads what a wall clock shows, on a date or on a day near now. A time of day alone is the last one that has come.
func wallMoment(text string, now time.Time) (planner.Moment, bool) {
	if m, ok := wallOf(text); ok {
		return m, true
	}
	today := cron.Wall(now)
	word, clock, named := strings.Cut(text, " ")
	if !named {
		word, clock = "", text
	}
	days, known := namedDays[strings.ToLower(word)]
	at, ok := timeOfDay(clock)
	if !ok || named && !known {
		return planner.Moment{}, false
	}
	wall := time.Date(today.Year(), today.Month(), today.Day()+days, at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
	if !named && wall.After(today) {
		wall = wall.AddDate(0, 0, -1)
	}
	return planner.Moment{Wall: wall, Within: meant(wall)}, true
}

func timeOfDay(text string) (time.Time, bool) {
	for _, form := range []string{"15:04", "15:04:05"} {
		if at, err := time.Parse(form, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// wallOf reads a date with or without a time of day.
func wallOf(text string) (planner.Moment, bool) {
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(form, text); err == nil {
			return planner.Moment{Wall: at, Within: meant(at)}, true
		}
	}
	at, err := time.Parse(time.DateOnly, text)
	return planner.Moment{Wall: at, Within: 24 * time.Hour}, err == nil
}

package cron

import "time"

// Shift is a change of a zone's clocks.
type Shift struct {
	// At is the first instant after it, in the zone.
	At time.Time
	// Was is what the clocks had come to then, as if they were UTC.
	Was time.Time
}

// Forward reports whether the clocks went forward, so that times in between did not exist; otherwise they came twice.
func (s *Shift) Forward() bool { return Wall(s.At).After(s.Was) }

// Wall is what a clock shows at an instant of its own zone, as if it were UTC.
func Wall(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
}

// farOffset is further than two changes of a zone's clocks are apart, and more than any of them.
const farOffset = 26 * time.Hour

// Instants are those at which the clocks of a zone show a wall time, which is given as if it were UTC, in order: one as a rule, two where the
// clocks go back over it, none where they go forward over it; in these two cases the shift says when they do.
func Instants(wall time.Time, zone *time.Location) (at []time.Time, shift *Shift) {
	_, before := wall.Add(-farOffset).In(zone).Zone()
	_, after := wall.Add(farOffset).In(zone).Zone()
	for _, offset := range []int{max(before, after), min(before, after)} { // the greater offset is the earlier instant
		t := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if Wall(t).Equal(wall) && (len(at) == 0 || !at[0].Equal(t)) {
			at = append(at, t)
		}
	}
	if len(at) == 1 {
		return at, nil
	}
	last := wall.Add(-time.Duration(min(before, after)) * time.Second).In(zone)
	start, _ := last.ZoneBounds()
	_, was := start.Add(-time.Nanosecond).Zone()
	return at, &Shift{At: start, Was: start.UTC().Add(time.Duration(was) * time.Second)}
}

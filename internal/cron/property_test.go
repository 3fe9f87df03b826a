package cron_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/internal/cron"
)

// changes is a zone and an instant near which its offset changes.
type changes struct {
	zone string
	near string
}

var zoneChanges = []changes{
	{"Asia/Shanghai", "2026-01-01T00:00:00Z"}, // none
	{"America/New_York", "2026-03-08T07:00:00Z"},
	{"America/New_York", "2026-11-01T06:00:00Z"},
	{"Europe/Berlin", "2026-03-29T01:00:00Z"},
	{"Europe/Berlin", "2040-10-28T01:00:00Z"},
	{"Australia/Lord_Howe", "2026-10-03T15:30:00Z"}, // by half an hour
	{"Australia/Lord_Howe", "2026-04-04T15:00:00Z"},
	{"Africa/Cairo", "2026-04-23T22:00:00Z"}, // at midnight
	{"America/Santiago", "2026-04-05T03:00:00Z"},
	{"Pacific/Apia", "2011-12-30T10:00:00Z"},     // by a day
	{"Antarctica/Troll", "2026-03-29T01:00:00Z"}, // by two hours
	{"Antarctica/Troll", "2026-10-25T01:00:00Z"},
}

// clockField is a field of an expression and, told apart from it, what it means.
type clockField struct {
	text   string
	values []int
}

// drawField makes a list, a range or a stepped range of a field with values min to max.
func drawField(t *rapid.T, name string, lowest, highest int) clockField {
	first := rapid.IntRange(lowest, highest).Draw(t, name+" first")
	last := rapid.IntRange(first, highest).Draw(t, name+" last")
	step := rapid.IntRange(1, highest).Draw(t, name+" step")
	switch rapid.IntRange(0, 4).Draw(t, name+" form") {
	case 0:
		return clockField{"*", every(lowest, highest, 1)}
	case 1:
		return clockField{fmt.Sprintf("*/%d", step), every(lowest, highest, step)}
	case 2:
		return clockField{fmt.Sprintf("%d-%d/%d", first, last, step), every(first, last, step)}
	case 3:
		return clockField{fmt.Sprintf("%d,%d", last, first), []int{first, last}}
	}
	return clockField{fmt.Sprint(first), []int{first}}
}

func every(first, last, step int) []int {
	var values []int
	for v := first; v <= last; v += step {
		values = append(values, v)
	}
	return values
}

// drawn is an expression with its meaning, a zone with a change, and a rule for the change.
type drawn struct {
	second, minute, hour clockField
	day                  dayChoice
	at                   changes
	opt                  cron.Options
}

// dayChoice is a pair of Quartz day fields and what it means.
type dayChoice struct {
	month, week string
	matches     func(day time.Time) bool
}

func dayChoices(day int, weekday time.Weekday) []dayChoice {
	is := func(date time.Time, other time.Time) bool { return date.Equal(other) }
	quartz := int(weekday) + 1
	return []dayChoice{
		{"*", "?", func(time.Time) bool { return true }},
		{fmt.Sprint(day), "?", func(d time.Time) bool { return d.Day() == day }},
		{"L", "?", func(d time.Time) bool { return d.AddDate(0, 0, 1).Day() == 1 }},
		{"L-2", "?", func(d time.Time) bool { return d.AddDate(0, 0, 3).Day() == 1 }},
		{fmt.Sprintf("%dW", day), "?", func(d time.Time) bool { return is(d, nearest(d, day)) }},
		{"?", fmt.Sprint(quartz), func(d time.Time) bool { return d.Weekday() == weekday }},
		{"?", fmt.Sprintf("%d#%d", quartz, (day-1)/7+1), func(d time.Time) bool {
			return d.Weekday() == weekday && (d.Day()-1)/7 == (day-1)/7
		}},
		{"?", fmt.Sprintf("%dL", quartz), func(d time.Time) bool {
			return d.Weekday() == weekday && d.AddDate(0, 0, 7).Month() != d.Month()
		}},
	}
}

// nearest is the weekday nearest to a day of d's month within it; the zero time if the month has no such day.
func nearest(d time.Time, day int) time.Time {
	target := time.Date(d.Year(), d.Month(), day, 0, 0, 0, 0, time.UTC)
	if target.Month() != d.Month() {
		return time.Time{}
	}
	for _, away := range []int{0, -1, 1, -2, 2} {
		candidate := target.AddDate(0, 0, away)
		working := candidate.Weekday() != time.Saturday && candidate.Weekday() != time.Sunday
		if working && candidate.Month() == d.Month() {
			return candidate
		}
	}
	panic("a month has weekdays")
}

func draw(t *rapid.T) drawn {
	at := rapid.SampledFrom(zoneChanges).Draw(t, "change")
	near, err := time.Parse(time.RFC3339, at.near)
	require.NoError(t, err)
	d := drawn{
		second: clockField{fmt.Sprint(0), []int{0}},
		minute: drawField(t, "minute", 0, 59),
		hour:   drawField(t, "hour", 0, 23),
		at:     at,
	}
	if rapid.Bool().Draw(t, "seconds") {
		d.second = clockField{"*/20", []int{0, 20, 40}}
	}
	day := near.AddDate(0, 0, rapid.IntRange(-1, 1).Draw(t, "day"))
	d.day = rapid.SampledFrom(dayChoices(day.Day(), day.Weekday())).Draw(t, "days")
	if rapid.Bool().Draw(t, "dst quartz") {
		d.opt.DST = cron.Quartz
		return d
	}
	d.opt.Gap = rapid.SampledFrom([]string{"", "next", "skip"}).Draw(t, "gap")
	d.opt.Overlap = rapid.SampledFrom([]string{"", "first", "second", "both"}).Draw(t, "overlap")
	return d
}

func (d drawn) expr() string {
	return strings.Join([]string{d.second.text, d.minute.text, d.hour.text, d.day.month, "*", d.day.week}, " ")
}

// rule is the gap and overlap in force, S7 read aloud.
func (d drawn) rule() (gap, overlap string) {
	elapsed := d.minute.text[0] == '*' || d.hour.text[0] == '*'
	switch {
	case d.opt.DST == cron.Quartz:
		return "skip", "second"
	case elapsed:
		gap, overlap = "skip", "both"
	default:
		gap, overlap = "next", "first"
	}
	if d.opt.Gap != "" {
		gap = d.opt.Gap
	}
	if d.opt.Overlap != "" {
		overlap = d.opt.Overlap
	}
	return gap, overlap
}

func (d drawn) matches(wall time.Time) bool {
	return slices.Contains(d.minute.values, wall.Minute()) && slices.Contains(d.hour.values, wall.Hour()) &&
		d.day.matches(wall.Truncate(24*time.Hour))
}

// scan finds the fires between two instants by looking at every minute: which minutes
// there are, what the wall shows at each, and which minutes of the wall were left out.
func (d drawn) scan(zone *time.Location, from, to time.Time) []time.Time {
	passes := map[time.Time][]time.Time{} // wall minute → its instants, in order
	var ends []time.Time                  // the first instant after each gap, with the wall before it
	last := wallOf(from.Add(-time.Minute), zone)
	fires := map[time.Time]bool{}
	gap, overlap := d.rule()
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		wall := wallOf(at, zone)
		passes[wall] = append(passes[wall], at)
		for missed := last.Add(time.Minute); gap == "next" && missed.Before(wall); missed = missed.Add(time.Minute) {
			if len(passes[missed]) == 0 && d.matches(missed) {
				ends = append(ends, at)
				break
			}
		}
		last = wall
	}
	for _, at := range ends {
		fires[at] = true
	}
	for wall, instants := range passes {
		if !d.matches(wall) {
			continue
		}
		switch overlap {
		case "first":
			instants = instants[:1]
		case "second":
			instants = instants[len(instants)-1:]
		}
		for _, at := range instants {
			for _, second := range d.second.values {
				fires[at.Add(time.Duration(second)*time.Second)] = true
			}
		}
	}
	return sorted(fires)
}

func sorted(set map[time.Time]bool) []time.Time {
	var list []time.Time
	for at := range set {
		list = append(list, at)
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// wallOf is what the wall shows, written as a time in UTC.
func wallOf(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.Add(time.Duration(offset) * time.Second)
}

// Next gives exactly the fires that looking at every minute gives, from wherever it starts.
func TestNextAgreesWithScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		zone, err := cron.LoadZone(d.at.zone)
		require.NoError(rt, err)
		d.opt.Zone = zone
		s, err := cron.Parse(d.expr(), d.opt)
		require.NoError(rt, err)

		near, err := time.Parse(time.RFC3339, d.at.near)
		require.NoError(rt, err)
		from := near.Add(time.Duration(rapid.IntRange(-4*3600, 4*3600).Draw(rt, "start")) * time.Second)
		to := near.Add(30 * time.Hour)
		all := d.scan(zone, near.Add(-54*time.Hour), near.Add(54*time.Hour))
		var want, got []time.Time
		for _, at := range all {
			if at.After(from) && at.Before(to) {
				want = append(want, at)
			}
		}
		for at, ok := s.Next(from); ok && at.Before(to); at, ok = s.Next(at) {
			got = append(got, at.UTC())
		}
		require.Equal(rt, want, got, "%s in %s from %s", d.expr(), d.at.zone, from)
	})
}

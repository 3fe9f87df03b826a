package planner_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// resolved is a schedule with the defaults that a stored one has.
func resolved(s dag.Schedule) dag.Schedule {
	s.Name, s.Timezone = "s", orElse(s.Timezone, "UTC")
	s.Catchup = orElse(s.Catchup, dag.CatchupLatest)
	s.CatchupWindow = orElse(s.CatchupWindow, dag.DefaultCatchupWindow)
	s.CatchupLimit = orElse(s.CatchupLimit, dag.DefaultCatchupLimit)
	s.MisfireThreshold = orElse(s.MisfireThreshold, dag.DefaultMisfireThreshold)
	return s
}

// holidays is a calendar of dates of November and December 2026.
func holidays(dates ...int) []store.Calendar {
	c := store.Calendar{Name: "holidays"}
	for _, d := range dates {
		c.Dates = append(c.Dates, time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC))
	}
	return []store.Calendar{c}
}

func use(mode string) []dag.CalendarUse { return []dag.CalendarUse{{Name: "holidays", Mode: mode}} }

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func claimed(t require.TestingT, s dag.Schedule, next time.Time) store.DueSchedule {
	spec, err := json.Marshal(resolved(s))
	require.NoError(t, err)
	return store.DueSchedule{ID: 7, Spec: spec, Anchor: noon.Add(-1000 * time.Hour), NextFireAt: next}
}

// story is a decision in words: each fire and each row of the ledger by its distance from noon.
func story(d planner.Decision) []string {
	var words []string
	for _, row := range d.Ledger {
		text := fmt.Sprintf("%s %s", row.At.Sub(noon), row.Result)
		if row.Reason != "" {
			text += " " + row.Reason
		}
		if row.Until != nil {
			text += fmt.Sprintf(" until %s, %d", row.Until.Sub(noon), row.Count)
		}
		words = append(words, text)
	}
	for _, f := range d.Fires {
		words = append(words, fmt.Sprintf("%s run", f.At.Sub(noon)))
	}
	return words
}

func TestDue(t *testing.T) {
	t.Parallel()
	minutely := dag.Schedule{Cron: "* * * * *"}
	with := func(s dag.Schedule, late dag.Late) dag.Schedule { s.Late = late; return s }
	at := noon.Add(-400 * 24 * time.Hour)
	start, end := noon.Add(-10*time.Minute), noon.Add(-5*time.Minute)
	for name, c := range map[string]struct {
		schedule dag.Schedule
		paused   bool
		ago      time.Duration
		now      time.Duration
		want     []string
		next     string
	}{
		"on time": {minutely, false, 0, 3 * time.Millisecond, []string{"0s run"}, "1m0s"},
		"each within a minute": {dag.Schedule{Every: dag.Duration(25 * time.Second)}, false, 75 * time.Second, 0,
			[]string{"-1m15s run", "-50s run", "-25s run", "0s run"}, "25s"},
		"latest after an outage":   {minutely, false, 3 * time.Hour, 30 * time.Second, []string{"-3h0m0s coalesced until -2m0s, 179", "-1m0s run", "0s run"}, "1m0s"},
		"one missed is no stretch": {minutely, false, 2 * time.Minute, 30 * time.Second, []string{"-2m0s coalesced", "-1m0s run", "0s run"}, "1m0s"},
		"none":                     {with(minutely, dag.Late{Catchup: dag.CatchupNone}), false, 3 * time.Hour, 0, []string{"-3h0m0s skipped catchup until -1m0s, 180", "0s run"}, "1m0s"},
		"all to the limit": {with(minutely, dag.Late{Catchup: dag.CatchupAll, CatchupLimit: 2}), false, 3 * time.Hour, 0,
			[]string{"-3h0m0s skipped catchup until -3m0s, 178", "-2m0s run", "-1m0s run", "0s run"}, "1m0s"},
		"beyond the window": {with(minutely, dag.Late{CatchupWindow: dag.Duration(time.Hour)}), false, 3 * time.Hour, 0,
			[]string{"-3h0m0s skipped late until -1h1m0s, 120", "-1h0m0s coalesced until -2m0s, 59", "-1m0s run", "0s run"}, "1m0s"},
		"paused":                 {minutely, true, 3 * time.Hour, 0, []string{"-3h0m0s skipped paused until 0s, 181"}, "1m0s"},
		"one instant, years ago": {dag.Schedule{At: &at}, false, 400 * 24 * time.Hour, 0, []string{"-9600h0m0s run"}, ""},
		"bounds": {dag.Schedule{Cron: "* * * * *", Start: &start, End: &end}, false, time.Hour, 0,
			[]string{"-10m0s coalesced until -6m0s, 5", "-5m0s run"}, ""},
		"over, nothing owed": {dag.Schedule{Cron: "* * * * *", End: &end}, false, time.Minute, 0, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := claimed(t, c.schedule, noon.Add(-c.ago))
			s.Paused = c.paused
			d, err := planner.Due(s, noon.Add(c.now))
			require.NoError(t, err)
			require.Equal(t, c.want, story(d))
			require.Equal(t, c.next, after(d.Next))
		})
	}
}

func after(next *time.Time) string {
	if next == nil {
		return ""
	}
	return next.Sub(noon).String()
}

func TestDueNeverDecidesAgain(t *testing.T) {
	t.Parallel()
	s := claimed(t, dag.Schedule{Cron: "* * * * *"}, noon.Add(-time.Hour))
	s.Decided, s.LastFired = new(noon.Add(-30*time.Second)), new(noon.Add(-2*time.Minute))
	d, err := planner.Due(s, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"0s run"}, story(d))
	require.Equal(t, s.LastFired, d.Fires[0].Previous)
}

func TestDueTellsDateAndPreviousInTheZone(t *testing.T) {
	t.Parallel()
	s := claimed(t, dag.Schedule{Cron: "0 1 * * *", Timezone: "Asia/Shanghai", Late: dag.Late{Catchup: dag.CatchupAll}}, noon.Add(-48*time.Hour))
	d, err := planner.Due(s, noon)
	require.NoError(t, err)
	require.Len(t, d.Fires, 1)
	require.Equal(t, "2026-11-30", d.Fires[0].LogicalDate) // 17:00 on the 29th in UTC
	require.Nil(t, d.Fires[0].Previous)
}

func TestDueHoldsBoundedRuns(t *testing.T) {
	t.Parallel()
	s := claimed(t, dag.Schedule{Every: dag.Duration(time.Second), Late: dag.Late{MisfireThreshold: dag.Duration(time.Hour)}}, noon.Add(-30*time.Minute))
	d, err := planner.Due(s, noon)
	require.NoError(t, err)
	require.Len(t, d.Fires, 500)
	require.Equal(t, noon.Add(-30*time.Minute+500*time.Second), d.Next.UTC())
}

func TestDueRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{`{`, `{"every":"1s"}`, `{"timezone":"UTC"}`, `{"cron":"61 * * * *","timezone":"UTC"}`} {
		_, err := planner.Due(store.DueSchedule{Spec: []byte(spec), NextFireAt: noon}, noon)
		require.Error(t, err, spec)
	}
}

// A backlog of any size is decided at once, and the next tick comes in time.
func TestR006BacklogOfAnySizeTakesBoundedTime(t *testing.T) {
	t.Parallel()
	long := dag.Duration(3650 * 24 * time.Hour)
	for _, s := range []dag.Schedule{
		{Cron: "* * * * *"}, {Cron: "* * * * * ?"}, {Every: dag.Duration(time.Second)},
		{Cron: "* * * * * ?", Late: dag.Late{Catchup: dag.CatchupNone}},
		{Cron: "* * * * * ?", Late: dag.Late{Catchup: dag.CatchupAll, CatchupLimit: 100, CatchupWindow: long}},
		{Every: dag.Duration(time.Second), Late: dag.Late{CatchupWindow: long}},
	} {
		began := time.Now()
		d, err := planner.Due(claimed(t, s, noon.Add(-400*24*time.Hour)), noon.Add(time.Millisecond))
		require.NoError(t, err)
		require.Less(t, time.Since(began), time.Second)
		require.LessOrEqual(t, len(d.Fires), 160)
		require.LessOrEqual(t, len(d.Ledger), 2)
		require.LessOrEqual(t, d.Next.Sub(noon), time.Minute)
	}
}

// drawnDue is any schedule with an instant within minutes of noon, decided a while later.
type drawnDue struct {
	schedule  dag.Schedule
	calendars []store.Calendar
	next      time.Time
	now       time.Time
	paused    bool
}

func drawDue(t *rapid.T) drawnDue {
	d := drawnDue{schedule: rapid.SampledFrom([]dag.Schedule{
		{Cron: "* * * * *"}, {Cron: "*/7 * * * *"}, {Cron: "0/20 * * * * ?"}, {Cron: "@every 45s"}, {Cron: "30 12 * * *"},
		{Every: dag.Duration(time.Second)}, {Every: dag.Duration(13500 * time.Millisecond)}, {Every: dag.Duration(time.Hour)},
	}).Draw(t, "schedule")}
	span := func(name string, most time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(1, int64(most/time.Millisecond)).Draw(t, name)) * time.Millisecond
	}
	d.schedule.Catchup = rapid.SampledFrom([]dag.Catchup{dag.CatchupLatest, dag.CatchupAll, dag.CatchupNone}).Draw(t, "catchup")
	d.schedule.CatchupWindow = dag.Duration(span("window", 40*time.Minute))
	d.schedule.CatchupLimit = rapid.IntRange(1, 20).Draw(t, "limit")
	d.schedule.MisfireThreshold = dag.Duration(span("threshold", 3*time.Minute))
	d.paused = rapid.IntRange(0, 5).Draw(t, "paused") == 0
	d.next = noon.Add(span("next", 10*time.Minute))
	d.now = d.next.Add(span("late", time.Hour) - 10*time.Minute)
	if mode := rapid.SampledFrom([]string{"", "include", "exclude"}).Draw(t, "calendar"); mode != "" {
		// In this zone the date changes at noon.
		d.schedule.Timezone, d.schedule.Calendars = "Etc/GMT-12", use(mode)
		d.calendars = holidays(rapid.SliceOf(rapid.IntRange(30, 31)).Draw(t, "holidays")...)
	}
	if rapid.Bool().Draw(t, "bounded") {
		d.schedule.Start, d.schedule.End = new(noon.Add(span("start", 15*time.Minute))), new(noon.Add(15*time.Minute+span("end", 40*time.Minute)))
	}
	return d
}

// expected lists a drawn schedule's instants from its next one to now, by walking.
func (d drawnDue) expected(t require.TestingT, anchor time.Time) []time.Time {
	raw := resolved(d.schedule)
	raw.Calendars = nil
	all, err := planner.Timetable{Spec: raw, Anchor: anchor}.Next(d.next.Add(-time.Microsecond), 4000)
	require.NoError(t, err)
	for i, at := range all {
		if at.After(d.now) {
			return all[:i]
		}
	}
	return all
}

// fate is S10 read aloud, for one expected instant; rank counts from the newest of those that are late by the threshold and
// within the window.
func (d drawnDue) fate(at time.Time, rank int) string {
	late := d.now.Sub(at)
	policy := d.schedule.Late
	switch {
	case d.excluded(at):
		return "skipped calendar"
	case d.paused:
		return "skipped paused"
	case late < time.Duration(policy.MisfireThreshold):
		return "run"
	case policy.Catchup == dag.CatchupNone:
		return "skipped catchup"
	case late > time.Duration(policy.CatchupWindow):
		return "skipped late"
	case policy.Catchup == dag.CatchupAll && rank >= policy.CatchupLimit:
		return "skipped catchup"
	case policy.Catchup == dag.CatchupLatest && rank >= 1:
		return "coalesced "
	}
	return "run"
}

func (d drawnDue) excluded(at time.Time) bool {
	if d.schedule.Calendars == nil {
		return false
	}
	zone := time.FixedZone("", 12*3600)
	there := slices.ContainsFunc(d.calendars[0].Dates, func(c time.Time) bool { return c.Format(time.DateOnly) == at.In(zone).Format(time.DateOnly) })
	return there == (d.schedule.Calendars[0].Mode == "exclude")
}

// Every expected instant has exactly one fate, and it is the right one; nothing is decided that is not expected or not yet due.
func TestDueDecidesEveryInstantOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		drawn := drawDue(rt)
		s := claimed(rt, drawn.schedule, drawn.next)
		if drawn.schedule.Start != nil {
			s.Anchor = *drawn.schedule.Start
		}
		s.Paused, s.Calendars = drawn.paused, drawn.calendars
		d, err := planner.Due(s, drawn.now)
		require.NoError(rt, err)
		expected := drawn.expected(rt, s.Anchor)
		next := drawn.now
		if d.Next != nil && !d.Next.After(drawn.now) { // the rest is for the next decision
			next = d.Next.Add(-time.Microsecond)
		}
		rank := 0
		for i := len(expected) - 1; i >= 0; i-- {
			at := expected[i]
			if at.After(next) {
				continue
			}
			want := drawn.fate(at, rank)
			require.Equal(rt, []string{want}, fatesOf(d, at), "%s", at)
			if late := drawn.now.Sub(at); late >= time.Duration(drawn.schedule.MisfireThreshold) && !drawn.excluded(at) {
				rank++
			}
		}
		require.Equal(rt, countUntil(expected, next), total(d))
		if d.Next != nil {
			require.True(rt, d.Next.After(next))
		}
	})
}

func fatesOf(d planner.Decision, at time.Time) []string {
	var fates []string
	for _, f := range d.Fires {
		if f.At.Equal(at) {
			fates = append(fates, "run")
		}
	}
	for _, row := range d.Ledger {
		until := row.At
		if row.Until != nil {
			until = *row.Until
		}
		if !at.Before(row.At) && !at.After(until) {
			fates = append(fates, string(row.Result)+" "+row.Reason)
		}
	}
	return fates
}

func total(d planner.Decision) int {
	n := len(d.Fires)
	for _, row := range d.Ledger {
		n += row.Count
	}
	return n
}

func countUntil(instants []time.Time, until time.Time) int {
	n := 0
	for _, at := range instants {
		if !at.After(until) {
			n++
		}
	}
	return n
}

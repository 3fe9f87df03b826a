package planner_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// had is a spec that a schedule had from an instant on; without keys none.
type had struct{ from, keys string }

func past(t *testing.T, specs []had, calendars ...store.Calendar) *planner.Past {
	t.Helper()
	rows := make([]store.SpecRow, len(specs))
	for i, s := range specs {
		at, err := time.Parse(time.RFC3339, s.from)
		require.NoError(t, err)
		rows[i] = store.SpecRow{From: at, Anchor: at}
		if s.keys == "broken" {
			rows[i].Spec = []byte(`{"cron": 1}`)
		} else if s.keys != "" {
			spec, err := json.Marshal(graph(t, "w", schedules("{"+s.keys+"}")).Definition().Schedules[0])
			require.NoError(t, err)
			rows[i].Spec = spec
		}
	}
	return planner.NewPast(rows, 1, calendars)
}

// moment reads an instant, or a wall clock's time.
func moment(t *testing.T, text string) planner.Moment {
	t.Helper()
	if at, err := time.Parse("2006-01-02T15:04", text); err == nil {
		return planner.Moment{Wall: at, Within: time.Minute}
	}
	at, err := time.Parse("2006-01-02T15:04Z07:00", text)
	require.NoError(t, err)
	return planner.Moment{Exact: at, Within: time.Minute}
}

func TestOutlookOfASchedule(t *testing.T) {
	t.Parallel()
	const berlin = "timezone: Europe/Berlin, cron: "
	holidays := store.Calendar{Name: "holidays", Dates: []time.Time{time.Date(2026, 12, 25, 0, 0, 0, 0, time.UTC)}}
	nightly := []had{{"2026-01-01T00:00:00Z", berlin + "30 2 * * *"}}
	edited := append(nightly, had{"2026-06-01T10:00:00Z", berlin + "0 4 * * *"}, had{"2026-07-01T10:00:00Z", ""})
	for _, c := range []struct {
		specs    []had
		moment   string
		standing planner.Standing
		at       string
		nearest  string
	}{
		{nightly, "2026-11-30T02:30", planner.Expected, "2026-11-30 02:30 +01:00", "11-29 02:30, 12-01 02:30"},
		{nightly, "2026-11-30T01:30Z", planner.Expected, "2026-11-30 02:30 +01:00", "11-29 02:30, 12-01 02:30"},
		{nightly, "2026-11-30T02:29", planner.Unplanned, "2026-11-30 02:29 +01:00", "11-29 02:30, 11-30 02:30"},
		{nightly, "2025-11-30T02:30", planner.Unregistered, "2025-11-30 02:30 +01:00", "01-01 02:30"},
		{nightly, "2025-11-30T02:00", planner.Unplanned, "2025-11-30 02:00 +01:00", "01-01 02:30"},
		// The clocks went forward: once at the first instant after, by the rule; not at all by another; not its time at all.
		{nightly, "2026-03-29T02:30", planner.Expected, "2026-03-29 03:00 +02:00", "03-28 02:30, 03-30 02:30"},
		{[]had{{"2026-01-01T00:00:00Z", berlin + "30 2 * * *, dst_gap: skip"}}, "2026-03-29T02:30", planner.InGap, "2026-03-29 03:00 +02:00", "03-28 02:30, 03-30 02:30"},
		{[]had{{"2026-01-01T00:00:00Z", berlin + "30 2 * * *, dst: quartz"}}, "2026-03-29T02:30", planner.InGap, "2026-03-29 03:00 +02:00", "03-28 02:30, 03-30 02:30"},
		{[]had{{"2026-01-01T00:00:00Z", berlin + "0 3 * * *"}}, "2026-03-29T02:30", planner.Unplanned, "2026-03-29 03:00 +02:00", "03-28 03:00, 03-30 03:00"},
		// And back: in the first pass.
		{nightly, "2026-10-25T02:30", planner.Expected, "2026-10-25 02:30 +02:00", "10-24 02:30, 10-26 02:30"},
		{nightly, "2026-10-25T01:30Z", planner.OtherPass, "2026-10-25 02:30 +01:00", "10-25 02:30, 10-26 02:30"},
		{[]had{{"2026-01-01T00:00:00Z", berlin + "30 2 * * *, dst: quartz"}}, "2026-10-25T02:30", planner.Expected, "2026-10-25 02:30 +01:00", "10-24 02:30, 10-26 02:30"},
		// Edits: what held then counts.
		{edited, "2026-05-31T02:30", planner.Expected, "2026-05-31 02:30 +02:00", "05-30 02:30, 06-01 02:30"},
		{edited, "2026-06-02T02:30", planner.Edited, "2026-06-02 02:30 +02:00", "06-01 02:30, 06-02 04:00"},
		{edited, "2026-05-31T04:00", planner.Edited, "2026-05-31 04:00 +02:00", "05-31 02:30, 06-01 02:30"},
		{edited, "2026-07-02T04:00", planner.Removed, "2026-07-02 04:00 +02:00", "07-01 04:00"},
		{edited, "2026-07-02T05:00", planner.Unplanned, "2026-07-02 05:00 +02:00", "07-01 04:00"},
		// Bounds and calendars.
		{[]had{{"2026-01-01T00:00:00Z", berlin + "30 2 * * *, start: 2026-06-01T00:00:00Z, end: 2026-06-30T00:00:00Z"}}, "2026-05-01T02:30", planner.BeforeStart, "2026-05-01 02:30 +02:00", "06-01 02:30"},
		{[]had{{"2026-01-01T00:00:00Z", berlin + "30 2 * * *, start: 2026-06-01T00:00:00Z, end: 2026-06-30T00:00:00Z"}}, "2026-07-01T02:30", planner.AfterEnd, "2026-07-01 02:30 +02:00", "06-29 02:30"},
		{[]had{{"2026-01-01T00:00:00Z", berlin + "30 2 * * *, calendars: [{name: holidays}]"}}, "2026-12-25T02:30", planner.OffCalendar, "2026-12-25 02:30 +01:00", "12-24 02:30, 12-26 02:30"},
		{[]had{{"2026-01-01T00:00:00Z", berlin + "30 2 * * *, calendars: [{name: holidays}]"}}, "2026-12-26T02:30", planner.Expected, "2026-12-26 02:30 +01:00", "12-24 02:30, 12-27 02:30"},
		{[]had{{"2026-01-01T00:00:00Z", berlin + "30 2 * * *, calendars: [{name: holidays, mode: include}]"}}, "2026-12-26T02:30", planner.OffCalendar, "2026-12-26 02:30 +01:00", "12-25 02:30"},
		// Other kinds.
		{[]had{{"2026-01-01T00:00:00Z", "every: 7h"}}, "2026-01-01T14:00Z", planner.Expected, "2026-01-01 14:00 +00:00", "01-01 07:00, 01-01 21:00"},
		{[]had{{"2026-01-01T00:00:00Z", "at: 2026-12-24T02:00:00Z"}}, "2026-12-25T02:00Z", planner.Unplanned, "2026-12-25 02:00 +00:00", "12-24 02:00"},
		{[]had{{"2026-01-01T00:00:00Z", "delay: 10m"}}, "2026-12-25T02:00Z", planner.AfterRun, "2026-12-25 02:00 +00:00", ""},
		{append(nightly, had{"2026-06-01T10:00:00Z", "broken"}), "2026-12-25T02:00Z", planner.Unreadable, "2026-12-25 03:00 +01:00", "06-01 02:30"},
		// Far away.
		{nightly, "2199-12-31T02:30", planner.Expected, "2199-12-31 02:30 +01:00", "12-30 02:30"},
		{nightly, "9999-12-31T02:30", planner.Unplanned, "9999-12-31 02:30 +01:00", ""},
		{nightly, "1900-01-01T02:30", planner.Unplanned, "1900-01-01 02:30 +01:00", "01-01 02:30"},
	} {
		began := time.Now()
		o := past(t, c.specs, holidays).Outlook(moment(t, c.moment))
		require.Less(t, time.Since(began), 5*time.Second, c.moment)
		require.Equal(t, c.standing, o.Standing, "%v at %s", c.specs, c.moment)
		require.Equal(t, c.at, o.At.Format("2006-01-02 15:04 -07:00"), "%v at %s", c.specs, c.moment)
		near := ""
		for _, n := range []*time.Time{o.Before, o.After} {
			if n != nil && near != "" {
				near += ", "
			}
			if n != nil {
				near += n.Format("01-02 15:04")
			}
		}
		require.Equal(t, c.nearest, near, "%v at %s", c.specs, c.moment)
	}
}

func TestOutlookNamesWhatMadeTheDifference(t *testing.T) {
	t.Parallel()
	p := past(t, []had{{"2026-01-01T00:00:00Z", "cron: 30 2 * * *, jitter: 30s, calendars: [{name: a}, {name: b}]"}, {"2026-06-01T10:00:00Z", "cron: 0 4 * * *, dst_overlap: both"}, {"2026-07-01T00:00:00Z", ""}},
		store.Calendar{Name: "a"}, store.Calendar{Name: "b", Dates: []time.Time{time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC)}})
	off := p.Outlook(moment(t, "2026-02-02T02:30"))
	require.Equal(t, "b", off.Calendar)
	require.False(t, off.Including)
	require.Equal(t, dag.Duration(30*time.Second), off.Spec.Jitter)
	require.Nil(t, off.From)
	require.Equal(t, "2026-06-01T10:00:00Z", off.Until.Format(time.RFC3339))
	on := p.Outlook(moment(t, "2026-02-03T02:30"))
	require.True(t, on.Due.After(on.At) && on.Due.Before(on.At.Add(30*time.Second)), fmt.Sprint(on.Due))
	was := p.Outlook(moment(t, "2026-06-02T02:30"))
	require.Equal(t, "0 4 * * *", was.Spec.Cron)
	require.Equal(t, "2026-06-01T10:00:00Z", was.Changed.Format(time.RFC3339))
	gone := p.Outlook(moment(t, "2026-07-02T03:00"))
	require.True(t, gone.Gone)
	require.Equal(t, "0 4 * * *", gone.Spec.Cron)
}

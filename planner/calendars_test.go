package planner_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// put makes the calendar holidays of some dates.
func (h *house) put(dates ...time.Time) {
	h.Helper()
	require.NoError(h, h.store.PutCalendar(h.Context(), 1, store.Calendar{Name: "holidays", Dates: dates, UpdatedBy: "user:t"}))
}

func TestDueByCalendars(t *testing.T) {
	t.Parallel()
	daily := dag.Schedule{Cron: "0 12 * * *", Calendars: use("exclude")}
	s := claimed(t, daily, noon)
	s.Calendars = holidays(30)
	d, err := planner.Due(s, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"0s skipped calendar"}, story(d))
	require.Equal(t, "24h0m0s", after(d.Next), "each comes in its time")

	s = claimed(t, daily, noon.Add(-5*24*time.Hour))
	s.Calendars = holidays(25, 27, 28)
	d, err = planner.Due(s, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"-120h0m0s skipped calendar", "-96h0m0s skipped late", "-72h0m0s skipped calendar until -48h0m0s, 2", "-24h0m0s run", "0s run"}, story(d))

	s.Calendars = nil
	_, err = planner.Due(s, noon)
	require.ErrorContains(t, err, "holidays")
}

// A backlog of years by every second is decided in bounded time, calendars or not.
func TestR006CalendarsTakeBoundedTime(t *testing.T) {
	t.Parallel()
	s := claimed(t, dag.Schedule{Cron: "* * * * * ?", Calendars: use("exclude")}, noon.Add(-400*24*time.Hour))
	s.Calendars = holidays(-300, -200, -199, 1, 2, 3, 30)
	began := time.Now()
	d, err := planner.Due(s, noon)
	require.NoError(t, err)
	require.Less(t, time.Since(began), time.Second)
	require.Less(t, len(d.Ledger), 15)
	require.Equal(t, 400*86400+1, total(d))
}

func TestListedFiresLeaveOutWhatCalendarsExclude(t *testing.T) {
	t.Parallel()
	days := func(mode string) []string {
		got, err := planner.Timetable{Spec: resolved(dag.Schedule{Cron: "0 12 * * *", Calendars: use(mode)}), Calendars: holidays(30, 32)}.Next(noon.Add(-time.Hour), 3)
		require.NoError(t, err)
		var out []string
		for _, at := range got {
			out = append(out, at.Format(time.DateOnly))
		}
		return out
	}
	require.Equal(t, []string{"2026-12-01", "2026-12-03", "2026-12-04"}, days("exclude"))
	require.Equal(t, []string{"2026-11-30", "2026-12-02"}, days("include"), "and then it is over")
}

func TestSchedulesGoByTheCalendarOfTheMoment(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := graph(t, "w", schedules("{cron: '* * * * *', calendars: [{name: holidays}]}"))
	_, err := planner.Register(t.Context(), h.store, planner.Registration{Namespace: "default", Graph: g, Actor: "user:t"})
	var problems dag.Problems
	require.ErrorAs(t, err, &problems)
	require.Equal(t, "schedules[0].calendars[0].name", problems[0].Path)
	require.Equal(t, dag.CodeUnknownCalendar, problems[0].Code)

	today := time.Now().UTC()
	h.put(today.AddDate(0, 0, -1), today, today.AddDate(0, 0, 1))
	w := h.registerGraph(g).Workflow
	h.back(w, time.Minute-time.Millisecond)
	h.fire()
	require.Equal(t, map[string]int{"skipped calendar": 1}, h.ledger(w))
	h.put()
	h.exec("DELETE FROM ax.fires")
	h.back(w, time.Minute-time.Millisecond)
	h.fire()
	require.Equal(t, []string{"fired"}, keys(h.ledger(w)))

	var used *store.CalendarInUseError
	require.ErrorAs(t, h.store.DeleteCalendar(t.Context(), 1, "holidays"), &used)
	require.Equal(t, []string{"w"}, used.Workflows)
	h.register("w", schedules("{cron: '* * * * *'}"))
	require.NoError(t, h.store.DeleteCalendar(t.Context(), 1, "holidays"))
	require.ErrorIs(t, h.store.DeleteCalendar(t.Context(), 1, "holidays"), store.ErrNotFound)
}

func TestADelayWaitsForTheEndOfAnExcludedDay(t *testing.T) {
	t.Parallel()
	s := claimed(t, dag.Schedule{Delay: dag.Duration(time.Second), Calendars: use("exclude")}, noon)
	s.Calendars = holidays(30)
	d, err := planner.Due(s, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"0s skipped calendar"}, story(d))
	require.Equal(t, "12h0m0s", after(d.Next))
	require.Zero(t, d.Wait)
}

func TestDSTSettingsComeThroughRegistration(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", schedules("{cron: '30 2 * * *', timezone: Europe/Berlin, dst_gap: skip, dst_overlap: both}")).Workflow
	rows, err := h.store.Schedules(t.Context(), w)
	require.NoError(t, err)
	require.Contains(t, string(rows[0].Spec), `"dst_gap":"skip","dst_overlap":"both"`)
	list := func(from string) []string {
		return zoned(t, dag.Schedule{Cron: "30 2 * * *", Timezone: "Europe/Berlin", DSTGap: "skip", DSTOverlap: "both"}, from, 2)
	}
	require.Equal(t, []string{"2027-03-27T01:30:00Z", "2027-03-29T00:30:00Z"}, list("2027-03-27T00:00:00Z"))
	require.Equal(t, []string{"2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z"}, list("2027-10-30T12:00:00Z"))
}

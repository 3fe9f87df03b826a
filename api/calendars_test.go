package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag"
)

const onWorkdays = `
workflow: workdays
schedules: [{cron: "0 6 * * *", timezone: UTC, calendars: [{name: holidays}]}]
nodes: {a: {handler: a}}
`

func TestCalendars(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	path := ns + "/calendars/holidays"
	p := b.put(ns+"/workflows/workdays?dry_run=true", onWorkdays).problem(http.StatusUnprocessableEntity)
	require.Equal(t, []string{"body.schedules[0].calendars[0].name " + dag.CodeUnknownCalendar}, codes(p))
	b.put(ns+"/workflows/workdays", onWorkdays).problem(http.StatusUnprocessableEntity)

	tomorrow := time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	put := func(body string) reply { return b.do(http.MethodPut, path, "application/json", body) }
	made := as[api.Calendar](put(`{"title": "Days off", "dates": ["2027-01-01", "` + tomorrow + `", "2027-01-01"]}`).is(http.StatusOK))
	require.Equal(t, []string{tomorrow, "2027-01-01"}, made.Dates)
	require.Equal(t, "user:local", made.UpdatedBy)
	require.Equal(t, made, as[api.Calendar](b.get(path).is(http.StatusOK)))
	require.Equal(t, []api.Calendar{made}, as[api.Page[api.Calendar]](b.get(ns+"/calendars")).Items)
	p = put(`{"dates": ["2027-02-30", "x", "2027-01-01"]}`).problem(http.StatusUnprocessableEntity)
	require.Len(t, p.Errors, 2)

	for _, query := range []string{"?dry_run=true", ""} {
		got := as[api.Registered](b.put(ns+"/workflows/workdays"+query, onWorkdays))
		for _, f := range got.Upcoming[0].Fires {
			require.NotEqual(t, tomorrow, f.UTC.Format(time.DateOnly), query)
		}
	}
	for _, f := range as[api.Page[api.Fire]](b.get(ns + "/workflows/workdays/fires?to=2027-06-01T00:00:00Z")).Items {
		require.NotEqual(t, tomorrow, f.ScheduledAt.Format(time.DateOnly))
	}
	p = b.do(http.MethodDelete, path, "", "").problem(http.StatusConflict)
	require.Contains(t, p.Detail, "workdays")
	put(`{"dates": []}`).is(http.StatusOK)
	b.put(ns+"/workflows/workdays", "workflow: workdays\nnodes: {a: {handler: a}}").is(http.StatusCreated)
	b.do(http.MethodDelete, path, "", "").is(http.StatusNoContent)
	b.do(http.MethodDelete, path, "", "").problem(http.StatusNotFound)
	b.get(path).problem(http.StatusNotFound)
}

func TestResumingMakesUpOnRequest(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("hourly", hourly)
	b.post(ns+"/workflows/hourly/pause", `{}`).is(http.StatusOK)
	b.exec("UPDATE ax.workflows SET paused_at = now() - interval '5 hours'")
	b.exec("UPDATE ax.schedules SET next_fire_at = now() - interval '5 hours'")
	got := as[api.ResumedWorkflow](b.post(ns+"/workflows/hourly/resume", `{"catchup": "latest"}`).is(http.StatusOK))
	require.Len(t, got.Filled, 2, "one of each schedule")
	require.Nil(t, got.Paused)
	for _, f := range got.Filled {
		require.Equal(t, "fill", f.Kind)
		run := as[api.RunDetail](b.get(ns + "/runs/" + f.Run).is(http.StatusOK))
		require.Equal(t, "catchup", run.Trigger)
		require.Equal(t, f.ScheduledAt, run.ScheduledAt)
	}
}

package main

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

func someForecast() api.Forecast {
	points := func(means ...float64) (all []api.ForecastPoint) {
		for i, m := range means {
			all = append(all, api.ForecastPoint{At: *moment(i * 3600), Mean: m})
		}
		return all
	}
	return api.Forecast{From: *moment(0), To: *moment(86400), RunsTotal: 5, Warnings: []string{"no worker takes from queue big now: it is taken to have no limit"},
		Runs: []api.ForecastRun{
			{Workflow: "report.daily", Schedule: "nightly", ScheduledAt: *moment(600), FiresAt: *moment(600), StartsAt: moment(600), EndsAt: moment(5000),
				LatestAt: moment(9000), Outcome: "ends", WaitedS: 75.25},
			{Workflow: "orders.sync", ScheduledAt: *moment(700), FiresAt: *moment(700), Outcome: "skipped"},
		},
		Loads: []api.ForecastLoad{
			{Kind: "pool", Name: "erp", Capacity: new(4), Peak: 4, WaitedS: 75.25, Points: points(0, 0.1, 1, 2, 3, 4)},
			{Kind: "queue", Name: "default", Peak: 10, Points: points(10, 5, 0, 0, 0, 0)},
		},
		Collisions: []api.ForecastCollision{
			{Kind: "pool", Name: "erp", From: *moment(600), To: *moment(800), Most: 3, Workflows: []string{"report.daily", "orders.sync"}},
			{Kind: "overlap", Name: "orders.sync", From: *moment(700), To: *moment(900), Most: 1, Workflows: []string{"orders.sync"}},
		},
		Misses: []api.ForecastMiss{
			{Kind: "deadline", Workflow: "report.daily", Schedule: "nightly", ScheduledAt: *moment(600), Due: *moment(4000), EndsAt: moment(5000)},
			{Kind: "timeout", Workflow: "orders.sync", ScheduledAt: *moment(700), Due: *moment(4300), EndsAt: moment(4400), Possible: true},
			{Kind: "deadline", Workflow: "orders.sync", ScheduledAt: *moment(700), Due: *moment(4500)},
		},
		Ways: []api.ForecastWay{{Workflow: "report.daily", TakesS: 4400, Nodes: []string{"extract", "clean", "push"}}},
	}
}

func TestForecastIsShown(t *testing.T) {
	var query, definition string
	note := func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		query, definition = r.URL.Query().Encode(), string(text)
		answer(someForecast())(w, r)
	}
	s := newStage(t, map[string]http.HandlerFunc{"GET forecast": note, "POST forecast": note})
	sh := at(s.URL)
	golden(t, "forecast.golden", sh.ax("forecast", "--from", "1h", "--to", "2026-12-01T09:00:00Z", "--workflow", "report.daily", "-n", "2").good(t))
	require.Equal(t, "from=2026-11-30T10%3A00%3A00Z&limit=2&to=2026-12-01T09%3A00%3A00Z&workflow=report.daily", query)
	require.Empty(t, definition)
	require.Contains(t, sh.ax("forecast", "-o", "json").good(t), `"runs_total": 5`)

	sh.ax("forecast", "--what-if", "testdata/good.yaml").good(t)
	require.Contains(t, definition, "workflow: ")
	sh.ax("forecast", "--what-if", "testdata/broken/cycle.yaml").fails(t, exitUsage, "cycle.yaml")
	sh.ax("forecast", "--limit", "0").fails(t, exitUsage, "--limit")
	sh.ax("forecast", "--to", "soon").fails(t, exitUsage, "soon")
}

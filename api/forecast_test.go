package api_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

const (
	sales = "workflow: sales\nschedules: [{name: often, every: 10m}]\nnodes:\n  read: {handler: h, pool: erp}\n  sum: {handler: h, needs: [read]}\n"
	bills = "workflow: bills\nschedules: [{name: often, every: 10m}]\nalerts: [{on: deadline, after: 6m}]\nnodes: {write: {handler: h, pool: erp}}\n"
)

// lived writes a run of the past, of which one node took some time.
func (b *bed) lived(workflow, node string, took time.Duration) {
	b.Helper()
	_, err := b.pool.Exec(b.Context(), `WITH r AS (
			INSERT INTO ax.runs (id, namespace_id, workflow_id, version_id, state, priority, trigger, actor, scheduled_at, logical_date, params, finished_at)
			SELECT ax.next_run_id(), namespace_id, id, version_id, 'succeeded', 2, 'manual', 'user:t', now(), now()::date, '{}', now()
			FROM ax.workflows WHERE code = $1 RETURNING id)
		INSERT INTO ax.node_runs (run_id, node, shard, generation, attempt, state, outcome, actor, started_at, finished_at)
		SELECT id, $2, -1, 1, 1, 'succeeded', 'succeeded', 'worker:t', now() - $3::interval, now() FROM r`, workflow, node, took)
	require.NoError(b, err)
}

func (b *bed) forecast(query string) api.Forecast {
	b.Helper()
	return as[api.Forecast](b.get(ns + "/forecast?" + query).is(http.StatusOK))
}

func in(d time.Duration) string { return url.QueryEscape(time.Now().Add(d).Format(time.RFC3339)) }

func newForecastBed(t *testing.T) *bed {
	b := newBed(t)
	b.putPool("erp", `{"slots": 1}`).is(http.StatusCreated)
	for _, text := range []string{sales, bills} {
		b.put(ns+"/workflows/"+text[len("workflow: "):len("workflow: ")+5], text).is(http.StatusCreated)
	}
	for range 3 {
		b.lived("sales", "read", 4*time.Minute)
		b.lived("sales", "sum", time.Minute)
		b.lived("bills", "write", 3*time.Minute)
	}
	return b
}

func TestForecast(t *testing.T) {
	t.Parallel()
	b := newForecastBed(t)
	f := b.forecast("points=6&to=" + in(time.Hour))
	require.InDelta(t, 11, f.RunsTotal, 1)
	require.Len(t, f.Runs, f.RunsTotal)
	first := f.Runs[0]
	require.Equal(t, "ends", first.Outcome)
	require.Equal(t, first.FiresAt, *first.StartsAt)
	require.False(t, first.EndsAt.After(*first.LatestAt))
	require.NotEmpty(t, f.Collisions)
	require.Equal(t, []string{"pool", "erp"}, []string{f.Collisions[0].Kind, f.Collisions[0].Name})
	require.NotEmpty(t, f.Misses, "of two that need the pool at once for four minutes and three, the second is late")
	require.Equal(t, []string{"deadline", "bills"}, []string{f.Misses[0].Kind, f.Misses[0].Workflow})
	require.Equal(t, []api.ForecastWay{{Workflow: "bills", TakesS: 180, Nodes: []string{"write"}}}, f.Ways)
	erp := f.Loads[0]
	require.Equal(t, []any{"pool", "erp", 1, 1, 6}, []any{erp.Kind, erp.Name, *erp.Capacity, erp.Peak, len(erp.Points)})
	require.Positive(t, erp.WaitedS)
	require.Equal(t, "queue", f.Loads[1].Kind)
	require.Nil(t, f.Loads[1].Capacity)
	require.Equal(t, []string{"no worker takes from queue default now: it is taken to have no limit"}, f.Warnings)

	only := b.forecast("workflow=sales&limit=1&to=" + in(time.Hour))
	require.Len(t, only.Runs, 1)
	require.Equal(t, []any{"sales", []api.ForecastMiss{}, []string{"read", "sum"}}, []any{only.Runs[0].Workflow, only.Misses, only.Ways[0].Nodes})
	require.Equal(t, 300.0, only.Ways[0].TakesS)
}

func TestForecastKnowsOfPausesAndOfRunsInAdvance(t *testing.T) {
	t.Parallel()
	b := newForecastBed(t)
	b.post(ns+"/workflows/sales/pause", `{"reason": "rest"}`).is(http.StatusOK)
	b.post(ns+"/pools/erp/pause", `{"reason": "rest"}`).is(http.StatusOK)
	b.post(ns+"/workflows/bills/runs", `{"run_at": "`+time.Now().Add(5*time.Minute).Format(time.RFC3339)+`"}`).is(http.StatusAccepted)
	f := b.forecast("to=" + in(9*time.Minute))
	require.Len(t, f.Runs, 1)
	require.Equal(t, []string{"bills", "", "stuck"}, []string{f.Runs[0].Workflow, f.Runs[0].Schedule, f.Runs[0].Outcome})
	require.Nil(t, f.Runs[0].EndsAt)
	require.Contains(t, f.Warnings[0], "pool erp is paused")
}

func TestForecastOfWhatIsNotRegistered(t *testing.T) {
	t.Parallel()
	b := newForecastBed(t)
	whatIf := func(definition string) reply {
		return b.do(http.MethodPost, ns+"/forecast?to="+in(time.Hour), "application/yaml", definition)
	}
	calm := as[api.Forecast](whatIf("workflow: bills\nschedules: [{every: 20m}]\nnodes: {write: {handler: h}}\n").is(http.StatusOK))
	require.Empty(t, calm.Collisions)
	require.Empty(t, calm.Misses)
	require.InDelta(t, 8, calm.RunsTotal, 1)
	more := as[api.Forecast](whatIf("workflow: more\nschedules: [{delay: 10m}]\nnodes: {write: {handler: h, pool: erp}}\n").is(http.StatusOK))
	require.Contains(t, more.Warnings[len(more.Warnings)-1], "of 1 nodes in 1 workflows, such as of more")
	require.Greater(t, more.RunsTotal, 12)
	require.Equal(t, 1, more.Loads[0].Peak)
	b.get(ns + "/workflows/more").problem(http.StatusNotFound)
	require.NotContains(t, b.get("/api/v1/audit").is(http.StatusOK).text, "what-if", "nothing was changed")

	require.NotEmpty(t, whatIf("workflow: more\nnodes: {a: {handler: h, needs: [b]}}\n").problem(http.StatusUnprocessableEntity).Errors)
	require.NotEmpty(t, whatIf("workflow: more\nnodes: {a: {handler: h, pool: nowhere}}\n").problem(http.StatusUnprocessableEntity).Errors)
	require.NotEmpty(t, whatIf("workflow: more\nschedules: [{every: 1h, calendars: [{name: nowhere}]}]\nnodes: {a: {handler: h}}\n").problem(http.StatusUnprocessableEntity).Errors)
}

func TestForecastIsBounded(t *testing.T) {
	t.Parallel()
	b := newForecastBed(t)
	for query, location := range map[string]string{
		"to=" + in(-time.Hour):                             "query.to",
		"to=" + in(32*24*time.Hour):                        "query.to",
		"from=" + in(2*time.Hour) + "&to=" + in(time.Hour): "query.to",
		"points=0":   "query.points",
		"points=289": "query.points",
		"limit=-1":   "query.limit",
	} {
		require.Equal(t, location, b.get(ns + "/forecast?" + query).problem(http.StatusUnprocessableEntity).Errors[0].Location, query)
	}
	b.get(ns + "/forecast?workflow=gone").problem(http.StatusNotFound)
	b.get("/api/v1/namespaces/gone/forecast").problem(http.StatusNotFound)
	require.Equal(t, 24*time.Hour, func() time.Duration { f := b.forecast("limit=0"); return f.To.Sub(f.From) }())

	b.put(ns+"/workflows/busy", "workflow: busy\nschedules: [{every: 1s}]\nnodes: {a: {handler: h, for_each: '[1]'}}\n").is(http.StatusCreated)
	p := b.get(ns + "/forecast?to=" + in(30*24*time.Hour)).problem(http.StatusUnprocessableEntity)
	require.Contains(t, p.Errors[0].Message, "more than 200000 fires")
	b.put(ns+"/workflows/busy", "workflow: busy\nconcurrency: {max_runs: 1000}\nschedules: [{every: 1s}]\nnodes: {a: {handler: h, shards: 1000}}\n").is(http.StatusCreated)
	p = b.get(ns + "/forecast?to=" + in(10*time.Hour)).problem(http.StatusUnprocessableEntity)
	require.Contains(t, p.Errors[0].Message, "more than 2000000 node runs")
}

package api_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/internal/store"
)

const hourly = `
workflow: hourly
schedules:
  - {name: a, cron: "0 * * * *", timezone: UTC}
  - {name: b, cron: "30 * * * *", timezone: UTC}
nodes: {n: {handler: n}}
`

func TestFiresTellWhatBecameOfEachAndWhatIsToCome(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("hourly", hourly)
	run := b.trigger("hourly", `{}`)
	namespace, err := b.store.Namespace(t.Context(), "default")
	require.NoError(t, err)
	w, err := b.store.Workflow(t.Context(), namespace, "hourly")
	require.NoError(t, err)
	schedules, err := b.store.Schedules(t.Context(), w.ID)
	require.NoError(t, err)
	require.Len(t, schedules, 2)

	now := time.Now().UTC().Truncate(time.Hour)
	last := now.Add(-5 * time.Hour)
	require.NoError(t, b.store.InTx(t.Context(), func(tx pgx.Tx) error {
		return b.store.WriteFires(t.Context(), tx, []store.Fire{
			{Schedule: schedules[0].ID, At: now.Add(-9 * time.Hour), Until: &last, Count: 5, Result: store.SkippedFire, Reason: store.SkipPaused},
			{Schedule: schedules[0].ID, At: now.Add(-4 * time.Hour), Count: 1, Result: store.Fired, Run: b.runID(run.ID)},
			{Schedule: schedules[1].ID, At: now.Add(-4 * time.Hour).Add(30 * time.Minute), Count: 1, Result: store.FailedFire, Reason: "no"},
		}, nil)
	}))

	path := ns + "/workflows/hourly/fires"
	ledger := as[api.Page[api.Fire]](b.get(path).is(http.StatusOK)).Items
	require.Len(t, ledger, 3)
	require.Equal(t, []string{"failed", "fired", "skipped"}, []string{ledger[0].Result, ledger[1].Result, ledger[2].Result})
	require.Equal(t, run.ID, ledger[1].Run)
	require.Equal(t, 5, ledger[2].Count)
	require.Equal(t, last, *ledger[2].Until)
	require.Equal(t, "paused", ledger[2].Reason)

	until := now.Add(5 * time.Hour)
	to := until.Format(time.RFC3339)
	toCome := 0.0
	for _, s := range schedules {
		toCome += math.Ceil(until.Sub(*s.NextFireAt).Hours())
	}
	var got []api.Fire
	cursor := ""
	for {
		p := as[api.Page[api.Fire]](b.get(path + "?limit=2&to=" + to + "&cursor=" + cursor).is(http.StatusOK))
		got = append(got, p.Items...)
		if cursor = p.NextCursor; cursor == "" {
			break
		}
	}
	require.Len(t, got, 3+int(toCome))
	for i := 1; i < len(got); i++ {
		require.True(t, got[i].ScheduledAt.Before(got[i-1].ScheduledAt), "newest first")
	}
	require.Equal(t, "expected", got[0].Result)
	require.Equal(t, ledger, got[len(got)-3:])

	b.post(ns+"/workflows/hourly/pause", `{"reason": "maintenance"}`).is(http.StatusOK)
	far := as[api.Page[api.Fire]](b.get(path + "?limit=500&to=9999-12-31T00:00:00Z").is(http.StatusOK))
	require.Len(t, far.Items, 500, "at most 500 expected ones, the nearest")
	require.Equal(t, "paused", far.Items[0].Reason)
	require.Empty(t, as[api.Page[api.Fire]](b.get(path+"?to=2000-01-01T00:00:00Z")).Items)
	b.get(path + "?to=soon").problem(http.StatusUnprocessableEntity)
	b.get(ns + "/workflows/none/fires").problem(http.StatusNotFound)
}

// What is asked for may reach back behind the beginning of the ledger, which the last page says.
func TestFiresTellWhereTheLedgerBegins(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("hourly", hourly)
	path := ns + "/workflows/hourly/fires"
	require.Nil(t, as[api.FirePage](b.get(path).is(http.StatusOK)).PrunedUntil)
	b.exec("INSERT INTO ax.ledger_starts SELECT id, '2026-08-01T00:00:00Z' FROM ax.schedules WHERE name = 'a'")
	b.exec("INSERT INTO ax.fires (schedule_id, scheduled_at, result) SELECT id, at, 'fired' FROM ax.schedules, generate_series('2026-09-01'::timestamptz, '2026-09-03', '1 day') at WHERE name = 'a'")
	first := as[api.FirePage](b.get(path + "?limit=2").is(http.StatusOK))
	require.Nil(t, first.PrunedUntil)
	last := as[api.FirePage](b.get(path + "?limit=2&cursor=" + first.NextCursor).is(http.StatusOK))
	require.Equal(t, "2026-08-01T00:00:00Z", last.PrunedUntil.Format(time.RFC3339))
	require.Nil(t, as[api.FirePage](b.get(path+"?from=2026-08-02T00:00:00Z").is(http.StatusOK)).PrunedUntil)

	b.exec("UPDATE ax.schedule_specs SET valid_from = '2026-01-01'")
	require.Contains(t, b.get(ns+"/why?workflow=hourly&at=2026-06-01T05:00:00Z").is(http.StatusOK).text, "the ledger up to")
	require.NotContains(t, b.get(ns+"/why?workflow=hourly&at=2026-08-02T05:00:00Z").is(http.StatusOK).text, "the ledger up to")
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("hourly", hourly)
	paused := as[api.WorkflowDetail](b.post(ns+"/workflows/hourly/pause", `{"reason": "maintenance"}`).is(http.StatusOK))
	require.Equal(t, "maintenance", paused.Paused.Reason)
	require.Equal(t, "user:local", paused.Paused.By)
	again := as[api.WorkflowDetail](b.do(http.MethodPost, ns+"/workflows/hourly/pause", "", "").is(http.StatusOK))
	require.Equal(t, paused.Paused.At, again.Paused.At)
	require.Nil(t, as[api.ResumedWorkflow](b.post(ns+"/workflows/hourly/resume", `{}`).is(http.StatusOK)).Paused)
	require.Nil(t, as[api.ResumedWorkflow](b.post(ns+"/workflows/hourly/resume", `{}`).is(http.StatusOK)).Paused)
	b.post(ns+"/workflows/hourly/resume", `{"catchup": "some"}`).problem(http.StatusUnprocessableEntity)
	b.post(ns+"/workflows/none/pause", `{}`).problem(http.StatusNotFound)
}

func TestWorkflowsAndVersionsArePaged(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, code := range []string{"one", "two", "three"} {
		b.register(code, "workflow: "+code+"\nnodes: {a: {handler: a}}")
	}
	b.register("one", "workflow: one\nnodes: {b: {handler: b}}")
	run := b.trigger("one", `{}`)

	p := as[api.Page[api.Workflow]](b.get(ns + "/workflows?limit=2").is(http.StatusOK))
	require.Equal(t, []string{"three", "two"}, []string{p.Items[0].Workflow, p.Items[1].Workflow})
	b.register("four", "workflow: four\nnodes: {a: {handler: a}}")
	p = as[api.Page[api.Workflow]](b.get(ns + "/workflows?limit=2&cursor=" + p.NextCursor).is(http.StatusOK))
	require.Len(t, p.Items, 1)
	require.Equal(t, "one", p.Items[0].Workflow)
	require.Equal(t, &api.LastRun{ID: run.ID, State: "running"}, p.Items[0].LastRun)
	require.Empty(t, p.NextCursor)

	v := as[api.Page[api.Version]](b.get(ns + "/workflows/one/versions?limit=1").is(http.StatusOK))
	require.Equal(t, 2, v.Items[0].Version)
	require.Empty(t, v.Items[0].Definition)
	v = as[api.Page[api.Version]](b.get(ns + "/workflows/one/versions?cursor=" + v.NextCursor).is(http.StatusOK))
	require.Equal(t, 1, v.Items[0].Version)
	first := as[api.Version](b.get(ns + "/workflows/one/versions/1").is(http.StatusOK))
	require.Contains(t, string(first.Definition), `"a"`)
	require.Equal(t, "user:local", first.CreatedBy)
	b.get(ns + "/workflows/one/versions/3").problem(http.StatusNotFound)
	b.get(ns + "/workflows/one/versions/0").problem(http.StatusUnprocessableEntity)
	b.get(ns + "/workflows/one/versions/99999999999").problem(http.StatusUnprocessableEntity)
}

package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/planner"
)

const nightly = `
workflow: nightly
params: {day: {type: string, default: today}}
schedules: [{name: main, cron: "0 2 * * *", timezone: Asia/Shanghai}]
nodes: {a: {handler: a}}
`

// backfills is the state of one backfill after some time.
func (b *bed) backfillUntil(id string, fits func(api.Backfill) bool) (got api.Backfill) {
	b.Helper()
	require.Eventually(b, func() bool {
		got = as[api.Backfill](b.get(ns + "/backfills/" + id).is(http.StatusOK))
		return fits(got)
	}, 20*time.Second, 10*time.Millisecond)
	return got
}

func TestBackfillsAreMadeByPlans(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("nightly", nightly)
	const body = `"workflow": "nightly", "from": "2026-03-01", "to": "2026-03-05", "max_runs": 2, "params": {"day": "x"}, "reason": "lost a disk"`
	plan := as[api.Plan](b.post(ns+"/backfills?dry_run=true", "{"+body+"}").is(http.StatusOK))
	require.Equal(t, "backfill nightly from 2026-03-01 to 2026-03-05: 5 runs for 5 instants", plan.Title)
	require.Equal(t, map[string]int{"run": 5}, plan.Counts)
	require.Equal(t, api.PlanItem{Schedule: "main", ScheduledAt: "2026-03-01T02:00:00+08:00", Action: "run"}, plan.Items[0])
	require.Empty(t, as[api.Page[api.Backfill]](b.get(ns+"/backfills")).Items)
	b.post(ns+"/backfills", `{"workflow": "nightly", "from": "2026-03-02", "plan": "`+plan.Token+`"}`).problem(http.StatusConflict)

	made := b.post(ns+"/backfills", "{"+body+`, "plan": "`+plan.Token+`"}`).is(http.StatusCreated)
	got := as[api.Backfill](made)
	require.Equal(t, ns+"/backfills/"+got.ID, made.header.Get("Location"))
	require.Equal(t, api.Progress{Total: 5, Left: 5}, got.Progress)
	p := planner.New(planner.Config{Store: b.store, Launcher: b.launcher})
	require.NoError(t, p.Start(t.Context()))
	b.backfillUntil(got.ID, func(b api.Backfill) bool { return b.Progress.Active == 2 })

	slots := as[api.Page[api.BackfillSlot]](b.get(ns + "/backfills/" + got.ID + "/slots?limit=1").is(http.StatusOK))
	require.Equal(t, "2026-03-01T18:00:00Z", slots.Items[0].ScheduledAt.Format(time.RFC3339), "newest first")
	more := as[api.Page[api.BackfillSlot]](b.get(ns + "/backfills/" + got.ID + "/slots?limit=1&cursor=" + slots.NextCursor).is(http.StatusOK))
	require.Equal(t, "active", more.Items[0].State)
	run := as[api.RunDetail](b.get(ns + "/runs/" + more.Items[0].Run))
	require.Equal(t, []any{got.ID, "backfill", "2026-03-01"}, []any{run.Backfill, run.Trigger, run.LogicalDate})

	b.post(ns+"/backfills", "{"+body+`, "plan": "`+plan.Token+`"}`).problem(http.StatusConflict)
	act := func(verb, body string) reply { return b.post(ns+"/backfills/"+got.ID+"/"+verb, body) }
	require.Equal(t, "paused", as[api.Backfill](act("pause", `{"reason": "month end"}`).is(http.StatusOK)).State)
	act("pause", "").problem(http.StatusConflict)
	held := as[api.Plan](act("resume?dry_run=true", "").is(http.StatusOK))
	require.Contains(t, held.Title, "3 of 5 instants are left")
	resumed := as[api.Backfill](act("resume", `{"plan": "`+held.Token+`"}`).is(http.StatusOK))
	require.Equal(t, "running", resumed.State)
	problem := act("resume", `{"plan": "`+held.Token+`"}`).problem(http.StatusConflict)
	require.Equal(t, "plan_changed", problem.Errors[0].Code)

	b.exec("UPDATE ax.runs SET state = 'failed' WHERE state = 'running'")
	b.backfillUntil(got.ID, func(b api.Backfill) bool { return b.Progress.Failed == 2 && b.Progress.Active == 2 })
	again := as[api.Plan](act("retry_failed?dry_run=true", "").is(http.StatusOK))
	require.Equal(t, map[string]int{"retry": 2}, again.Counts)
	require.Equal(t, "failed", again.Items[0].Reason)
	stop := as[api.Plan](act("cancel?dry_run=true", "").is(http.StatusOK))
	require.Equal(t, map[string]int{"cancel": 2}, stop.Counts)
	require.Equal(t, "canceled", as[api.Backfill](act("cancel", `{"plan": "`+stop.Token+`"}`).is(http.StatusOK)).State)
	act("retry_failed", "").problem(http.StatusConflict)
	require.NoError(t, p.Stop(t.Context()))

	list := as[api.Page[api.Backfill]](b.get(ns + "/backfills?workflow=nightly&state=canceled")).Items
	require.Len(t, list, 1)
	require.Equal(t, []any{"lost a disk", []string{"main"}, "oldest", "missing"}, []any{list[0].Reason, list[0].Schedules, list[0].Order, list[0].Reprocess})
	require.Empty(t, as[api.Page[api.Backfill]](b.get(ns+"/backfills?state=running")).Items)
	require.Equal(t, int64(2), b.number("SELECT count(*) FROM ax.run_intents WHERE kind = 'cancel'"))
}

func (b *bed) number(sql string) (n int64) {
	b.Helper()
	require.NoError(b, b.pool.QueryRow(b.Context(), sql).Scan(&n))
	return n
}

func TestWhatCannotBeBackfilled(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("nightly", nightly)
	for body, location := range map[string]string{
		`{"workflow": "nightly", "from": "soon"}`:                                                "body.from",
		`{"workflow": "nightly", "from": "2026-03-01", "to": "2026-02-01"}`:                      "body.to",
		`{"workflow": "nightly", "from": "2026-03-01", "schedules": ["other"]}`:                  "body.schedules",
		`{"workflow": "nightly", "from": "2026-03-01", "version": 7}`:                            "body.version",
		`{"workflow": "nightly", "from": "2026-03-01", "to": "2026-03-01", "params": {"no": 1}}`: "body.params",
		`{"workflow": "nightly", "from": "2026-03-01", "max_runs": 0.5}`:                         "body.max_runs",
		`{"workflow": "nightly", "from": "2026-03-01", "reprocess": "some"}`:                     "body.reprocess",
	} {
		for _, path := range []string{"/backfills", "/backfills?dry_run=true"} {
			p := b.post(ns+path, body).problem(http.StatusUnprocessableEntity)
			require.Equal(t, location, p.Errors[0].Location, body)
		}
	}
	b.post(ns+"/backfills", `{"workflow": "other", "from": "2026-03-01"}`).problem(http.StatusNotFound)
	for _, id := range []string{"x", "7zzzzzzzzzzzz"} {
		b.get(ns + "/backfills/" + id).problem(http.StatusNotFound)
		b.get(ns + "/backfills/" + id + "/slots").problem(http.StatusNotFound)
		for _, verb := range []string{"pause", "resume", "cancel", "retry_failed"} {
			b.post(fmt.Sprintf("%s/backfills/%s/%s", ns, id, verb), "{}").problem(http.StatusNotFound)
		}
	}
}

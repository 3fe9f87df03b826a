package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// cause is one thing that there may be to tell, and how it comes about.
type cause struct {
	name string
	make func(b *bed, code string) api.Why
}

// causes of the schedule: whether anything was to happen at all (S4, S7, S10).
var scheduleCauses = []cause{
	{"never expected then", func(b *bed, code string) api.Why { return newNight(b, code, everyNight).ask("2025-11-10T03:00") }},
	{"given in another zone", func(b *bed, code string) api.Why {
		return newNight(b, code, everyNight).ask("2025-11-10T02:30:00+08:00")
	}},
	{"by hand alone", func(b *bed, code string) api.Why { return newNight(b, code, "").ask(question) }},
	{"before its start", func(b *bed, code string) api.Why {
		return newNight(b, code, `schedules: [{name: nightly, cron: "30 2 * * *", timezone: Europe/Berlin, start: 2025-12-01T00:00:00+01:00}]`).ask(question)
	}},
	{"after its end", func(b *bed, code string) api.Why {
		return newNight(b, code, `schedules: [{name: nightly, cron: "30 2 * * *", timezone: Europe/Berlin, start: 2024-12-01T00:00:00+01:00, end: 2025-11-01T00:00:00+01:00}]`).ask(question)
	}},
	{"not registered yet", func(b *bed, code string) api.Why { return newNight(b, code, everyNight).ask("2023-11-10T02:30") }},
	{"edited since", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		n.respec("2025-11-01T09:00:00+01:00", `schedules: [{name: nightly, cron: "0 4 * * *", timezone: Europe/Berlin}]`)
		return n.ask(question)
	}},
	{"edited later", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		n.respec("2025-11-11T09:00:00+01:00", `schedules: [{name: nightly, cron: "0 4 * * *", timezone: Europe/Berlin}]`)
		return n.ask("2025-11-10T04:00")
	}},
	{"by the spec of then", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		n.fired(progress.Succeeded)
		n.respec("2025-11-11T09:00:00+01:00", `schedules: [{name: nightly, cron: "0 4 * * *", timezone: Europe/Berlin}]`)
		return n.ask(question)
	}},
	{"removed", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		n.respec("2025-11-01T09:00:00+01:00", "")
		return n.ask(question)
	}},
	{"a date that a calendar excludes", func(b *bed, code string) api.Why {
		b.do(http.MethodPut, ns+"/calendars/holidays", "application/json", `{"dates": ["2025-11-10", "2149-11-10"]}`)
		n := newNight(b, code, `schedules: [{name: nightly, cron: "30 2 * * *", timezone: Europe/Berlin, calendars: [{name: holidays}]}]`)
		n.skip(slotText, store.SkipCalendar)
		return n.ask(question)
	}},
	{"a date to come that a calendar excludes", func(b *bed, code string) api.Why {
		b.do(http.MethodPut, ns+"/calendars/holidays", "application/json", `{"dates": ["2025-11-10", "2149-11-10"]}`)
		return newNight(b, code, `schedules: [{name: nightly, cron: "30 2 * * *", timezone: Europe/Berlin, calendars: [{name: holidays}]}]`).ask("2149-11-10T02:30")
	}},
	{"a date to come that no calendar includes", func(b *bed, code string) api.Why {
		b.do(http.MethodPut, ns+"/calendars/workdays", "application/json", `{"dates": ["2149-11-11"]}`)
		return newNight(b, code, `schedules: [{name: nightly, cron: "30 2 * * *", timezone: Europe/Berlin, calendars: [{name: workdays, mode: include}]}]`).ask("2149-11-10T02:30")
	}},
	{"a time that did not exist", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		at := instant(b, "2025-03-30T03:00:00+02:00")
		id := n.run("2025-03-30T03:00:00+02:00", progress.Succeeded)
		n.fire("2025-03-30T03:00:00+02:00", store.Fire{At: at, Result: store.Fired, Run: id})
		return n.ask("2025-03-30T02:30")
	}},
	{"a time that did not exist and is not made up", func(b *bed, code string) api.Why {
		return newNight(b, code, `schedules: [{name: nightly, cron: "30 2 * * *", timezone: Europe/Berlin, dst_gap: skip}]`).ask("2025-03-30T02:30")
	}},
	{"a time that did not exist and is not its own", func(b *bed, code string) api.Why {
		return newNight(b, code, `schedules: [{name: nightly, cron: "0 3 * * *", timezone: Europe/Berlin}]`).ask("2025-03-30T02:30")
	}},
	{"a time that came twice", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		at := instant(b, "2025-10-26T02:30:00+02:00")
		id := n.run("2025-10-26T02:30:00+02:00", progress.Succeeded)
		n.fire("2025-10-26T02:30:00+02:00", store.Fire{At: at, Result: store.Fired, Run: id})
		return n.ask("2025-10-26T02:30")
	}},
	{"the other of two times that look the same", func(b *bed, code string) api.Why {
		return newNight(b, code, everyNight).ask("2025-10-26T02:30:00+01:00")
	}},
	{"a spec that cannot be read", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		b.exec(`UPDATE ax.schedule_specs SET spec = '{"cron": "61 * * * *", "timezone": "Europe/Berlin"}' WHERE schedule_id = $1`, n.schedule)
		return n.ask(question)
	}},
	{"a fixed delay that fired", func(b *bed, code string) api.Why {
		n := newNight(b, code, `schedules: [{name: after, delay: 10m, timezone: Europe/Berlin}]`)
		at := instant(b, "2025-11-10T02:30:17+01:00")
		id := n.run("2025-11-10T02:30:17+01:00", progress.Succeeded)
		n.fire("2025-11-10T02:30:17+01:00", store.Fire{At: at, Result: store.Fired, Run: id})
		return n.ask(question)
	}},
	{"a fixed delay that did not fire then", func(b *bed, code string) api.Why {
		n := newNight(b, code, `schedules: [{name: after, delay: 10m, timezone: Europe/Berlin}]`)
		n.fire("2025-11-10T02:20:17+01:00", store.Fire{At: instant(b, "2025-11-10T02:20:17+01:00"), Result: store.Fired, Run: n.run("2025-11-10T02:20:17+01:00", progress.Succeeded)})
		return n.ask(question)
	}},
	{"a fixed delay whose run goes on", func(b *bed, code string) api.Why {
		n := newNight(b, code, `schedules: [{name: after, delay: 10m, timezone: Europe/Berlin}]`)
		b.exec("UPDATE ax.schedules SET next_fire_at = NULL WHERE id = $1", n.schedule)
		return n.ask("2149-11-10T02:30")
	}},
	{"two schedules at one time", func(b *bed, code string) api.Why {
		n := newNight(b, code, `schedules: [{name: a, cron: "30 2 * * *", timezone: Europe/Berlin}, {name: b, cron: "30 1 * * *", timezone: UTC}]`)
		n.skip(slotText, store.SkipPaused)
		return n.ask("2025-11-10T01:30:00Z")
	}},
}

// respec gives the schedule another spec from an instant on; without keys it is removed then.
func (n *night) respec(from, keys string) {
	n.Helper()
	if keys == "" {
		n.exec("UPDATE ax.schedules SET removed_at = $2, next_fire_at = NULL WHERE id = $1", n.schedule, instant(n, from))
		n.exec("INSERT INTO ax.schedule_specs (schedule_id, valid_from) VALUES ($1, $2)", n.schedule, instant(n, from))
		return
	}
	n.register(n.code, "workflow: "+n.code+"\n"+keys+"\nnodes: {load: {handler: load}}")
	n.exec("UPDATE ax.schedule_specs SET valid_from = $2 WHERE schedule_id = $1 AND valid_from = (SELECT max(valid_from) FROM ax.schedule_specs WHERE schedule_id = $1)", n.schedule, instant(n, from))
}

// causes of the ledger (S9, S10).
var fireCauses = []cause{
	{"in time, and well", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		n.fired(progress.Succeeded)
		return n.ask(question)
	}},
	{"late", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		n.fire("2025-11-10T05:12:00+01:00", store.Fire{Result: store.Fired, Run: n.run("2025-11-10T05:12:00+01:00", progress.Succeeded)})
		return n.ask(question)
	}},
	{"paused", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		b.post(ns+"/workflows/"+code+"/pause", `{"reason": "migration of the warehouse"}`).is(http.StatusOK)
		b.exec("UPDATE ax.workflows SET paused_at = '2025-11-09T18:00:00Z' WHERE id = $1", n.id)
		n.skip(slotText, store.SkipPaused)
		return n.ask(question)
	}},
	{"paused then", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		n.skip(slotText, store.SkipPaused)
		return n.ask(question)
	}},
	{"paused, in a stretch", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		from, until := instant(b, slotText).AddDate(0, 0, -3), instant(b, slotText).AddDate(0, 0, 3)
		n.fire("2025-11-14T00:00:00+01:00", store.Fire{At: from, Until: &until, Count: 7, Result: store.SkippedFire, Reason: store.SkipPaused})
		return n.ask(question)
	}},
	{"paused, and made up", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		n.skip(slotText, store.SkipPaused)
		n.fire("2025-11-10T09:00:00+01:00", store.Fire{Kind: store.FillKind, Result: store.Fired, Run: n.run("2025-11-10T09:00:00+01:00", progress.Succeeded), Reason: "catchup"})
		return n.ask(question)
	}},
	{"before the schedule, and made up", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		id := n.run("2025-11-10T09:00:00+01:00", progress.Succeeded)
		n.fire("2025-11-10T09:00:00+01:00", store.Fire{At: instant(b, "2023-11-10T02:30:00+01:00"), Kind: store.FillKind, Result: store.Fired, Run: id, Reason: "backfill"})
		b.exec("UPDATE ax.runs SET trigger = 'backfill', scheduled_at = '2023-11-10T02:30:00+01:00' WHERE id = $1", id)
		return b.asking(url.Values{"run": {id.String()}})
	}},
	{"too many at once", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight+"\nconcurrency: {max_runs: 1, overflow: skip}")
		n.run("2025-11-09T02:30:00+01:00", progress.Running)
		n.skip(slotText, store.SkipOverlap)
		return n.ask(question)
	}},
	{"too many waited", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight+"\nconcurrency: {max_runs: 1, max_queued: 2}")
		n.run("2025-11-07T02:30:00+01:00", progress.Running)
		n.run("2025-11-08T02:30:00+01:00", progress.Queued)
		n.run("2025-11-09T02:30:00+01:00", progress.Queued)
		n.skip(slotText, store.SkipOverlap)
		return n.ask(question)
	}},
	{"catchup: none", func(b *bed, code string) api.Why {
		n := newNight(b, code, `schedules: [{name: nightly, cron: "30 2 * * *", timezone: Europe/Berlin, catchup: none}]`)
		n.skip("2025-11-10T05:12:00+01:00", store.SkipCatchup)
		return n.ask(question)
	}},
	{"catchup: all, beyond its limit", func(b *bed, code string) api.Why {
		n := newNight(b, code, `schedules: [{name: nightly, cron: "30 2 * * *", timezone: Europe/Berlin, catchup: all, catchup_limit: 3, catchup_window: 30d}]`)
		n.skip("2025-11-20T05:12:00+01:00", store.SkipCatchup)
		return n.ask(question)
	}},
	{"beyond the window", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		n.skip("2025-11-12T05:12:00+01:00", store.SkipLate)
		return n.ask(question)
	}},
	{"coalesced", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		next := instant(b, slotText).AddDate(0, 0, 1)
		n.fire("2025-11-11T04:00:00+01:00", store.Fire{Result: store.Coalesced})
		n.fire("2025-11-11T04:00:00+01:00", store.Fire{At: next, Result: store.Fired, Run: n.run("2025-11-11T04:00:00+01:00", progress.Succeeded)})
		return n.ask(question)
	}},
	{"owed when it was edited", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		n.skip("2025-11-10T08:00:00+01:00", store.SkipEdited)
		return n.ask(question)
	}},
	{"its run could not be made", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		n.fire(slotText, store.Fire{Result: store.FailedFire, Reason: "parameter region: want one of cn, de"})
		return n.ask(question)
	}},
	{"no server", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		b.exec("UPDATE ax.schedules SET next_fire_at = $2 WHERE id = $1", n.schedule, instant(b, slotText))
		return n.ask(question)
	}},
	{"not due yet", func(b *bed, code string) api.Why { return newNight(b, code, everyNight).ask("2149-11-10T02:30") }},
	{"not due yet, and paused", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		b.post(ns+"/workflows/"+code+"/pause", `{"reason": "stocktaking"}`).is(http.StatusOK)
		b.exec("UPDATE ax.workflows SET paused_at = '2025-11-09T18:00:00Z' WHERE id = $1", n.id)
		return n.ask("2149-11-10T02:30")
	}},
	{"not in the ledger", func(b *bed, code string) api.Why { return newNight(b, code, everyNight).ask(question) }},
	{"a run that is not kept", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		n.fire(slotText, store.Fire{Result: store.Fired, Run: 1 << 20})
		return n.ask(question)
	}},
	{"before the schedule, and made up, by its time", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		id := n.run("2025-11-10T09:00:00+01:00", progress.Succeeded)
		n.fire("2025-11-10T09:00:00+01:00", store.Fire{At: instant(b, "2023-11-10T02:30:00+01:00"), Kind: store.FillKind, Result: store.Fired, Run: id, Reason: "backfill"})
		b.exec("UPDATE ax.runs SET trigger = 'backfill', scheduled_at = '2023-11-10T02:30:00+01:00' WHERE id = $1", id)
		return n.ask("2023-11-10T02:30")
	}},
}

// causes of a start that no schedule makes (S4, S12).
var otherCauses = []cause{
	{"by hand", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		id := n.run("2025-11-10T03:15:20+01:00", progress.Succeeded)
		b.exec("UPDATE ax.runs SET schedule_id = NULL, trigger = 'api', actor = 'user:ana' WHERE id = $1", id)
		return n.ask("2025-11-10T03:15")
	}},
	{"asked for in advance", func(b *bed, code string) api.Why {
		n := newNight(b, code, "")
		b.post(ns+"/workflows/"+code+"/runs", `{"run_at": "2149-11-10T02:30:00+01:00"}`).is(http.StatusAccepted)
		return n.ask("2149-11-10T02:30:00+01:00")
	}},
	{"asked for in advance, and paused", func(b *bed, code string) api.Why {
		n := newNight(b, code, "")
		b.post(ns+"/workflows/"+code+"/runs", `{"run_at": "2149-11-10T02:30:00+01:00"}`).is(http.StatusAccepted)
		b.post(ns+"/workflows/"+code+"/pause", `{}`).is(http.StatusOK)
		return n.ask("2149-11-10T02:30:00+01:00")
	}},
	{"asked for in advance, and canceled", func(b *bed, code string) api.Why {
		newNight(b, code, "")
		run := as[api.RunDetail](b.post(ns+"/workflows/"+code+"/runs", `{"run_at": "2149-11-10T02:30:00+01:00"}`).is(http.StatusAccepted))
		b.post(ns+"/runs/"+run.ID+"/cancel", `{}`).is(http.StatusAccepted)
		return b.asking(url.Values{"run": {run.ID}})
	}},
	{"nothing of its upstream", func(b *bed, code string) api.Why { return newStream(b, code).ask(question) }},
	{"a part of its upstream", func(b *bed, code string) api.Why {
		n := newStream(b, code)
		n.set(code, store.SetWaiting, "", 0, 1)
		return n.ask(question)
	}},
	{"a part of its upstream, the rest running", func(b *bed, code string) api.Why {
		n := newStream(b, code)
		n.set(code, store.SetWaiting, "", 0, 1)
		n.upstreamRun("sync", progress.Running)
		return n.ask(question)
	}},
	{"its upstream failed and its window is over", func(b *bed, code string) api.Why {
		n := newStream(b, code)
		n.upstreamRun("sync", progress.Failed)
		n.set(code, store.SetExpired, "", 0, 1)
		return n.ask(question)
	}},
	{"its upstream is complete", func(b *bed, code string) api.Why {
		n := newStream(b, code)
		n.set(code, store.SetFired, "", n.upstreamRun(code, progress.Succeeded), 2)
		return n.ask(question)
	}},
	{"its upstream is complete, and it is paused", func(b *bed, code string) api.Why {
		n := newStream(b, code)
		n.set(code, store.SetSkipped, store.SkipPaused, 0, 2)
		return n.ask(question)
	}},
	{"its upstream is complete, and its run cannot be made", func(b *bed, code string) api.Why {
		n := newStream(b, code)
		n.set(code, store.SetFailed, "parameter region: there is no default", 0, 2)
		return n.ask(question)
	}},
}

// newStream registers a workflow that waits for two others.
func newStream(b *bed, code string) *night {
	b.Helper()
	newNight(b, "orders", "")
	newNight(b, "sync", "")
	return newNight(b, code, "upstream: {all: [{workflow: orders}, {workflow: sync}]}")
}

// upstreamRun makes a run of a workflow for the date of the night.
func (n *night) upstreamRun(code string, state progress.State) store.RunID {
	n.Helper()
	of := *n
	w, err := n.store.Workflow(n.Context(), 1, code)
	require.NoError(n, err)
	v, err := n.store.Version(n.Context(), w.ID, 1)
	require.NoError(n, err)
	of.id, of.version, of.schedule = w.ID, v.ID, 0
	n.serial++
	of.serial = n.serial
	id := of.run("2025-11-10T02:41:00+01:00", state)
	n.exec("UPDATE ax.runs SET trigger = 'upstream' WHERE id = $1", id)
	return id
}

// set writes what the workflow has of its upstream for the date of the night, with the first terms satisfied.
func (n *night) set(code string, state store.SetState, reason string, run store.RunID, satisfied int) {
	n.Helper()
	w, err := n.store.Workflow(n.Context(), 1, code)
	require.NoError(n, err)
	set := store.UpstreamSet{Workflow: w.ID, Key: "2025-11-10", ScheduledAt: instant(n, slotText), LogicalDate: "2025-11-10"}
	require.NoError(n, n.store.InTx(n.Context(), func(tx pgx.Tx) error {
		got, err := n.store.LockSet(n.Context(), tx, set, 48*time.Hour)
		if err != nil {
			return err
		}
		got.State, got.Reason, got.Run = state, reason, run
		for place := range satisfied {
			got.Satisfied = append(got.Satisfied, store.Satisfied{Place: place, Run: store.RunID(instant(n, slotText).UnixMilli()<<20 + int64(place)), At: instant(n, slotText)})
		}
		return n.store.SaveSet(n.Context(), tx, got)
	}))
	n.exec("UPDATE ax.upstream_sets SET created_at = '2025-11-10T01:31:00Z', expires_at = '2025-11-12T01:31:00Z'")
}

func TestWhyTellsEveryCause(t *testing.T) {
	t.Parallel()
	groups := []struct {
		title  string
		causes []cause
	}{{"The schedule", scheduleCauses}, {"The fire", fireCauses}, {"Other starts", otherCauses}, {"The run", runCauses}, {"The node", nodeCauses}}
	told := make([][]api.Why, len(groups))
	t.Run("causes", func(t *testing.T) {
		for g, group := range groups {
			told[g] = make([]api.Why, len(group.causes))
			t.Run(group.title, func(t *testing.T) {
				t.Parallel()
				b := newBed(t)
				for i, c := range group.causes {
					told[g][i] = c.make(b, fmt.Sprintf("report%d", i+1))
					resetNight(b)
				}
			})
		}
	})
	var b strings.Builder
	for g, group := range groups {
		fmt.Fprintf(&b, "# %s\n", group.title)
		for i, c := range group.causes {
			fmt.Fprintf(&b, "\n%s\n%s", c.name, tellText(told[g][i]))
		}
		b.WriteString("\n")
	}
	golden(t, "testdata/why.golden", b.String())
}

// resetNight removes what one cause would leave to the next.
func resetNight(b *bed) {
	b.exec(`DELETE FROM ax.workers; DELETE FROM ax.slots; DELETE FROM ax.watched_runs; DELETE FROM ax.upstream_sets;
		DELETE FROM ax.runs r USING ax.workflows w WHERE w.id = r.workflow_id AND w.code = 'sync';
		UPDATE ax.queues SET paused_at = NULL; UPDATE ax.pools SET paused_at = NULL, next_at = NULL`)
}

var changing = regexp.MustCompile(`(due in|in|overdue:?|is) \d+ (d|h|min|s|ms)( \d+ (h|min|s))?( overdue)?`)

// tellText is an answer in full, with what depends on the present left out.
func tellText(w api.Why) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s\n  %s %s\n", changing.ReplaceAllString(w.Verdict, "$1 …$5"), w.State, w.Reason)
	for _, s := range w.Steps {
		if s.State != "not_reached" {
			fmt.Fprintf(&b, "    %s %s %s: %s\n", s.Step, s.State, s.Reason, changing.ReplaceAllString(s.Message, "$1 …$5"))
		}
	}
	for _, d := range w.Do {
		fmt.Fprintf(&b, "  > %s\n", d)
	}
	return b.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to write the file")
	require.Equal(t, string(want), got)
}

package planner_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// A scheduler that was off for hours, or for more than a year, decides what it missed and goes on.
func TestR006SchedulerWasOff(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, off := range []time.Duration{3 * time.Hour, 400 * 24 * time.Hour} {
		for policy, runs := range map[string]int{"none": 0, "latest": 1, "all": 10} {
			w := h.register(fmt.Sprintf("%s-%d", policy, off), schedules("{cron: '* * * * *', catchup_limit: 10, catchup: "+policy+"}")).Workflow
			h.back(w, off)
			h.fire()
			got := h.ledger(w)
			total := 0
			for _, n := range got {
				total += n
			}
			require.InDelta(t, off/time.Minute, total, 1, "%s: each missed one is told", policy)
			require.InDelta(t, runs+1, got["fired"], 1, "%s: and the one of this minute fires", policy)
			require.GreaterOrEqual(t, got["fired"], runs, policy)
			require.LessOrEqual(t, one[int64](h, "SELECT count(*) FROM ax.fires f JOIN ax.schedules s ON s.id = f.schedule_id WHERE s.workflow_id = $1", w), int64(14))
			require.LessOrEqual(t, time.Until(*h.next(w)), time.Minute)
		}
	}
}

func zoned(t *testing.T, s dag.Schedule, from string, n int) []string {
	t.Helper()
	at, err := time.Parse(time.RFC3339, from)
	require.NoError(t, err)
	fires, err := planner.Timetable{Spec: s, Anchor: at}.Next(at, n)
	require.NoError(t, err)
	var utc []string
	for _, f := range fires {
		utc = append(utc, f.UTC().Format(time.RFC3339))
	}
	return utc
}

func TestR016OneFireOnEachLocalDay(t *testing.T) {
	t.Parallel()
	ny := "America/New_York"
	require.Equal(t, []string{"2027-03-13T07:30:00Z", "2027-03-14T07:00:00Z", "2027-03-15T06:30:00Z"},
		zoned(t, dag.Schedule{Cron: "30 2 * * *", Timezone: ny}, "2027-03-13T05:00:00Z", 3))
	require.Equal(t, []string{"2027-11-06T05:30:00Z", "2027-11-07T05:30:00Z", "2027-11-08T06:30:00Z"},
		zoned(t, dag.Schedule{Cron: "30 1 * * *", Timezone: ny}, "2027-11-06T04:00:00Z", 3))
}

// A run that somebody made for the time of a slot takes nothing from the schedule: the slot is told, made up and fired as if it were not there.
func TestR017ManualRunTakesNoSlot(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	byHand := func(r planner.Registered, at time.Time) {
		t.Helper()
		h.launch(store.Trigger{Version: r.VersionID, Kind: "api", Actor: "user:t", ScheduledAt: at, LogicalDate: at.Format(time.DateOnly), Params: []byte("{}")})
	}
	runsOf := func(r planner.Registered, at time.Time) string {
		t.Helper()
		return one[string](h, "SELECT COALESCE(string_agg(trigger, ' ' ORDER BY trigger), '') FROM ax.runs WHERE workflow_id = $1 AND scheduled_at = $2", r.Workflow, at)
	}
	yesterday := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1)

	// Paused for three days, and made up on resuming.
	r := h.register("resumed", schedules("{cron: '0 0 * * *', catchup: all}"))
	require.NoError(t, h.store.Pause(t.Context(), r.Workflow, "user:t", ""))
	h.exec("UPDATE ax.workflows SET paused_at = now() - interval '80 hours' WHERE id = $1", r.Workflow)
	h.exec("UPDATE ax.schedule_specs SET valid_from = now() - interval '80 hours'")
	h.back(r.Workflow, 72*time.Hour)
	byHand(r, yesterday)
	resumed, err := planner.Resume(t.Context(), h.store, planner.Resuming{Workflow: r.Workflow, Actor: "user:t", Catchup: dag.CatchupAll, Launcher: h.launcher})
	require.NoError(t, err)
	require.Len(t, resumed.Filled, 3)
	require.Equal(t, map[string]int{"skipped paused": 3, "fired catchup": 3}, h.ledger(r.Workflow))
	require.Equal(t, "api catchup", runsOf(r, yesterday))

	// The same three days made up by a backfill of what is missing: a run by hand is no run of the slot.
	b := h.register("filled", schedules("{cron: '0 0 * * *', catchup: none}"))
	h.exec("UPDATE ax.schedule_specs SET valid_from = now() - interval '80 hours'")
	h.back(b.Workflow, 72*time.Hour)
	h.fire()
	byHand(b, yesterday)
	h.backfill(planner.Backfilling{Workflow: b.Workflow, From: yesterday.Format(time.RFC3339), To: yesterday.Format(time.RFC3339)})
	h.finish("succeeded")
	require.Equal(t, "api backfill", runsOf(b, yesterday))

	// A run by hand for an instant to come, which comes.
	f := h.register("to-come", schedules("{every: 1s}"))
	coming := h.next(f.Workflow).UTC()
	byHand(f, coming)
	require.Eventually(t, func() bool { h.fire(); return runsOf(f, coming) != "api" }, 10*time.Second, 50*time.Millisecond)
	require.Equal(t, "api schedule", runsOf(f, coming))
}

// What was missed in a pause is not owed, whether a planner saw it or not; after an outage the policy decides.
func TestR067PausedTimeIsNotOwed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, policy := range []string{"none", "latest", "all"} {
		for _, planned := range []bool{true, false} {
			define := func(policy string) string {
				return schedules("{cron: '* * * * *', misfire_threshold: 1s, catchup: " + policy + "}")
			}
			code := fmt.Sprintf("%s-%t", policy, planned)
			w := h.register(code, define(policy)).Workflow
			require.NoError(t, h.store.Pause(t.Context(), w, "user:t", ""))
			h.back(w, 5*time.Minute)
			if planned {
				h.fire()
			}
			h.register(code, define("all")) // while paused
			resumed, err := planner.Resume(t.Context(), h.store, planner.Resuming{Workflow: w, Actor: "user:t"})
			require.NoError(t, err)
			require.True(t, resumed.Changed)
			h.fire()
			got := h.ledger(w)
			require.Contains(t, []int{5, 6}, got["skipped paused"], code) // a minute may have begun since
			require.LessOrEqual(t, got["fired"], 1, code)
			require.LessOrEqual(t, time.Until(*h.next(w)), time.Minute, code)
			resumed, err = planner.Resume(t.Context(), h.store, planner.Resuming{Workflow: w, Actor: "user:t"})
			require.NoError(t, err)
			require.False(t, resumed.Changed)
		}
	}
}

// An edit starts a new line from now: it never fires for the past, and what the old line owed is recorded.
func TestR072EditNeverFiresForThePast(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", schedules("{cron: 15 1 * * *}")).Workflow
	edits := []string{"{cron: 15 2 * * *}", "{cron: 15 2 * * *, timezone: Asia/Tokyo}", "{every: 1h}", "{every: 2h}", "{cron: '* * * * *'}", "{cron: 15 1 * * *}"}
	for _, edit := range edits {
		h.register("w", schedules(edit))
		next := *h.next(w)
		require.True(t, next.After(time.Now()), edit)
		before := one[string](h, "SELECT s::text FROM ax.schedules s")
		h.register("w", schedules(edit))
		require.Equal(t, before, one[string](h, "SELECT s::text FROM ax.schedules s"), "saving without change changes nothing")
		h.fire()
	}
	require.LessOrEqual(t, one[int64](h, "SELECT count(*) FROM ax.runs"), int64(1)) // a minute may have begun while each minute was the rule

	h.exec("DELETE FROM ax.fires")
	h.back(w, 50*time.Hour) // and now nobody planned for two days
	h.register("w", schedules("{cron: 15 2 * * *}"))
	h.fire()
	require.Equal(t, []string{"skipped edited"}, keys(h.ledger(w)))
	require.True(t, h.next(w).After(time.Now()))
}

func keys(m map[string]int) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	return all
}

// What waits for its time, or for other workflows, is stopped at once and starts nothing later.
func TestR083WhatWaitsIsStoppedAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	later := h.register("later", "")
	ids := h.delay(later.Workflow, time.Now().Add(time.Hour), time.Now().Add(time.Hour))
	canceled, err := h.store.CancelDelayed(t.Context(), ids[0], "user:t", "not needed")
	require.NoError(t, err)
	require.True(t, canceled)
	require.Equal(t, store.DelayedCanceled, h.delayed(ids[0]).State)
	h.exec("UPDATE ax.delayed_runs SET due_at = now() - interval '1 second' WHERE due_at IS NOT NULL") // its hour has come
	h.startDelayed()
	require.Equal(t, store.DelayedCanceled, h.delayed(ids[0]).State)
	require.Equal(t, store.DelayedStarted, h.delayed(ids[1]).State, "the other is not affected")

	up, other := h.register("up", ""), h.register("other", "")
	down := h.register("down", "upstream: {all: [{workflow: up}, {workflow: other}]}\n")
	end := func(r planner.Registered) {
		t.Helper()
		run := h.launch(store.Trigger{Version: r.VersionID, Kind: "api", Actor: "user:t", ScheduledAt: time.Now(), LogicalDate: "2026-11-30", Params: []byte("{}")})[0].Run
		require.NoError(t, h.store.InTx(t.Context(), func(tx pgx.Tx) error {
			return h.store.Apply(t.Context(), tx, store.Changes{Runs: []store.RunChange{{ID: run, State: progress.Succeeded}}})
		}))
		for n := 1; n > 0; {
			var err error
			n, err = planner.Consume(t.Context(), h.planner)
			require.NoError(t, err)
		}
	}
	end(up)
	require.Equal(t, "waiting", one[string](h, "SELECT state FROM ax.upstream_sets WHERE workflow_id = $1", down.Workflow))
	require.NoError(t, h.store.Pause(t.Context(), down.Workflow, "user:t", ""))
	end(other)
	require.Equal(t, "skipped paused", one[string](h, "SELECT state || ' ' || reason FROM ax.upstream_sets WHERE workflow_id = $1", down.Workflow))
	require.Zero(t, one[int64](h, "SELECT count(*) FROM ax.runs WHERE workflow_id = $1", down.Workflow))
}

// Dates that do not exist are refused at once; rare ones are found.
func TestR075RareAndImpossibleDates(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{"0 0 30 2 *", "0 0 31 4,6 *", "*/0 * * * *", "60 * * * *"} {
		began := time.Now()
		_, problems := dag.Load([]byte("workflow: w\nnodes: {a: {handler: x}}\n"+schedules("{cron: '"+expr+"'}")), dag.BuildOptions{})
		require.Error(t, problems.Err(), expr)
		require.Less(t, time.Since(began), 100*time.Millisecond, expr)
	}
	for _, expr := range []string{"", "   ", strings.Repeat("1,", 5000) + "1 * * * *"} {
		began := time.Now()
		_, problems := dag.Load([]byte("workflow: w\nnodes: {a: {handler: x}}\n"+schedules("{cron: '"+expr+"'}")), dag.BuildOptions{})
		require.Error(t, problems.Err(), "%.20q", expr)
		require.Less(t, time.Since(began), 100*time.Millisecond, "%.20q", expr)
	}
	h := newHouse(t)
	over := graph(t, "w", schedules("{name: s, cron: '* * * * *'}, {name: o, cron: '0 0 0 1 1 ? 1990'}"))
	_, err := planner.Register(t.Context(), h.store, planner.Registration{Namespace: "default", Graph: over, Actor: "user:t"})
	var problems dag.Problems
	require.ErrorAs(t, err, &problems)
	require.Equal(t, "schedules[1].cron", problems[0].Path)
	require.Zero(t, one[int64](h, "SELECT count(*) FROM ax.workflows"), "nothing is stored")
	require.Equal(t, []string{"2028-02-29T00:00:00Z"}, zoned(t, dag.Schedule{Cron: "0 0 29 2 *", Timezone: "UTC"}, "2026-11-30T00:00:00Z", 1))
	require.Equal(t, []string{"2104-02-29T00:00:00Z"}, zoned(t, dag.Schedule{Cron: "0 0 29 2 *", Timezone: "UTC"}, "2096-03-01T00:00:00Z", 1))
	require.Equal(t, []string{"2027-03-28T01:00:00Z"}, zoned(t, dag.Schedule{Cron: "30 2 28 3 *", Timezone: "Europe/Berlin"}, "2026-11-30T00:00:00Z", 1))
}

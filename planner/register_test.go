package planner_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

func TestSameContentIsTheSameVersion(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := h.register("w", "title: one\n")
	require.True(t, first.Created)
	require.Equal(t, 1, first.Version)
	again := h.register("w", "title: one\n")
	require.False(t, again.Created)
	require.Equal(t, first.VersionID, again.VersionID)
	second := h.register("w", "title: two\n")
	require.Equal(t, 2, second.Version)
	h.register("w", "title: one\n")
	require.Equal(t, first.VersionID, one[int64](h, "SELECT version_id FROM ax.workflows"), "an old version is current again")
	require.Equal(t, 3, h.register("w", "title: three\n").Version)
}

func TestAnotherDefaultZoneIsNoOtherVersion(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	doc := []byte("workflow: w\nnodes: {a: {handler: x}}\nschedules: [{cron: 0 12 * * *}]\n")
	for _, zone := range []string{"Asia/Shanghai", "America/New_York"} {
		g, problems := dag.Load(doc, dag.BuildOptions{DefaultTimezone: zone})
		require.NoError(t, problems.Err())
		r := h.registerGraph(g)
		require.Equal(t, 1, r.Version)
		require.Equal(t, "Asia/Shanghai", r.Next[0].Fires[0].Location().String())
	}
	require.Equal(t, "Asia/Shanghai", one[string](h, "SELECT spec ->> 'timezone' FROM ax.schedules"))
	require.Equal(t, int64(1), one[int64](h, "SELECT count(*) FROM ax.schedule_specs"))
}

func TestUnknownNamespaceIsNotFound(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, err := planner.Register(t.Context(), h.store, planner.Registration{Namespace: "nowhere", Graph: graph(t, "w", "")})
	require.ErrorIs(t, err, store.ErrNotFound)
	require.EqualError(t, err, `register workflow "w": namespace "nowhere": not found`)
}

func TestConcurrentRegistrationsComeOneAfterAnother(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	stop := h.start(h.planner)
	const writers, each = 6, 5
	var all sync.WaitGroup
	for w := range writers {
		for i := range each {
			g := graph(t, "w", schedules(fmt.Sprintf("{name: s%d, every: %ds}", w, i+1)))
			all.Go(func() {
				_, err := planner.Register(t.Context(), h.store, planner.Registration{Namespace: "default", Graph: g, Actor: "user:t"})
				assert.NoError(t, err)
			})
		}
	}
	all.Wait()
	stop()
	require.Equal(t, int64(writers*each), one[int64](h, "SELECT max(number) FROM ax.versions"))
	require.Equal(t, int64(1), one[int64](h, "SELECT count(*) FROM ax.schedules WHERE next_fire_at IS NOT NULL AND removed_at IS NULL"))
	require.Equal(t, one[string](h, `SELECT s.name || (s.spec ->> 'every') FROM ax.schedules s WHERE s.removed_at IS NULL`),
		one[string](h, `SELECT (v.definition #>> '{schedules,0,name}') || (v.definition #>> '{schedules,0,every}')
			FROM ax.workflows w JOIN ax.versions v ON v.id = w.version_id`), "the schedules are those of the current version")
}

func TestRegistrationSetsLimitsQueuesAndPause(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	limits := func() string {
		return one[string](h, "SELECT concat_ws(' ', COALESCE(max_runs::text, '-'), COALESCE(max_queued::text, '-'), paused_by, pause_reason) FROM ax.workflows")
	}
	h.register("w", "")
	require.Equal(t, "- -", limits())
	h.register("w", schedules("{every: 1h}"))
	require.Equal(t, "1 100", limits(), "a recurring schedule is limited (S22)")
	h.register("w", schedules("{every: 1h}")+"concurrency: {max_runs: 3, max_queued: 7}\npaused: true\ndefaults: {queue: slow}\n")
	require.Equal(t, "3 7", limits(), "a later registration does not pause")
	require.Equal(t, "default,slow", one[string](h, "SELECT string_agg(name, ',' ORDER BY name) FROM ax.queues"))

	h = newHouse(t)
	h.register("w", "paused: true\n")
	h.register("w", "")
	require.Equal(t, "- - user:t registered paused", limits(), "nor resume")

	h = newHouse(t)
	_, err := planner.Register(t.Context(), h.store, planner.Registration{Namespace: "default", Graph: graph(t, "w", ""), Actor: "user:u", Paused: true})
	require.NoError(t, err)
	require.Equal(t, "- - user:u registered paused", limits())
}

func TestRegistrationAnswersWithTheNextFives(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	soon := time.Now().UTC().AddDate(0, 0, 2).Truncate(time.Second)
	r := h.register("w", schedules(fmt.Sprintf("{name: n, cron: 30 2 * * *, timezone: Asia/Shanghai}, {name: e, every: 90m}, {name: o, at: %q}", soon.Format(time.RFC3339))))
	require.Len(t, r.Next, 3)
	require.Len(t, r.Next[0].Fires, 5)
	require.Equal(t, "02:30:00 +0800", r.Next[0].Fires[4].Format("15:04:05 -0700"))
	require.Equal(t, "18:30:00", r.Next[0].Fires[4].UTC().Format(time.TimeOnly))
	require.Equal(t, 90*time.Minute, r.Next[1].Fires[4].Sub(r.Next[1].Fires[3]))
	require.Equal(t, planner.Upcoming{Schedule: "o", Fires: []time.Time{soon}}, r.Next[2])
}

func TestFiresEndWithTheYear9999(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	start := time.Date(9998, 1, 1, 0, 0, 0, 0, time.UTC)
	r := h.register("w", schedules("{every: 365d, start: 9998-01-01T00:00:00Z}"))
	require.Equal(t, []time.Time{start, start.AddDate(1, 0, 0)}, r.Next[0].Fires)
}

func TestIntervalsCountFromDistantInstants(t *testing.T) {
	t.Parallel()
	from := time.Date(2400, 1, 1, 0, 0, 0, 500, time.UTC)
	table := planner.Timetable{Spec: dag.Schedule{Name: "n", Timezone: "UTC", Every: dag.Duration(time.Second)}, Anchor: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)}
	fires, err := table.Next(from, 2)
	require.NoError(t, err)
	require.Equal(t, []time.Time{time.Date(2400, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(2400, 1, 1, 0, 0, 2, 0, time.UTC)}, fires)
}

func TestIntervalsKeepTheirPhase(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", schedules("{every: 1h}")).Workflow
	h.exec("UPDATE ax.schedules SET anchor = anchor - interval '17 minutes', next_fire_at = next_fire_at - interval '17 minutes'")
	anchor := func() time.Time { return one[time.Time](h, "SELECT anchor FROM ax.schedules") }
	phase, next := anchor(), *h.next(w)
	h.register("w", schedules("{every: 1h, catchup: none, misfire_threshold: 5m}")+"title: other\n")
	require.Equal(t, phase, anchor())
	require.Equal(t, next, *h.next(w))
	h.register("w", schedules("{every: 1h, end: 2100-01-01T00:00:00Z}"))
	require.Equal(t, phase, anchor(), "other bounds leave the interval as it is")
	require.Equal(t, next, *h.next(w))
	h.register("w", schedules("{every: 2h}"))
	require.True(t, anchor().After(phase), "another interval counts from now")
	start := time.Now().UTC().Add(100 * time.Hour).Truncate(time.Second)
	h.register("w", schedules(fmt.Sprintf("{every: 2h, start: %q}", start.Format(time.RFC3339))))
	require.Equal(t, start, anchor().UTC())
	require.Equal(t, start, h.next(w).UTC(), "it fires at its start")
	require.Equal(t, int64(5), one[int64](h, "SELECT count(*) FROM ax.schedule_specs"))
}

func TestRemovedScheduleIsOver(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.register("w", schedules("{every: 1m}")).Workflow
	h.exec("UPDATE ax.schedules SET anchor = anchor - interval '1 day'")
	h.back(w, 3*time.Minute)
	h.register("w", "")
	require.Equal(t, map[string]int{"skipped edited": 3}, h.ledger(w))
	require.Nil(t, h.next(w))
	h.fire()
	require.Zero(t, one[int64](h, "SELECT count(*) FROM ax.runs"))

	h.register("w", schedules("{every: 1m}"))
	require.True(t, h.next(w).After(time.Now()))
	require.Nil(t, one[*time.Time](h, "SELECT removed_at FROM ax.schedules"))
	require.Equal(t, "1m|-|1m", one[string](h, "SELECT string_agg(COALESCE(spec ->> 'every', '-'), '|' ORDER BY valid_from) FROM ax.schedule_specs"))
}

// A registration says what happens beyond the limit, and has the engine look at what waits: the limit may have risen (S22).
func TestRegistrationSetsTheOverflowAndStirsWhatWaits(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	overflow := func() string {
		return one[string](h, "SELECT concat_ws(' ', COALESCE(max_runs::text, '-'), COALESCE(max_queued::text, '-'), overflow) FROM ax.workflows")
	}
	r := h.register("w", "concurrency: {max_runs: 2, overflow: queue_latest, key: logical_date}\n")
	require.Equal(t, "2 - queue_latest", overflow())
	launched := h.launch(store.Trigger{Version: r.VersionID, Kind: "api", Actor: "user:t", ScheduledAt: time.Now(), LogicalDate: "2026-11-30", Params: []byte("{}")})
	h.exec("UPDATE ax.runs SET state = 'queued', limited = true WHERE id = $1", launched[0].Run)
	stirred := func() int { return one[int](h, "SELECT count(*) FROM ax.run_intents WHERE kind = 'settle'") }
	require.Zero(t, stirred())
	h.register("w", "concurrency: {max_runs: 3, overflow: skip}\n")
	require.Equal(t, "3 - skip", overflow())
	require.Equal(t, 1, stirred())
	h.register("w", "")
	require.Equal(t, "- -", overflow())
}

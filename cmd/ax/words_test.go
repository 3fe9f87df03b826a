package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/bench"
)

func TestTableRender(t *testing.T) {
	mixed := table{header: []string{"NAME", "STATE", "NOTE"}}
	mixed.add(plain("每日汇总"), stateCell("succeeded"), plain(""))
	mixed.add(plain("a\nb\x1b[2J"), stateCell("failed"), plain("last"))
	mixed.add(plain("e\u0301"), plain(""), plain("x"))
	require.Equal(t, "NAME      STATE      NOTE\n每日汇总  succeeded\na b[2J    failed     last\ne\u0301                    x\n", mixed.render(false))
	require.Contains(t, mixed.render(true), "\x1b[31mfailed\x1b[0m     last\n", "colour takes no room")
}

func TestDurationText(t *testing.T) {
	for text, d := range map[string]time.Duration{
		"0ms": 0, "340ms": 340*time.Millisecond + 400*time.Microsecond, "1.20s": 1200 * time.Millisecond, "12.3s": 12345 * time.Millisecond,
		"1m00s": time.Minute, "2m03s": 123 * time.Second, "25h01m01s": 25*time.Hour + 61*time.Second,
	} {
		require.Equal(t, text, durationText(d))
	}
	require.Empty(t, millisText(nil))
}

func TestShorten(t *testing.T) {
	require.Equal(t, "a b", shorten(" a\nb\n"))
	require.Len(t, []rune(shorten(strings.Repeat("é", 500))), maxNote)
}

// moment is an instant of the runs below.
func moment(seconds int) *time.Time {
	at := testNow.Add(time.Duration(seconds) * time.Second)
	return &at
}

func someRun() api.RunDetail {
	return api.RunDetail{
		Run: api.Run{
			ID: "38hcj", Workflow: "report.daily", Version: 3, State: "succeeded", Warnings: 2, Trigger: "schedule", Schedule: "nightly", Actor: "planner",
			ScheduledAt: *moment(0), Timezone: "Asia/Shanghai", LogicalDate: "2026-11-30", CreatedAt: *moment(1), StartedAt: moment(2), FinishedAt: moment(65), DurationMS: new(int64(63_000)),
		},
		Params: api.Object(`{"region":"cn"}`),
	}
}

func someNodes() []api.NodeRun {
	times := func(waited, took int64) api.NodeTimes {
		return api.NodeTimes{WaitMS: &waited, DurationMS: &took}
	}
	failed := api.FailedShard{ID: "38hcj:parts:1:2", Shard: 2, Error: &api.NodeError{Message: "no such part"}}
	return []api.NodeRun{
		{Node: "extract", State: "succeeded", Attempts: 1, NodeTimes: times(3, 1200), TotalMS: new(int64(1200))},
		{Node: "parts", State: "running", Attempts: 1, Shards: &api.Shards{Total: 4, Succeeded: 1, Running: 2, Failed: 1, Failures: []api.FailedShard{failed}}},
		{Node: "clean", State: "failed", Attempts: 4, Tolerated: true, Error: &api.NodeError{Class: "system", Message: "exit code 1"}, NodeTimes: times(0, 61_000), TotalMS: new(int64(190_000))},
		{Node: "load", State: "retrying", Attempts: 2, Error: &api.NodeError{Message: "refused"}, BlockedBy: &api.BlockedBy{Message: "attempt 3 is due later"}},
		{Node: "push", State: "waiting", BlockedBy: &api.BlockedBy{Message: "no live worker takes command nodes on queue default"}},
		{Node: "skip", State: "skipped", Reason: "condition"},
		{Node: "below", State: "upstream_failed", Reason: "clean failed"},
		{Node: "old", State: "succeeded", Attempts: 1, Stale: true, StaleBy: "extract"},
		{Node: "last", State: "pending"},
	}
}

func TestTablesOfRuns(t *testing.T) {
	c := shell{}.call(nil, nil)
	text := c.runText(someRun()) + "\n" + c.nodeTable(someNodes())
	queued := someRun()
	queued.State, queued.Warnings, queued.StartedAt, queued.DurationMS, queued.Params = "queued", 0, nil, nil, api.Object(`{}`)
	queued.BlockedBy = &api.BlockedBy{Message: "report.daily may run 1 at a time, and runs already", Runs: []string{"38hch"}}
	text += "\n" + c.runText(queued)
	canceled := someRun()
	canceled.State, canceled.CanceledBy, canceled.CancelReason = "canceled", "user:li", "wrong date"
	text += "\n" + c.runText(canceled)
	failed := someRun().Run
	failed.State, failed.Reason, failed.Warnings = "failed", "node clean failed", 0
	text += "\n" + c.runsTable(api.Page[api.Run]{Items: []api.Run{queued.Run, someRun().Run, failed}, NextCursor: "more"})
	golden(t, "runs.golden", text)
	c.colour = true
	golden(t, "runs_colour.golden", c.runText(someRun())+c.nodeTable(someNodes()))
}

func TestProgressText(t *testing.T) {
	require.Equal(t, "run 38hcj is succeeded for 12s: 5 of 9 nodes done, retrying load", progressText(someRun(), someNodes(), 12*time.Second))
}

func TestTableOfFires(t *testing.T) {
	c := shell{}.call(nil, nil)
	golden(t, "fires.golden", c.firesTable(api.FirePage{PrunedUntil: moment(-259200), Page: api.Page[api.Fire]{Items: []api.Fire{
		{Schedule: "nightly", ScheduledAt: *moment(86400), Count: 1, Result: "expected"},
		{Schedule: "nightly", ScheduledAt: *moment(0), Count: 1, Kind: "fire", Result: "fired", Run: "38hcj"},
		{Schedule: "nightly", ScheduledAt: *moment(-86400), Until: moment(-3600), Count: 24, Kind: "fire", Result: "skipped", Reason: "paused"},
		{Schedule: "nightly", ScheduledAt: *moment(-172800), Count: 1, Kind: "fill", Result: "fired", Run: "38hch"},
	}}}))
}

func TestTextOfApply(t *testing.T) {
	c := shell{}.call(nil, nil)
	golden(t, "apply.golden", c.appliedText([]applied{
		{File: "one.yaml", Registered: &api.Registered{Workflow: "report.daily", Version: 2, Created: true, Upcoming: []api.Upcoming{
			{Schedule: "nightly", Timezone: "UTC", Fires: []api.Local{{Local: *moment(0)}, {Local: *moment(86400)}}},
			{Schedule: "once", Timezone: "UTC"},
		}}},
		{File: "two.yaml", Registered: &api.Registered{Workflow: "orders.sync", Version: 7}},
		{File: "three.yaml", Registered: &api.Registered{Workflow: "orders.new", Created: true, DryRun: true}},
	}))
	require.Empty(t, c.appliedText(nil))
}

func TestTextOfMigrations(t *testing.T) {
	c := shell{}.call(nil, nil)
	golden(t, "migrate.golden", c.migrationsText([]migrationView{
		{Set: "river", Version: 1, Name: "one", Applied: true}, {Set: "ax", Version: 1, Name: "two", Applied: true, Now: true}, {Set: "ax", Version: 2, Name: "three"},
	}))
}

func TestTextOfBench(t *testing.T) {
	golden(t, "bench.golden", throughputText(bench.Throughput{
		RawRiverPerS: 14000.4, RawRiverCPUMicrosPerJob: 101, RawRiverWALBytesPerJob: 2600,
		Shapes: map[string]bench.Shape{"single": {NodeRunsPerS: 13000, Ratio: 0.93}, "chain": {NodeRunsPerS: 28000, Ratio: 2, WALBytesPerNode: 1500, RoundTripsPerNode: 0.0123, CPUMicrosPerNode: 60}},
	})+latencyText(bench.Latency{HopMS: bench.Spread{P50: 1.234, P99: 5, Max: 6}, StartMS: bench.Spread{P50: 2}})+
		firesBenchText(bench.Fires{Fires: 7200, DelayMS: bench.Spread{P50: 4.56, P99: 20, Max: 1200}, Late: 2, Lost: 1, CPUMicros: 812.6})+
		herdText(bench.Herd{LastStartS: 2.345, Duplicates: 3, CPUMicros: 500}))
}

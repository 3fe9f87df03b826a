package planner_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// Whatever the history of a schedule is, both ways through a stretch of it come by the same instants, each once, as many as are counted, in
// steps of any size; and those are what the specs say one by one.
func TestBothWaysThroughAStretchAreTheSame(t *testing.T) {
	t.Parallel()
	specs := []dag.Schedule{
		{Cron: "30 2 * * *", Timezone: "Europe/Berlin"}, {Cron: "*/20 * * * *", Timezone: "America/New_York"}, {Cron: "15 1 * * *", Timezone: "America/New_York", DST: "quartz"},
		{Cron: "0 0 29 2 *", Timezone: "UTC"}, {Every: dag.Duration(7 * time.Hour), Timezone: "UTC"}, {Cron: "0 12 * * 1", Timezone: "Australia/Lord_Howe"},
	}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		hours := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Hour
		}
		history := []store.SpecRow{}
		at := begin
		for range rapid.IntRange(1, 4).Draw(t, "eras") {
			row := store.SpecRow{From: at, Anchor: at}
			if rapid.IntRange(0, 5).Draw(t, "there") > 0 {
				text, err := json.Marshal(rapid.SampledFrom(specs).Draw(t, "spec"))
				require.NoError(t, err)
				row.Spec = text
			}
			history = append(history, row)
			at = at.Add(hours("era", 3000) + time.Microsecond)
		}
		line := store.BackfillLine{From: begin.Add(hours("from", 6000))}
		line.Until = line.From.Add(hours("until", 400))
		steps := rapid.IntRange(1, 50)
		forth, total := planner.Walked(history, line, false, steps.Draw(t, "step"))
		back, _ := planner.Walked(history, line, true, steps.Draw(t, "step back"))
		require.Len(t, forth, total)
		slices.Reverse(back)
		require.Equal(t, len(forth), len(back))
		for i := range forth {
			require.True(t, forth[i].Equal(back[i]), "%s %s", forth[i], back[i])
			require.True(t, i == 0 || forth[i].After(forth[i-1]))
			require.False(t, forth[i].Before(line.From) || forth[i].After(line.Until))
		}
	})
}

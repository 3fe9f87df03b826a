package planner_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

func date(day, hour int) time.Time { return time.Date(2026, 12, day, hour, 0, 0, 0, time.UTC) }

func expected(t require.TestingT, table planner.Timetable, due *time.Time, from, before time.Time) (at []time.Time) {
	instants, err := table.Expected(due, from, before, 1000)
	require.NoError(t, err)
	for _, i := range instants {
		at = append(at, i.At.UTC())
	}
	return at
}

func TestExpectedFires(t *testing.T) {
	daily := planner.Timetable{Spec: dag.Schedule{Cron: "0 2 * * *", Timezone: "UTC"}, Anchor: date(1, 0)}
	require.Equal(t, []time.Time{date(2, 2), date(3, 2)}, expected(t, daily, new(date(1, 2)), date(2, 0), date(4, 2)), "neither before, nor at the end")
	require.Equal(t, []time.Time{date(3, 2)}, expected(t, daily, new(date(3, 2)), date(2, 0), date(4, 0)), "not what was decided")
	require.Equal(t, []time.Time{date(1, 2)}, expected(t, daily, nil, date(1, 0), date(2, 0)))
	daily.Spec.Calendars = []dag.CalendarUse{{Name: "days", Mode: "exclude"}}
	daily.Calendars = []store.Calendar{{Name: "days", Dates: []time.Time{date(2, 0)}}}
	require.Equal(t, []time.Time{date(1, 2), date(3, 2)}, expected(t, daily, nil, date(1, 0), date(4, 0)))

	delay := planner.Timetable{Spec: dag.Schedule{Delay: dag.Duration(time.Hour), Timezone: "UTC"}, Anchor: date(1, 0)}
	require.Equal(t, []time.Time{date(1, 1)}, expected(t, delay, nil, date(1, 0), date(2, 0)))
	require.Equal(t, []time.Time{date(1, 5)}, expected(t, delay, new(date(1, 5)), date(1, 0), date(2, 0)))
	require.Equal(t, []time.Time{date(1, 6)}, expected(t, delay, new(date(1, 5)), date(1, 6), date(2, 0)), "what is overdue fires at once")
	_, err := planner.Timetable{Spec: dag.Schedule{Timezone: "UTC"}}.Expected(nil, date(1, 0), date(2, 0), 1)
	require.ErrorContains(t, err, "neither cron nor every")
}

// A stretch has the fires of its parts, and jitter leaves each fire within its bound.
func TestExpectedFiresOfPartsAreThoseOfTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jitter := time.Duration(rapid.IntRange(0, 240).Draw(t, "jitter")) * time.Second
		table := planner.Timetable{Spec: dag.Schedule{Name: "s", Every: dag.Duration(5 * time.Minute), Jitter: dag.Duration(jitter), Timezone: "UTC"},
			Anchor: date(1, 0), Workflow: 7}
		whole, err := table.Expected(nil, date(1, 0), date(2, 0), 1000)
		require.NoError(t, err)
		cut := date(1, 0).Add(time.Duration(rapid.IntRange(0, 24*60*60).Draw(t, "cut")) * time.Second)
		for _, i := range whole {
			require.False(t, i.Due.Before(i.At) || i.Due.After(i.At.Add(jitter)))
		}
		first, err := table.Expected(nil, date(1, 0), cut, 1000)
		require.NoError(t, err)
		rest, err := table.Expected(nil, cut, date(2, 0), 1000)
		require.NoError(t, err)
		require.True(t, slices.Equal(whole, append(first, rest...)), "%d, and %d and %d", len(whole), len(first), len(rest))
	})
}

package report

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExtract(t *testing.T) {
	day, err := Extract(context.Background(), Request{Date: "2001-01-15"})
	require.NoError(t, err)
	require.Equal(t, "212 flights departed on 2001-01-15", day.String())
	require.Contains(t, day.Flights, Flight{"11:15", 1, 31, "WRG", "PSG"})
	require.IsNonDecreasing(t, departures(day))
}

func departures(d Day) []string {
	var all []string
	for _, f := range d.Flights {
		all = append(all, f.Departed)
	}
	return all
}

func TestExtractRefusesDatesItDoesNotHave(t *testing.T) {
	for date, why := range map[string]string{
		"2026-11-30": "the data covers 2001/01/01 to 2001/03/31",
		"2001-02-30": "is no date",
		"../etc":     "is no date",
		"":           "is no date",
	} {
		_, err := Extract(context.Background(), Request{Date: date})
		requireDirty(t, err, why)
	}
}

func requireDirty(t *testing.T, err error, why string) {
	t.Helper()
	var dirty *DataError
	require.ErrorAs(t, err, &dirty)
	require.ErrorContains(t, err, why)
}

func TestValidateJoinsStates(t *testing.T) {
	got, err := Validate(context.Background(), Day{"2001-01-15", []Flight{{"11:15", 1, 31, "WRG", "PSG"}}})
	require.NoError(t, err)
	require.Equal(t, []Leg{{Flight{"11:15", 1, 31, "WRG", "PSG"}, "AK", "AK"}}, got.Legs)
	require.Empty(t, got.Suspects)
}

func TestValidateNamesEveryMalformedFlight(t *testing.T) {
	_, err := Validate(context.Background(), Day{"2001-01-15", []Flight{
		{"25:00", 1, 31, "WRG", "PSG"},
		{"11:15", 1, 0, "WRG", "PSG"},
		{"11:16", 1441, 31, "WRG", "PSG"},
		{"11:17", -1441, 31, "WRG", "PSG"},
		{"11:18", 1, 31, "XXX", "PSG"},
		{"11:19", 1, 31, "MQT", "ORD"},
		{"11:20", 1, 31, "WRG", "PSG"},
	}})
	var dirty *DataError
	require.ErrorAs(t, err, &dirty)
	require.Equal(t, "2001-01-15", dirty.Subject)
	require.Equal(t, []string{
		`25:00 WRG → PSG: departure "25:00" is no time of day`,
		"11:15 WRG → PSG: distance 0 is not positive",
		"11:16 WRG → PSG: delay of 1441 minutes is more than a day",
		"11:17 WRG → PSG: delay of -1441 minutes is more than a day",
		"11:18 XXX → PSG: airport XXX is not among the airports",
		`11:19 MQT → ORD: airport MQT (Marquette County Airport) has no state: the list says "NA"`,
	}, dirty.Problems)
}

func TestDirtyRecordStopsItsOwnBranchOnly(t *testing.T) {
	ctx := context.Background()
	checked, err := Validate(ctx, Day{"2001-03-12", []Flight{
		{"19:06", 63, 303, "ORD", "MQT"}, {"19:07", 5, 400, "SFO", "LAX"}, {"19:08", 5, 400, "BOS", "XXX"},
	}})
	require.NoError(t, err)
	require.Equal(t, "3 flights of 2001-03-12 are well formed, 2 of them suspect", checked.String())
	_, err = Aggregate(Midwest)(ctx, checked)
	requireDirty(t, err, `19:06 ORD → MQT: airport MQT (Marquette County Airport) has no state: the list says "NA"`)
	_, err = Aggregate(Northeast)(ctx, checked)
	requireDirty(t, err, "airport XXX is not among the airports")
	west, err := Aggregate(West)(ctx, checked)
	require.NoError(t, err)
	require.Equal(t, []State{{Code: "CA", Flights: 1, Delay: 5}}, west.States)
}

func TestAggregateSumsByState(t *testing.T) {
	legs := []Leg{
		{Flight{"10:00", 15, 100, "SFO", "LAX"}, "CA", "CA"},
		{Flight{"10:01", 14, 100, "SFO", "PHX"}, "CA", "AZ"},
		{Flight{"10:02", -4, 100, "PHX", "SFO"}, "AZ", "CA"},
		{Flight{"10:03", 99, 100, "BOS", "JFK"}, "MA", "NY"},
	}
	got, err := Aggregate(West)(context.Background(), Checked{Date: "2001-01-15", Legs: legs})
	require.NoError(t, err)
	require.Equal(t, []State{
		{Code: "AZ", Flights: 1, Late: 0, Delay: -4, Outbound: 1},
		{Code: "CA", Flights: 2, Late: 1, Delay: 29, Outbound: 1},
	}, got.States)
	require.Equal(t, []Leg{legs[0], legs[1], legs[2]}, got.Worst)
	require.Equal(t, "west: 3 flights from 2 states", got.String())
}

func TestEveryStateHasOneRegion(t *testing.T) {
	seen := map[string]Region{}
	for _, r := range Regions() {
		require.NotEqual(t, string(r), r.Title())
		for _, s := range members[r] {
			require.NotContains(t, seen, s)
			seen[s] = r
			got, ok := regionOf(s)
			require.True(t, ok)
			require.Equal(t, r, got)
		}
	}
	require.Len(t, seen, 50+1+5, "states, the District of Columbia, territories")
}

func TestWorstDelaysLeavesOutSkippedBranches(t *testing.T) {
	leg := func(delay int) Leg { return Leg{Flight: Flight{Departed: "10:00", Delay: delay}} }
	got, err := WorstDelays(context.Background(), Branches{
		South: &Totals{Region: South, Worst: []Leg{leg(90), leg(10)}},
		West:  &Totals{Region: West, Worst: []Leg{leg(50)}},
	})
	require.NoError(t, err)
	require.Equal(t, []Leg{leg(90), leg(50), leg(10)}, got.Worst)
	require.Len(t, got.Regions, 2)
	_, err = WorstDelays(context.Background(), Branches{})
	requireDirty(t, err, "every branch was skipped")
}

func TestWorstDoesNotDependOnOrder(t *testing.T) {
	var legs, back []Leg
	for i := range 25 {
		l := Leg{Flight: Flight{Departed: "10:00", Delay: i % 3, Distance: i}}
		legs, back = append(legs, l), append([]Leg{l}, back...)
	}
	require.Equal(t, worst(legs), worst(back))
	require.Len(t, worst(legs), WorstCount)
}

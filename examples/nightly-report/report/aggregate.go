package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// LateAfter is the delay in minutes from which a flight counts as late, by the
// definition of the US Department of Transportation.
const LateAfter = 15

// State sums up the flights that departed from one state.
type State struct {
	Code    string `json:"code"`
	Flights int    `json:"flights"`
	Late    int    `json:"late"`
	// Delay is the sum of the arrival delays in minutes; early arrivals count against it.
	Delay int `json:"delay"`
	// Outbound counts the flights to another state.
	Outbound int `json:"outbound"`
}

// Totals is the result of one branch.
type Totals struct {
	Region Region  `json:"region"`
	States []State `json:"states"`
	// Worst are the region's most delayed flights, at most WorstCount.
	Worst []Leg `json:"worst"`
}

// String tells a log what was counted.
func (t Totals) String() string {
	flights := 0
	for _, s := range t.States {
		flights += s.Flights
	}
	return fmt.Sprintf("%s: %d flights from %d states", t.Region, flights, len(t.States))
}

// Aggregate makes the step that sums up one region by state of origin. A dirty record
// of the region is a *DataError: a state's figures are either right or absent.
func Aggregate(region Region) func(context.Context, Checked) (Totals, error) {
	return func(_ context.Context, day Checked) (Totals, error) {
		if problems := day.problems(region); len(problems) > 0 {
			return Totals{}, &DataError{Subject: day.Date, Problems: problems}
		}
		legs := legsFrom(region, day.Legs)
		return Totals{Region: region, States: sumStates(legs), Worst: worst(legs)}, nil
	}
}

func legsFrom(region Region, legs []Leg) []Leg {
	var own []Leg
	for _, l := range legs {
		if r, _ := regionOf(l.From); r == region {
			own = append(own, l)
		}
	}
	return own
}

// sumStates returns the states in order of their codes.
func sumStates(legs []Leg) []State {
	sums := map[string]*State{}
	for _, l := range legs {
		s := sums[l.From]
		if s == nil {
			s = &State{Code: l.From}
			sums[l.From] = s
		}
		s.add(l)
	}
	states := make([]State, 0, len(sums))
	for _, s := range sums {
		states = append(states, *s)
	}
	slices.SortFunc(states, func(a, b State) int { return cmp.Compare(a.Code, b.Code) })
	return states
}

func (s *State) add(l Leg) {
	s.Flights++
	s.Delay += l.Delay
	if l.Delay >= LateAfter {
		s.Late++
	}
	if l.To != l.From {
		s.Outbound++
	}
}

// plus joins two sums under the first one's code.
func (s State) plus(o State) State {
	return State{s.Code, s.Flights + o.Flights, s.Late + o.Late, s.Delay + o.Delay, s.Outbound + o.Outbound}
}

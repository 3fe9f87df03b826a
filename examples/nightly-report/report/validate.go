package report

import (
	"context"
	"fmt"
	"time"
)

// maxDelay in minutes: an arrival further than a day from its plan is an error of entry.
const maxDelay = 24 * 60

// Checked is a day whose flights are well formed, each with the states it connects.
type Checked struct {
	Date string `json:"date"`
	Legs []Leg  `json:"legs"`
	// Suspects are the dirty records; the branch of a suspect's region refuses its day.
	Suspects []Suspect `json:"suspects"`
}

// Suspect is one dirty record.
type Suspect struct {
	Region  Region `json:"region"`
	Problem string `json:"problem"`
}

// String tells a log what was found.
func (c Checked) String() string {
	return fmt.Sprintf("%d flights of %s are well formed, %d of them suspect", len(c.Legs), c.Date, len(c.Suspects))
}

// problems returns what is wrong with the records of one region.
func (c Checked) problems(r Region) []string {
	var found []string
	for _, s := range c.Suspects {
		if s.Region == r {
			found = append(found, s.Problem)
		}
	}
	return found
}

// Validate checks the day's flights and joins them with the airports. A flight that is
// malformed or belongs to no region spoils the day: a *DataError with every such flight. One that only its
// own region must refuse becomes a Suspect.
func Validate(_ context.Context, day Day) (Checked, error) {
	airports, err := readAirports()
	if err != nil {
		return Checked{}, err
	}
	out := Checked{Date: day.Date, Legs: make([]Leg, 0, len(day.Flights)), Suspects: []Suspect{}}
	var problems []string
	for _, f := range day.Flights {
		if bad := malformed(f); bad != "" {
			problems = append(problems, fmt.Sprintf("%s: %s", f, bad))
			continue
		}
		leg, region, err := locate(f, airports)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %s", f, err))
			continue
		}
		out.Legs = append(out.Legs, leg)
		if leg.To == "" {
			problem := fmt.Sprintf("%s: %s", f, noState(f.Destination, airports))
			out.Suspects = append(out.Suspects, Suspect{Region: region, Problem: problem})
		}
	}
	if len(problems) > 0 {
		return Checked{}, &DataError{Subject: day.Date, Problems: problems}
	}
	return out, nil
}

// malformed says what is wrong with a flight by itself, or nothing.
func malformed(f Flight) string {
	if _, err := time.Parse("15:04", f.Departed); err != nil {
		return fmt.Sprintf("departure %q is no time of day", f.Departed)
	}
	if f.Distance <= 0 {
		return fmt.Sprintf("distance %d is not positive", f.Distance)
	}
	if f.Delay < -maxDelay || f.Delay > maxDelay {
		return fmt.Sprintf("delay of %d minutes is more than a day", f.Delay)
	}
	return ""
}

// locate finds the states of a flight and the region it counts for. The error says why
// it counts for none.
func locate(f Flight, airports map[string]airport) (Leg, Region, error) {
	region, ok := regionOf(airports[f.Origin].state)
	if !ok {
		return Leg{}, "", noState(f.Origin, airports)
	}
	leg := Leg{Flight: f, From: airports[f.Origin].state}
	if to := airports[f.Destination].state; stateKnown(to) {
		leg.To = to
	}
	return leg, region, nil
}

func stateKnown(state string) bool {
	_, ok := regionOf(state)
	return ok
}

func noState(code string, airports map[string]airport) error {
	a, known := airports[code]
	if !known {
		return fmt.Errorf("airport %s is not among the airports", code)
	}
	return fmt.Errorf("airport %s (%s) has no state: the list says %q", code, a.name, a.state)
}

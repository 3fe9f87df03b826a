package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// WorstCount is how many of the most delayed flights the report names.
const WorstCount = 10

// Branches holds the result of every branch; nil is a branch that was skipped.
type Branches struct {
	Northeast   *Totals `json:"northeast"`
	Midwest     *Totals `json:"midwest"`
	South       *Totals `json:"south"`
	West        *Totals `json:"west"`
	Territories *Totals `json:"territories"`
}

// delivered returns the results there are, in the order of Regions.
func (b Branches) delivered() []Totals {
	var all []Totals
	for _, t := range []*Totals{b.Northeast, b.Midwest, b.South, b.West, b.Territories} {
		if t != nil {
			all = append(all, *t)
		}
	}
	return all
}

// Ranking is the regions that delivered and the worst flights among them.
type Ranking struct {
	Regions []Totals `json:"regions"`
	Worst   []Leg    `json:"worst"`
}

// String tells a log what leads the list.
func (r Ranking) String() string {
	lead := "no flights"
	if len(r.Worst) > 0 {
		lead = fmt.Sprintf("the worst is %s, %d min", r.Worst[0].Flight, r.Worst[0].Delay)
	}
	return fmt.Sprintf("%d of %d regions delivered; %s", len(r.Regions), len(Regions()), lead)
}

// WorstDelays joins the branches and ranks their most delayed flights. A skipped branch is
// left out; with none left there is nothing to report, which is a *DataError.
func WorstDelays(_ context.Context, in Branches) (Ranking, error) {
	out := Ranking{Regions: in.delivered()}
	if len(out.Regions) == 0 {
		return Ranking{}, &DataError{Subject: "worst delays", Problems: []string{"every branch was skipped"}}
	}
	var all []Leg
	for _, t := range out.Regions {
		all = append(all, t.Worst...)
	}
	out.Worst = worst(all)
	return out, nil
}

// worst returns the flights with the longest delays, at most WorstCount, in an order
// that does not depend on the order of legs.
func worst(legs []Leg) []Leg {
	sorted := slices.Clone(legs)
	slices.SortFunc(sorted, func(a, b Leg) int {
		return cmp.Or(
			cmp.Compare(b.Delay, a.Delay),
			cmp.Compare(a.Departed, b.Departed),
			cmp.Compare(a.Origin, b.Origin),
			cmp.Compare(a.Destination, b.Destination),
			cmp.Compare(a.Distance, b.Distance),
		)
	})
	return append([]Leg{}, sorted[:min(WorstCount, len(sorted))]...)
}

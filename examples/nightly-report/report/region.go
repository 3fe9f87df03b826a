package report

import "slices"

// Region is one part of the country; each is a branch of the workflow. The four
// regions are those of the US Census Bureau; Territories holds what it leaves out.
type Region string

// The regions.
const (
	Northeast   Region = "northeast"
	Midwest     Region = "midwest"
	South       Region = "south"
	West        Region = "west"
	Territories Region = "territories"
)

// Regions lists every region in the order of the report.
func Regions() []Region { return []Region{Northeast, Midwest, South, West, Territories} }

// Title is the region's name for people.
func (r Region) Title() string {
	switch r {
	case Northeast:
		return "Northeast"
	case Midwest:
		return "Midwest"
	case South:
		return "South"
	case West:
		return "West"
	case Territories:
		return "Territories"
	}
	return string(r)
}

// members lists the states of each region by their postal codes.
var members = map[Region][]string{
	Northeast: {"CT", "MA", "ME", "NH", "NJ", "NY", "PA", "RI", "VT"},
	Midwest:   {"IA", "IL", "IN", "KS", "MI", "MN", "MO", "ND", "NE", "OH", "SD", "WI"},
	South: {
		"AL", "AR", "DC", "DE", "FL", "GA", "KY", "LA", "MD", "MS", "NC", "OK", "SC", "TN", "TX", "VA", "WV",
	},
	West:        {"AK", "AZ", "CA", "CO", "HI", "ID", "MT", "NM", "NV", "OR", "UT", "WA", "WY"},
	Territories: {"AS", "GU", "MP", "PR", "VI"},
}

// regionOf finds the region of a state; ok is false for what is no state.
func regionOf(state string) (region Region, ok bool) {
	for _, r := range Regions() {
		if slices.Contains(members[r], state) {
			return r, true
		}
	}
	return "", false
}

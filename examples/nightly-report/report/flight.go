package report

import "fmt"

// Request names the business date to report on, as 2001-01-15.
type Request struct {
	Date string `json:"date"`
}

// Flight is one flight that took place.
type Flight struct {
	// Departed is the actual departure, local time of the origin, as 11:15.
	Departed string `json:"departed"`
	// Delay is the arrival delay in minutes; negative is early.
	Delay int `json:"delay"`
	// Distance is in miles.
	Distance    int    `json:"distance"`
	Origin      string `json:"origin"`
	Destination string `json:"destination"`
}

// String names the flight as people do: 11:15 WRG → PSG.
func (f Flight) String() string {
	return fmt.Sprintf("%s %s → %s", f.Departed, f.Origin, f.Destination)
}

// Leg is a flight with the states it connects.
type Leg struct {
	Flight
	// From is the state of the origin.
	From string `json:"from"`
	// To is the state of the destination; empty when it is not known.
	To string `json:"to"`
}

// Day is every flight that departed on a date, in order of departure.
type Day struct {
	Date    string   `json:"date"`
	Flights []Flight `json:"flights"`
}

// String tells a log what the day holds.
func (d Day) String() string { return fmt.Sprintf("%d flights departed on %s", len(d.Flights), d.Date) }

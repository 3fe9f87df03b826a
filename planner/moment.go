package planner

import (
	"time"

	"github.com/ax-run/ax/internal/cron"
)

// Moment is an instant that somebody asks about: an exact one, or what a wall clock shows in a zone that the schedule tells (S6).
type Moment struct {
	// Exact is an instant; zero where Wall is meant, a wall clock's time as if it were UTC, of the clocks of Zone where that is not nil.
	Exact, Wall time.Time
	Zone        *time.Location
	// Within is how much later an instant may be that is still meant: a minute where no seconds were said.
	Within time.Duration
}

// In are the instants that may be meant in a zone, in order: one as a rule, two where the clocks go back over it. In a gap it is the first
// instant after. The shift is the change of the clocks that makes it so, also where an exact instant is one of two that look the same.
func (m Moment) In(zone *time.Location) (at []time.Time, shift *cron.Shift) {
	if !m.Exact.IsZero() {
		_, shift = cron.Instants(cron.Wall(m.Exact.In(zone)), zone)
		return []time.Time{m.Exact.In(zone)}, shift
	}
	clocks := zone
	if m.Zone != nil {
		clocks = m.Zone
	}
	if at, shift = cron.Instants(m.Wall, clocks); len(at) == 0 {
		at = []time.Time{shift.At}
	}
	if clocks.String() != zone.String() {
		return Moment{Exact: at[0]}.In(zone)
	}
	return at, shift
}

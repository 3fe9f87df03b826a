package dag

import (
	"fmt"
	"time"
)

// firstInstant and endInstant bound the instants that ax keeps: within them every zone tells the year in four digits, and no
// interval between two of them is too long to count in microseconds.
var (
	firstInstant = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	endInstant   = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Add(-14 * time.Hour)
)

// CheckInstant refuses an instant that no workflow can be about: one before the year 1900 or after the year 9999. The error is
// one sentence that says so.
func CheckInstant(at time.Time) error {
	if Tellable(at) {
		return nil
	}
	return fmt.Errorf("%s is out of range: want an instant of the years 1900 to 9999", at.Format(time.RFC3339))
}

// Tellable reports whether an instant is within the years that ax keeps.
func Tellable(at time.Time) bool { return !at.Before(firstInstant) && at.Before(endInstant) }

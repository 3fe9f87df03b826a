package progress

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is at most Count starts in each Per, spread evenly, of which Burst may come at once after a rest (S23). Count 0 is no limit.
type Rate struct {
	Count int
	Per   time.Duration
	Burst int
}

// MaxRate is the largest count of a rate.
const MaxRate = 1_000_000

var rateUnits = []struct {
	name string
	per  time.Duration
}{{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}}

// ParseRate reads a rate as people write it: 10/s, 100/m, 5/h or 1000/d. Its Burst is 1.
func ParseRate(text string) (Rate, error) {
	count, unit, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(count)
	for _, u := range rateUnits {
		if err == nil && n >= 1 && n <= MaxRate && unit == u.name {
			return Rate{Count: n, Per: u.per, Burst: 1}, nil
		}
	}
	return Rate{}, fmt.Errorf("%.40q is no rate: write a whole number up to %d and s, m, h or d, as in 10/s", text, MaxRate)
}

// String writes the rate as ParseRate reads it; none is "".
func (r Rate) String() string {
	for _, u := range rateUnits {
		if r.Count > 0 && r.Per == u.per {
			return strconv.Itoa(r.Count) + "/" + u.name
		}
	}
	return ""
}

// after is when the next start is due once one has been made at now that was due at next: a gap later, counted from when it was due, so that
// the rate is kept however late the starts come. What was missed for longer than the burst is not made up. (This is the generic cell rate
// algorithm, shifted so that the next instant is what is kept.)
func (r Rate) after(now, next time.Time) time.Time {
	gap := r.Per / time.Duration(r.Count)
	credit := time.Duration(max(r.Burst, 1)-1)*gap + lateness
	return maxTime(next, now.Add(-credit)).Add(gap)
}

package forecast

import (
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
)

// The quantiles of Typical and Slow.
const (
	typical = 0.5
	slow    = 0.95
)

// Durations are how long something takes: at most Typical in half of the cases, at most Slow in nineteen of twenty.
type Durations struct{ Typical, Slow time.Duration }

// Learn reads durations out of what was measured before; false when that is nothing.
func Learn(samples []time.Duration) (Durations, bool) {
	if len(samples) == 0 {
		return Durations{}, false
	}
	sorted := make([]float64, len(samples))
	for i, s := range samples {
		sorted[i] = float64(max(s, 0))
	}
	slices.Sort(sorted)
	at := func(q float64) time.Duration { return time.Duration(stat.Quantile(q, stat.Empirical, sorted, nil)) }
	return Durations{at(typical), at(slow)}, true
}

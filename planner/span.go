package planner

import "time"

// Instant is one that a schedule will fire at: At is the instant, in the schedule's zone, Due when its run starts, later by the jitter.
type Instant struct{ At, Due time.Time }

// Expected lists the fires of a schedule that are due from an instant on and before another, at most n of them. Due is when it fires next, as its
// row says; nil for one that is not stored, which counts from its Anchor. Of a fixed delay it is the next one alone, or from if that is past: the
// others hang on how long runs take.
func (t Timetable) Expected(due *time.Time, from, before time.Time, n int) ([]Instant, error) {
	line, err := t.line()
	if err != nil {
		return nil, err
	}
	after := t.Anchor
	if due != nil {
		line.pin(latest(*due, from))
		after = line.instant(*due).Add(-tick)
	}
	after = latest(after, from.Add(-line.jitter-tick))
	var all []Instant
	excluded := 0
	for at, ok := line.next(after); ok && at.Before(before) && len(all) < n && excluded < maxExcluded; at, ok = line.next(after) {
		if after = at; line.excludes(at) {
			excluded++
			after = dayOf(at).add(1).begin(line.zone).Add(-tick)
			continue
		}
		excluded = 0
		if due := line.due(at); !due.Before(from) && due.Before(before) {
			all = append(all, Instant{At: at, Due: due})
		}
	}
	return all, nil
}

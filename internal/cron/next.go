package cron

import "time"

// Schedule is a parsed expression in its zone. It is immutable and safe for concurrent use.
type Schedule struct {
	zone    *time.Location
	every   time.Duration // of "@every"; the rest is unset then
	pattern *pattern
	policy  policy
	table   table
}

// Next returns the first instant strictly after the given one at which the schedule
// fires, in the schedule's zone; false when it never fires again, which is so after the
// year 2199 at the latest. "@every D" fires D after the given instant's whole second.
func (s *Schedule) Next(after time.Time) (time.Time, bool) {
	second := min(max(after.Unix(), timeStart), timeEnd)
	if s.every > 0 {
		second += int64(s.every / time.Second)
		return time.Unix(second, 0).In(s.zone), second < scanEnd
	}
	second, ok := s.nextAfter(second)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(second, 0).In(s.zone), true
}

// Never reports whether the expression is valid and yet no instant matches, as for the 30th of February.
func (s *Schedule) Never() bool {
	_, fires := s.Next(time.Unix(timeStart, 0))
	return !fires
}

// Every returns the period of an "@every" schedule, and whether it is one.
func (s *Schedule) Every() (time.Duration, bool) { return s.every, s.every > 0 }

// nextAfter walks the stretches of the zone, from the one that holds the instant itself:
// the very next second may be the end of a gap, with a match of the gap to fire.
func (s *Schedule) nextAfter(instant int64) (int64, bool) {
	from := instant + 1
	matches := search{pattern: s.pattern}
	for i := s.table.find(instant); i < len(s.table); i++ {
		here := s.table[i]
		open, closed := s.window(i)
		match := matches.from(here.wallAt(max(from, open)))
		if at := here.instantOf(match); at < closed {
			return at, true
		}
		if s.policy.fillGap && i+1 < len(s.table) {
			if after := s.table[i+1]; match < after.wallAt(after.start) {
				return after.start, true
			}
		}
	}
	return 0, false
}

// window is the part of stretch i, from its first second to before its last, in which a
// match fires: all of it, but for the pass of a repeated stretch that does not count.
func (s *Schedule) window(i int) (open, closed int64) {
	open, closed = s.table[i].start, s.table[i].end
	if s.policy.skipSecond {
		open += s.table.repeatedBefore(i)
	}
	if s.policy.skipFirst {
		closed -= s.table.repeatedAfter(i)
	}
	return open, closed
}

// search remembers the last answer of a pattern, which holds for every question between
// the last one and the answer. Years without a match then cost one question, not one a stretch.
type search struct {
	pattern *pattern
	asked   wall
	answer  wall
	known   bool
}

// from returns the first match at or after w.
func (s *search) from(w wall) wall {
	if !s.known || w < s.asked || w > s.answer {
		s.asked, s.answer, s.known = w, s.pattern.next(w), true
	}
	return s.answer
}

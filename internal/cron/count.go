package cron

import (
	mathbits "math/bits"
	"time"
)

// Count returns how many times the schedule fires after one instant and up to another, that one
// included: the number of steps Next takes from the one to the other. What it costs grows with the
// months between them, not with the fires, so that a backlog of any size can be told.
func (s *Schedule) Count(after, until time.Time) int {
	from := min(max(after.Unix(), timeStart), timeEnd)
	to := min(max(until.Unix(), timeStart), timeEnd)
	if from >= to {
		return 0
	}
	if s.every > 0 {
		return int((min(to, scanEnd-1) - from) / int64(s.every/time.Second))
	}
	n := 0
	for i := s.table.find(from); i < len(s.table) && s.table[i].start <= to; i++ {
		here := s.table[i]
		open, closed := s.window(i)
		n += s.pattern.count(here.wallAt(max(from+1, open)), here.wallAt(min(to+1, closed)))
		if s.fillsGapAfter(i, to) {
			n++
		}
	}
	return n
}

// fillsGapAfter reports whether the end of the gap after stretch i, if it comes by the given instant,
// is a fire only because matches lie in the gap.
func (s *Schedule) fillsGapAfter(i int, to int64) bool {
	if !s.policy.fillGap || i+1 == len(s.table) || s.table[i].end > to {
		return false
	}
	open, _ := s.window(i)
	missed := s.pattern.next(s.table[i].wallAt(max(open, s.table[i].end)))
	after := s.table[i+1]
	end := after.wallAt(after.start)
	return missed < end && s.pattern.next(end) != end
}

// count returns how many matches there are from one wall second to before another.
func (p *pattern) count(from, to wall) int {
	from = max(from, wallStart)
	if from >= to {
		return 0
	}
	first, last := int(from/daySeconds), int(to/daySeconds)
	n := p.daysBetween(first, last) * p.seconds.size() * p.minutes.size() * p.hours.size()
	if p.daysBetween(last, last+1) > 0 {
		n += p.clockBefore(int(to % daySeconds))
	}
	if p.daysBetween(first, first+1) > 0 {
		n -= p.clockBefore(int(from % daySeconds))
	}
	return n
}

// daysBetween returns how many days match from one day since 1970 to before another.
func (p *pattern) daysBetween(from, to int) int {
	year, first, _ := time.Unix(int64(from)*daySeconds, 0).UTC().Date()
	n := 0
	for y := p.years.next(year); y != none; y = p.years.next(y + 1) {
		if y > year {
			first = 1
		}
		for m := p.months.next(int(first)); m != none; m = p.months.next(m + 1) {
			shape := monthOf(y, m)
			if shape.start >= to {
				return n
			}
			days := p.days.in(shape).from(from - shape.start + 1).before(to - shape.start + 1)
			n += days.size()
		}
	}
	return n
}

// clockBefore returns how many seconds of a day match before the given one.
func (p *pattern) clockBefore(second int) int {
	hour, minute, second := second/3600, second/60%60, second%60
	n := p.hours.before(hour).size() * p.minutes.size() * p.seconds.size()
	if p.hours.next(hour) == hour {
		n += p.minutes.before(minute).size() * p.seconds.size()
		if p.minutes.next(minute) == minute {
			n += p.seconds.before(second).size()
		}
	}
	return n
}

// size is the number of members.
func (b bits) size() int { return mathbits.OnesCount64(uint64(b)) }

// from is the set of members that are at least n.
func (b bits) from(n int) bits { return b >> max(n, 0) << max(n, 0) }

// before is the set of members less than n.
func (b bits) before(n int) bits { return b &^ b.from(n) }

package cron

import "time"

const daySeconds = 24 * 60 * 60

// wall is a reading of the clock and calendar on the wall: the seconds since 1970 that it
// would be if the zone were UTC.
type wall int64

// The first wall second a pattern can match, and the answer when none is left.
const (
	wallStart wall = 0
	wallNever wall = 1 << 60
)

// pattern is the meaning of an expression, without a zone.
type pattern struct {
	seconds, minutes, hours bits
	days                    days
	months                  bits // 1 to 12
	years                   years
	elapsed                 bool // follows elapsed time over zone changes (S7)
}

// next returns the first match at or after w, or wallNever.
func (p *pattern) next(w wall) wall {
	w = max(w, wallStart)
	year, month, day := time.Unix(int64(w), 0).UTC().Date()
	clock := p.clockFrom(int(w % daySeconds))
	if clock == none {
		day++ // may lie beyond the month, where no day matches
		clock = p.clockFrom(0)
	}
	found := p.dayFrom(year, int(month), day)
	switch {
	case found == none:
		return wallNever
	case found > int(w/daySeconds):
		clock = p.clockFrom(0)
	}
	return wall(found*daySeconds + clock)
}

// dayFrom returns the first matching day at or after a date, as days since 1970, or none.
func (p *pattern) dayFrom(year, month, day int) int {
	for y := p.years.next(year); y != none; y = p.years.next(y + 1) {
		if y > year {
			month, day = 1, 1
		}
		for m := p.months.next(month); m != none; m = p.months.next(m + 1) {
			if m > month {
				day = 1
			}
			shape := monthOf(y, m)
			if d := p.days.in(shape).next(day); d != none {
				return shape.start + d - 1
			}
		}
	}
	return none
}

// clockFrom returns the first matching second of the day at or after the given one, or none.
func (p *pattern) clockFrom(second int) int {
	hour, minute, second := second/3600, second/60%60, second%60
	for h := p.hours.next(hour); h != none; h = p.hours.next(h + 1) {
		if h > hour {
			minute, second = 0, 0
		}
		for m := p.minutes.next(minute); m != none; m = p.minutes.next(m + 1) {
			if m > minute {
				second = 0
			}
			if s := p.seconds.next(second); s != none {
				return h*3600 + m*60 + s
			}
		}
	}
	return none
}

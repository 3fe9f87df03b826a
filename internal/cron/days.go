package cron

import "time"

// days is the rule for the days of a month: what the two day fields say together.
// A field that says nothing holds every day.
type days struct {
	ofMonth bits    // 1 to 31
	nearest bits    // nW: the weekday nearest to a day, within the month
	last    lastDay // L and its forms
	ofWeek  weekdays
	week    int  // n of MON#n, lastWeek of MONL, 0 for all
	either  bool // one of ofMonth and ofWeek is enough (unix); otherwise both must hold
}

// lastDay is a day counted from the end of the month: L, LW, L-3, L-3W.
type lastDay struct {
	set     bool
	before  int  // days before the last one
	weekday bool // the weekday nearest to it
}

// weekdays is a set of days of the week; Sunday is bit 0.
type weekdays uint8

const (
	everyWeekday weekdays = 1<<7 - 1
	everyDay     bits     = 1<<32 - 1<<1
	lastWeek              = -1
)

// month is the shape of one calendar month.
type month struct {
	start   int // days from 1970-01-01 to the first of the month
	length  int
	weekday int // of the first; Sunday is 0
}

func monthOf(year, m int) month {
	start := epochDay(year, m)
	const thursday = 4 // 1970-01-01
	return month{start: start, length: epochDay(year, m+1) - start, weekday: (start + thursday) % 7}
}

func epochDay(year, m int) int {
	return int(time.Date(year, time.Month(m), 1, 0, 0, 0, 0, time.UTC).Unix() / daySeconds)
}

// all is the set of the month's days.
func (m month) all() bits { return everyDay & (1<<(m.length+1) - 1) }

// in returns the days of m that match.
func (d *days) in(m month) bits {
	byMonth, byWeek := d.byMonth(m), d.byWeek(m)
	if d.either {
		return (byMonth | byWeek) & m.all()
	}
	return byMonth & byWeek & m.all()
}

// byMonth is what the day-of-month field says. A day the month does not have is no day
// at all: neither 31 nor 31W falls on the 30th.
func (d *days) byMonth(m month) bits {
	set := d.ofMonth
	for day := d.nearest.next(1); day != none && day <= m.length; day = d.nearest.next(day + 1) {
		set.add(m.nearestWeekday(day))
	}
	if day := m.length - d.last.before; d.last.set && day >= 1 {
		if d.last.weekday {
			day = m.nearestWeekday(day)
		}
		set.add(day)
	}
	return set
}

// nearestWeekday is the weekday (Monday to Friday) nearest to day without leaving the month.
func (m month) nearestWeekday(day int) int {
	switch (m.weekday + day - 1) % 7 {
	case 6:
		if day == 1 {
			return 3
		}
		return day - 1
	case 0:
		if day == m.length {
			return day - 2
		}
		return day + 1
	}
	return day
}

// byWeek is what the day-of-week field says.
func (d *days) byWeek(m month) bits {
	const weekly = 1 | 1<<7 | 1<<14 | 1<<21 | 1<<28 | 1<<35
	set := bits(d.ofWeek) * weekly >> m.weekday << 1
	switch d.week {
	case 0:
		return set
	case lastWeek:
		return set & m.all() >> (m.length - 6) << (m.length - 6)
	}
	firstOfWeek := 7*(d.week-1) + 1
	const oneWeek = 1<<7 - 1
	return set & (oneWeek << firstOfWeek)
}

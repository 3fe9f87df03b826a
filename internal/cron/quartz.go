package cron

import "strings"

const quartzLiberty = wraps | openStep

var (
	quartzSecond  = field{name: "second", min: 0, max: 59, liberty: quartzLiberty}
	quartzMinute  = field{name: "minute", min: 0, max: 59, liberty: quartzLiberty}
	quartzHour    = field{name: "hour", min: 0, max: 23, liberty: quartzLiberty}
	quartzDay     = field{name: "day-of-month", min: 1, max: 31, liberty: quartzLiberty}
	quartzMonth   = field{name: "month", min: 1, max: 12, names: monthNames, first: 1, liberty: quartzLiberty}
	quartzWeekday = field{name: "day-of-week", min: 1, max: 7, names: dayNames, first: 1, liberty: quartzLiberty}
	quartzYear    = field{name: "year", min: firstYear, max: lastYear, liberty: openStep}
)

// parseQuartz reads the six or seven fields of Quartz.
func parseQuartz(texts []string) (*pattern, error) {
	p := &pattern{years: everyYear}
	for _, part := range []struct {
		field *field
		text  string
		into  *bits
	}{
		{&quartzSecond, texts[0], &p.seconds},
		{&quartzMinute, texts[1], &p.minutes},
		{&quartzHour, texts[2], &p.hours},
		{&quartzMonth, texts[4], &p.months},
	} {
		values, err := part.field.values(part.text)
		if err != nil {
			return nil, err
		}
		part.into.add(values...)
	}
	var err error
	if p.days, err = quartzDays(texts[3], texts[5], len(texts)); err != nil {
		return nil, err
	}
	if len(texts) == 7 {
		values, err := quartzYear.values(texts[6])
		if err != nil {
			return nil, err
		}
		p.years = years{}
		p.years.add(values...)
	}
	p.elapsed = startsOpen(texts[1]) || startsOpen(texts[2])
	return p, nil
}

// startsOpen reports whether a field begins with '*' or, what Quartz users write for it, "0/" or "/" (S7).
func startsOpen(text string) bool {
	return text[0] == '*' || text[0] == '/' || strings.HasPrefix(text, "0/")
}

// quartzDays reads the two day fields, of which exactly one is '?'.
func quartzDays(month, week string, fields int) (days, error) {
	switch {
	case month == "?" && week == "?":
		return days{}, refuse("day-of-week", week, "only one of day-of-month and day-of-week may be '?'")
	case month == "?":
		return quartzWeek(week)
	case week == "?", month == "*" && week == "*" && fields == 6:
		// Both '*', as Spring writes it, can only mean every day.
		return quartzMonthDays(month)
	case month == "*":
		return days{}, refuse("day-of-month", month, "write '?' here to choose by the day of the week")
	case week == "*":
		return days{}, refuse("day-of-week", week, "write '?' here to choose by the day of the month")
	}
	return days{}, refuse("day-of-week", week, "day-of-month and day-of-week cannot both be given: write '?' in one of them")
}

// quartzMonthDays reads day-of-month: days, nearest weekdays (15W), or the last day in one of its forms.
func quartzMonthDays(text string) (days, error) {
	d := days{ofWeek: everyWeekday}
	if strings.HasPrefix(text, "L") {
		var err error
		d.last, err = quartzLast(text)
		return d, err
	}
	for term := range strings.SplitSeq(text, ",") {
		if base, isNearest := strings.CutSuffix(term, "W"); isNearest {
			day, err := quartzDay.value(term, base)
			if err != nil {
				return days{}, refuse(quartzDay.name, term, "'W' needs one day from 1 to 31 before it, such as 15W, or L")
			}
			d.nearest.add(day)
			continue
		}
		if strings.HasPrefix(term, "L") {
			return days{}, refuse(quartzDay.name, text, "'L' must stand alone in the field")
		}
		values, err := quartzDay.term(term)
		if err != nil {
			return days{}, err
		}
		d.ofMonth.add(values...)
	}
	return d, nil
}

// quartzLast reads L, LW, L-3 and L-3W.
func quartzLast(text string) (lastDay, error) {
	if strings.Contains(text, ",") {
		return lastDay{}, refuse(quartzDay.name, text, "'L' must stand alone in the field")
	}
	rest, weekday := strings.CutSuffix(text[1:], "W")
	last := lastDay{set: true, weekday: weekday}
	if rest == "" {
		return last, nil
	}
	before, ok := digits(strings.TrimPrefix(rest, "-"))
	if !ok || rest[0] != '-' || before < 1 || before > 30 {
		return lastDay{}, refuse(quartzDay.name, text, "write L, LW, L-3 or L-3W, with 1 to 30 days before the last")
	}
	last.before = before
	return last, nil
}

// quartzWeek reads day-of-week: weekdays, the nth one (6#3), or the last one (6L) of the month.
func quartzWeek(text string) (days, error) {
	d := days{ofMonth: everyDay}
	if text == "L" { // alone it is the last day of the week
		text = "7"
	}
	base, nth, isNth := strings.Cut(text, "#")
	base, isLast := strings.CutSuffix(base, "L")
	switch {
	case !isNth && !isLast:
		values, err := quartzWeekday.values(text)
		for _, v := range values {
			d.ofWeek |= 1 << (v - 1)
		}
		return d, err
	case strings.Contains(text, ","):
		return d, refuse(quartzWeekday.name, text, "'#' and 'L' must stand alone in the field")
	case isNth && isLast:
		return d, refuse(quartzWeekday.name, text, "'#' and 'L' exclude each other")
	}
	weekday, err := quartzWeekday.value(text, base)
	if err != nil {
		return d, err
	}
	d.ofWeek = 1 << (weekday - 1)
	if isLast {
		d.week = lastWeek
		return d, nil
	}
	week, ok := digits(nth)
	if !ok || week < 1 || week > 5 {
		return d, refuse(quartzWeekday.name, text, "'#' needs a week from 1 to 5 after it, such as 6#3")
	}
	d.week = week
	return d, nil
}

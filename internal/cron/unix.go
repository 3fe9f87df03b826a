package cron

var unixFields = [...]field{
	{name: "minute", min: 0, max: 59},
	{name: "hour", min: 0, max: 23},
	{name: "day-of-month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: monthNames, first: 1},
	{name: "day-of-week", min: 0, max: 7, names: dayNames, first: 0, liberty: sunday7},
}

// parseUnix reads the five fields of crontab(5).
func parseUnix(texts []string) (*pattern, error) {
	var sets [len(unixFields)]bits
	for i := range unixFields {
		values, err := unixFields[i].values(texts[i])
		if err != nil {
			return nil, err
		}
		sets[i].add(values...)
	}
	p := &pattern{minutes: sets[0], hours: sets[1], months: sets[3], years: everyYear}
	p.seconds.add(0)
	p.days = days{ofMonth: sets[2], ofWeek: weekdays(sets[4]|sets[4]>>7) & everyWeekday}
	// crontab(5): a day matches either field, unless one of them starts with '*'.
	p.days.either = texts[2][0] != '*' && texts[4][0] != '*'
	p.elapsed = texts[0][0] == '*' || texts[1][0] == '*'
	return p, nil
}

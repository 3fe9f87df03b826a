package cron_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/cron"
)

// Expressions on one line mean the same.
func TestEquivalents(t *testing.T) {
	t.Parallel()
	from := instant(t, "2026-11-30T09:05:09Z")
	for _, same := range [][]string{
		{"0 0 2 * * ?", "0 0 2 ? * *", "0 0 2 * * *", "0 2 * * *", "  0\t2  *\n* * ", "00 02 * * *"},
		{"0 0 0 ? * SUN", "0 0 0 ? * 1", "0 0 * * 0", "0 0 * * 7", "0 0 * * sun", "@weekly", "@Weekly"},
		{"0 9 * * SAT-SUN", "0 9 * * 6-7", "0 9 * * 6,0", "0 9 * * sat,sun", "0 0 9 ? * SAT-SUN", "0 0 9 ? * 7,1"},
		{"0 0 9 ? * L", "0 0 9 ? * SAT", "0 9 * * 6"},
		{"0 /15 * * * ?", "0 0/15 * * * ?", "0 */15 * * * ?", "*/15 * * * *"},
		{"0 5/20 * * * ?", "0 5-59/20 * * * ?", "0 5,25,45 * * * ?", "5-59/20 * * * *"},
		{"0 0 22-2 * * ?", "0 0 22,23,0-2 * * ?", "0 0-2,22-23 * * *"},
		{"0 0 9 1W,15 * ?", "0 0 9 15,1w * ?"},
		{"0 0 0 1 1 ? 2027,2029", "0 0 0 1 1 ? 2027-2029/2"},
		{"@yearly", "@annually", "0 0 1 jan *", "0 0 0 1 1 ?"},
		{"@monthly", "0 0 1 * *"},
		{"@daily", "@midnight", "0 0 * * *"},
		{"@hourly", "0 * * * *"},
		{"@every 1h30m", "@every 90m", "@EVERY 5400s", "@every 1h 30m"},
	} {
		want := fires(schedule(t, same[0], "Europe/Berlin", cron.Options{}), from, 20)
		for _, expr := range same[1:] {
			require.Equal(t, want, fires(schedule(t, expr, "Europe/Berlin", cron.Options{}), from, 20), "%q and %q", same[0], expr)
		}
	}
}

// What a person reads when an expression is refused.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expr string
		opt  cron.Options
		want string
	}{
		{" ", cron.Options{}, `cron " ": expression: is empty`},
		{"* * * *", cron.Options{}, `cron "* * * *": expression: has 4 fields; write 5 (unix), or 6 or 7 (quartz)`},
		{"0 2 * * *", cron.Options{Dialect: "quartz"}, `cron "0 2 * * *": expression: has 5 fields; the quartz dialect has 6 or 7`},
		{"0 0 2 * * ?", cron.Options{Dialect: "unix"}, `cron "0 0 2 * * ?": expression: has 6 fields; the unix dialect has 5`},
		{"0 0 24 * * ?", cron.Options{}, `cron "0 0 24 * * ?": hour "24": 24 is out of range 0-23`},
		{"5/15 * * * *", cron.Options{}, `cron "5/15 * * * *": minute "5/15": a step needs '*' or a range before it, such as 5-59/15`},
		{"0 9 * * fri-mon", cron.Options{}, `cron "0 9 * * fri-mon": day-of-week "FRI-MON": the range runs backwards`},
		{"0 9 ? * 1", cron.Options{}, `cron "0 9 ? * 1": day-of-month "?": '?' belongs in a day field of the quartz dialect, alone`},
		{"0 0 9 * * MON", cron.Options{}, `cron "0 0 9 * * MON": day-of-month "*": write '?' here to choose by the day of the week`},
		{"0 0 9 1 * *", cron.Options{}, `cron "0 0 9 1 * *": day-of-week "*": write '?' here to choose by the day of the month`},
		{"0 0 9 * * * 2027", cron.Options{}, `cron "0 0 9 * * * 2027": day-of-month "*": write '?' here to choose by the day of the week`},
		{"0 0 9 ? * ?", cron.Options{}, `cron "0 0 9 ? * ?": day-of-week "?": only one of day-of-month and day-of-week may be '?'`},
		{"0 0 9 ? * MON#1,FRI", cron.Options{}, `cron "0 0 9 ? * MON#1,FRI": day-of-week "MON#1,FRI": '#' and 'L' must stand alone in the field`},
		{"0 0 9 1 MOON ?", cron.Options{}, `cron "0 0 9 1 MOON ?": month "MOON": "MOON" is neither a number nor a name such as JAN`},
		{"0 0 9 * * ？", cron.Options{}, `cron "0 0 9 * * ？": expression "？": only ASCII characters have a meaning here`},
		{"0 2 * * *\x00", cron.Options{}, `cron "0 2 * * *\x00": expression "\x00": only ASCII characters have a meaning here`},
		{"TZ=UTC 0 2 * * *", cron.Options{}, `cron "TZ=UTC 0 2 * * *": expression "TZ=UTC": the time zone belongs in the schedule's timezone, not in its expression`},
		{"@fortnightly", cron.Options{}, `cron "@fortnightly": macro "@fortnightly": write @hourly, @daily, @weekly, @monthly, @yearly or @every 15m`},
		{"@daily 5", cron.Options{}, `cron "@daily 5": macro "@daily": write @hourly, @daily, @weekly, @monthly, @yearly or @every 15m`},
		{"@every", cron.Options{}, `cron "@every": @every: needs a duration of whole seconds with its unit, such as 90s or 1h30m`},
		{"@every 1500ms", cron.Options{}, `cron "@every 1500ms": @every "1500ms": needs a duration of whole seconds with its unit, such as 90s or 1h30m`},
		{"@every -1h", cron.Options{}, `cron "@every -1h": @every "-1h": needs a duration of whole seconds with its unit, such as 90s or 1h30m`},
		{"0 2 * * *", cron.Options{Dialect: "spring"}, `cron "0 2 * * *": dialect "spring": write unix or quartz, or leave it out`},
		{"0 2 * * *", cron.Options{DST: "none"}, `cron "0 2 * * *": dst "none": write standard or quartz, or leave it out`},
		{"0 2 * * *", cron.Options{Gap: "last"}, `cron "0 2 * * *": dst_gap "last": write next or skip, or leave it out`},
		{"0 2 * * *", cron.Options{Overlap: "none"}, `cron "0 2 * * *": dst_overlap "none": write first, second or both, or leave it out`},
		{"0 2 * * *", cron.Options{DST: cron.Quartz, Gap: "next"}, `cron "0 2 * * *": dst_gap "next": refines the standard rule; leave it out with dst: quartz`},
		{"0 2 * * *", cron.Options{DST: cron.Quartz, Overlap: "both"}, `cron "0 2 * * *": dst_overlap "both": refines the standard rule; leave it out with dst: quartz`},
		{"0 2 * * *", cron.Options{Zone: time.Local}, `cron "0 2 * * *": timezone "Local": the machine's zone is never read: name one, such as Asia/Shanghai`},
	} {
		_, err := cron.Parse(c.expr, c.opt)
		require.EqualError(t, err, c.want)
	}
}

func TestLongExpressionIsRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0,", 600) + "0 2 * * *"
	_, err := cron.Parse(long, cron.Options{})
	require.ErrorContains(t, err, "at most 1024 are read")
	require.Less(t, len(err.Error()), 300)

	_, err = cron.Parse("0 "+strings.Repeat("9", 900)+" * * *", cron.Options{})
	require.ErrorContains(t, err, "out of range 0-23")
	require.Less(t, len(err.Error()), 400)

	_, err = cron.Parse(strings.Repeat("0,", 500)+"0 2 * * *", cron.Options{})
	require.NoError(t, err)
}

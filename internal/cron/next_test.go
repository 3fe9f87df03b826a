package cron_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/cron"
)

// schedule parses an expression that the test knows to be good.
func schedule(t testing.TB, expr, zone string, opt cron.Options) *cron.Schedule {
	t.Helper()
	loaded, err := cron.LoadZone(zone)
	require.NoError(t, err)
	opt.Zone = loaded
	s, err := cron.Parse(expr, opt)
	require.NoError(t, err)
	return s
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	require.NoError(t, err)
	return at
}

// In 2026 Berlin has no time from 02:00 to 03:00 on 29 March, and has 02:00 to 03:00 twice on 25 October.
func TestDaylightSaving(t *testing.T) {
	t.Parallel()
	const (
		gap     = "2026-03-28T12:00:00Z"
		overlap = "2026-10-24T12:00:00Z"
	)
	for _, c := range []struct {
		name, expr, from string
		opt              cron.Options
		want             string
	}{
		{"a removed time fires after the gap", "30 2 * * *", gap, cron.Options{},
			"2026-03-29T01:00:00Z,2026-03-30T00:30:00Z"},
		{"also when asked for a second before", "30 2 * * *", "2026-03-29T00:59:59Z", cron.Options{},
			"2026-03-29T01:00:00Z,2026-03-30T00:30:00Z"},
		{"several removed times fire once", "*/10 30,45 2 * * ?", gap, cron.Options{},
			"2026-03-29T01:00:00Z,2026-03-30T00:30:00Z"},
		{"and together with a time at the end of the gap", "0 2,3 * * *", gap, cron.Options{},
			"2026-03-29T01:00:00Z,2026-03-30T00:00:00Z"},
		{"a gap can be skipped", "30 2 * * *", gap, cron.Options{Gap: "skip"},
			"2026-03-30T00:30:00Z,2026-03-31T00:30:00Z"},
		{"Quartz skips it", "30 2 * * *", gap, cron.Options{DST: cron.Quartz},
			"2026-03-30T00:30:00Z,2026-03-31T00:30:00Z"},
		{"elapsed time makes nothing up", "45 */2 * * *", gap, cron.Options{},
			"2026-03-28T13:45:00Z,2026-03-28T15:45:00Z"},
		{"nor does 0/2 in Quartz", "0 45 0/2 29 3 ?", gap, cron.Options{},
			"2026-03-28T23:45:00Z,2026-03-29T02:45:00Z"},
		{"unless told to", "0 45 0/2 29 3 ?", gap, cron.Options{Gap: "next"},
			"2026-03-28T23:45:00Z,2026-03-29T01:00:00Z"},
		{"a repeated time fires in its first pass", "30 2 * * *", overlap, cron.Options{},
			"2026-10-25T00:30:00Z,2026-10-26T01:30:00Z"},
		{"or in its second", "30 2 * * *", overlap, cron.Options{Overlap: "second"},
			"2026-10-25T01:30:00Z,2026-10-26T01:30:00Z"},
		{"or in both", "30 2 * * *", overlap, cron.Options{Overlap: "both"},
			"2026-10-25T00:30:00Z,2026-10-25T01:30:00Z"},
		{"Quartz takes the second", "30 2 * * *", overlap, cron.Options{DST: cron.Quartz},
			"2026-10-25T01:30:00Z,2026-10-26T01:30:00Z"},
		{"elapsed time goes through both", "30 * 25 10 *", "2026-10-25T00:00:00Z", cron.Options{},
			"2026-10-25T00:30:00Z,2026-10-25T01:30:00Z"},
		{"unless told not to", "30 * 25 10 *", "2026-10-25T00:00:00Z", cron.Options{Overlap: "first"},
			"2026-10-25T00:30:00Z,2026-10-25T02:30:00Z"},
	} {
		s := schedule(t, c.expr, "Europe/Berlin", c.opt)
		require.Equal(t, c.want, fires(s, instant(t, c.from), 2), c.name)
	}
}

// Samoa went over the date line: 30 December 2011 was no day there.
func TestGapOfOneDay(t *testing.T) {
	t.Parallel()
	s := schedule(t, "0 12 * * *", "Pacific/Apia", cron.Options{})
	require.Equal(t, "2011-12-29T22:00:00Z,2011-12-30T10:00:00Z,2011-12-30T22:00:00Z",
		fires(s, instant(t, "2011-12-29T00:00:00Z"), 3))
}

func TestNextIsAfterAndOnTheSecond(t *testing.T) {
	t.Parallel()
	s := schedule(t, "*/5 * * * * *", "UTC", cron.Options{})
	require.Equal(t, "2026-01-01T00:00:05Z", fires(s, instant(t, "2026-01-01T00:00:00Z"), 1))
	require.Equal(t, "2026-01-01T00:00:05Z", fires(s, instant(t, "2026-01-01T00:00:00.999Z"), 1))
	require.Equal(t, "2026-01-01T00:00:05Z", fires(s, instant(t, "2026-01-01T00:00:04.999Z"), 1))

	every := schedule(t, "@every 90s", "UTC", cron.Options{})
	require.Equal(t, "2026-01-01T00:01:34Z,2026-01-01T00:03:04Z", fires(every, instant(t, "2026-01-01T00:00:04.5Z"), 2))
}

func TestNextIsInTheScheduleZone(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{"30 2 * * *", "@every 1h"} {
		next, ok := schedule(t, expr, "Asia/Shanghai", cron.Options{}).Next(instant(t, "2026-01-01T00:00:00Z"))
		require.True(t, ok)
		require.Equal(t, "Asia/Shanghai", next.Location().String())
	}
}

func TestNever(t *testing.T) {
	t.Parallel()
	for expr, never := range map[string]bool{
		"0 0 30 2 *":             true,
		"0 0 31 4,6,9,11 *":      true,
		"0 0 0 L-30 2 ?":         true,
		"0 0 0 29 2 ? 2027":      true,
		"0 0 30 2 1":             false, // every Monday of February
		"0 0 29 2 *":             false,
		"0 0 0 29 2 ? 2100,2104": false,
		"0 0 0 1 1 ? 1970":       false, // over, but it did fire
		"@every 1h":              false,
	} {
		require.Equal(t, never, schedule(t, expr, "Asia/Shanghai", cron.Options{}).Never(), expr)
	}
	skipped := schedule(t, "0 30 2 29 3 ? 2026", "Europe/Berlin", cron.Options{DST: cron.Quartz})
	require.True(t, skipped.Never(), "its only time is in a gap")
}

func TestEvery(t *testing.T) {
	t.Parallel()
	d, ok := schedule(t, "@every 1h30m", "UTC", cron.Options{}).Every()
	require.True(t, ok)
	require.Equal(t, 90*time.Minute, d)
	_, ok = schedule(t, "@hourly", "UTC", cron.Options{}).Every()
	require.False(t, ok)
}

func TestEndsOfTime(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"} {
		for _, expr := range []string{"* * * * *", "@every 1h"} {
			s := schedule(t, expr, zone, cron.Options{})
			_, ok := s.Next(instant(t, "2200-01-05T00:00:00Z"))
			require.False(t, ok)
			_, ok = s.Next(time.Unix(math.MaxInt64, 0))
			require.False(t, ok)
		}
		first, ok := schedule(t, "* * * * *", zone, cron.Options{}).Next(time.Unix(math.MinInt64, 0))
		require.True(t, ok)
		require.Equal(t, "1970-01-01T00:00:00", first.Format("2006-01-02T15:04:05"))
	}
	last := schedule(t, "@yearly", "UTC", cron.Options{})
	require.Equal(t, "2199-01-01T00:00:00Z,END", fires(last, instant(t, "2198-06-01T00:00:00Z"), 2))
}

// The rarest dates, and those that do not exist, must not cost more than common ones.
func TestRareDatesAreFoundFast(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"0 0 9 ? 2 MON#5":        "2044-02-29T01:00:00Z",
		"0 0 30 2 *":             "END",
		"0 0 0 ? 2 SUN#5 2033":   "END",
		"59 59 23 31 12 ? 2199":  "2199-12-31T15:59:59Z",
		"0 0 0 29 2 ? 2100-2199": "2104-02-28T16:00:00Z",
	} {
		s := schedule(t, expr, "Asia/Shanghai", cron.Options{})
		from := instant(t, "2026-01-01T00:00:00Z")
		quickest := time.Hour // the least of several, so that a busy machine does not matter
		for range 10 {
			start := time.Now()
			require.Equal(t, want, fires(s, from, 1), expr)
			quickest = min(quickest, time.Since(start))
		}
		require.Less(t, quickest, time.Millisecond, expr)
	}
}

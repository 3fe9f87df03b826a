package cron_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/internal/cron"
)

// Count tells how many steps Next takes, over every kind of zone change and rule.
func TestCountAgreesWithNext(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		zone, err := cron.LoadZone(d.at.zone)
		require.NoError(rt, err)
		d.opt.Zone = zone
		s, err := cron.Parse(d.expr(), d.opt)
		require.NoError(rt, err)

		near, err := time.Parse(time.RFC3339, d.at.near)
		require.NoError(rt, err)
		from := near.Add(time.Duration(rapid.IntRange(-70*3600, 4*3600).Draw(rt, "start")) * time.Second)
		to := from.Add(time.Duration(rapid.IntRange(-10, 70*3600).Draw(rt, "length")) * time.Second)
		require.Equal(rt, steps(s, from, to), s.Count(from, to), "%s in %s from %s to %s", d.expr(), d.at.zone, from, to)
	})
}

func steps(s *cron.Schedule, from, to time.Time) int {
	n := 0
	for at, ok := s.Next(from); ok && !at.After(to); at, ok = s.Next(at) {
		n++
	}
	return n
}

func TestCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expr, zone, from, to string
		want                 int
	}{
		{"* * * * * ?", "Europe/Berlin", "2026-03-01T00:00:00Z", "2027-04-05T00:00:00Z", 400 * 86400},
		{"* * * * *", "Asia/Shanghai", "1900-01-01T00:00:00Z", "1970-01-01T00:00:00Z", 8*60 + 1}, // nothing fires before wall time 1970
		{"0 0 29 2 *", "UTC", "2026-11-30T00:00:00Z", "2500-01-01T00:00:00Z", 42},
		{"30 2 28 3 *", "Europe/Berlin", "2026-11-30T00:00:00Z", "2027-03-28T00:59:59Z", 0},
		{"30 2 28 3 *", "Europe/Berlin", "2026-11-30T00:00:00Z", "2027-03-28T01:00:00Z", 1},
		{"@every 90s", "UTC", "2026-11-30T00:00:00Z", "2026-11-30T00:04:30Z", 3},
	} {
		s := schedule(t, c.expr, c.zone, cron.Options{})
		require.Equal(t, c.want, s.Count(instant(t, c.from), instant(t, c.to)), c.expr)
	}
}

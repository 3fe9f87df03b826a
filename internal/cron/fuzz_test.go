package cron_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/cron"
)

var fuzzSeeds = []string{
	"30 2 * * *", "*/15 * * * *", "0 0 13 * 5", "0 0 29 2 *", "0 0 30 2 *", "0 9 * * SAT-SUN",
	"0 30 2 * * ?", "0 0/5 22-2 * * ?", "0 0 9 LW * ?", "0 0 9 L-3W * ?", "0 0 9 31W * ?", "0 0 9 ? * 6#5",
	"0 0 9 ? * FRIL", "0 0 9 ? * L", "*/7 * * 25-5 NOV-FEB ? 2027-2099/3", "@daily", "@every 90s",
	"TZ=UTC 0 2 * * *", "0 0 12 ? * 8#1", "0 0 12 0W * ?", "1,,2 * * * *", "0 /0 12 * * ?",
}

// Whatever the text, Parse answers with a schedule or with a ParseError that is short enough to read.
func FuzzParse(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add(seed, "")
		f.Add(seed, "quartz")
	}
	f.Fuzz(func(t *testing.T, expr, dialect string) {
		s, err := cron.Parse(expr, cron.Options{Dialect: dialect})
		if err != nil {
			var refused *cron.ParseError
			require.ErrorAs(t, err, &refused)
			require.Less(t, len(err.Error()), 1500)
			require.Nil(t, s)
			return
		}
		next, ok := s.Next(time.Unix(0, 0))
		require.Equal(t, ok, next.Unix() > 0)
		require.False(t, ok && s.Never())
	})
}

// From any instant, in any zone and under any rule, the fires only ever go forward.
func FuzzNext(f *testing.F) {
	rules := []cron.Options{
		{}, {DST: cron.Quartz}, {Gap: "skip", Overlap: "both"}, {Gap: "next", Overlap: "second"}, {Gap: "next", Overlap: "both"},
	}
	zones := []string{"Asia/Shanghai", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "America/Santiago", "UTC"}
	for i, seed := range fuzzSeeds {
		f.Add(seed, int64(1774746000+i*3600), uint8(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, expr string, from int64, zone, rule uint8) {
		opt := rules[int(rule)%len(rules)]
		loaded, err := cron.LoadZone(zones[int(zone)%len(zones)])
		require.NoError(t, err)
		opt.Zone = loaded
		s, err := cron.Parse(expr, opt)
		if err != nil {
			return
		}
		last := time.Unix(from, 0)
		for range 50 {
			next, ok := s.Next(last)
			if !ok {
				return
			}
			require.True(t, next.After(last), "%s is not after %s", next, last)
			require.Zero(t, next.Nanosecond())
			between, ok := s.Next(next.Add(-time.Nanosecond))
			require.True(t, ok)
			if _, every := s.Every(); !every {
				require.Equal(t, next, between, "the fire depends on where one asks from")
			}
			last = next
		}
	})
}

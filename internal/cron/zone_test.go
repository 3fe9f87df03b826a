package cron_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/cron"
)

func TestLoadZone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Asia/Shanghai", "America/Argentina/Buenos_Aires", "Etc/GMT-8", "EST5EDT"} {
		zone, err := cron.LoadZone(name)
		require.NoError(t, err)
		require.Equal(t, name, zone.String())
		again, err := cron.LoadZone(name)
		require.NoError(t, err)
		require.Same(t, zone, again)
	}
}

func TestLoadZoneErrors(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                 `time zone "" names no place: write an IANA name such as Asia/Shanghai or UTC`,
		"Local":            `time zone "Local" names no place: write an IANA name such as Asia/Shanghai or UTC`,
		"asia/shanghai":    `time zone "asia/shanghai" is unknown: did you mean Asia/Shanghai?`,
		"utc":              `time zone "utc" is unknown: did you mean UTC?`,
		"AMERICA/NEW_YORK": `time zone "AMERICA/NEW_YORK" is unknown: did you mean America/New_York?`,
		"America/New York": `time zone "America/New York" is unknown: did you mean America/New_York?`,
		" Asia/Shanghai":   `time zone " Asia/Shanghai" is unknown: did you mean Asia/Shanghai?`,
		"shanghai":         `time zone "shanghai" is unknown: did you mean Asia/Shanghai?`,
		"Mars/Base":        `time zone "Mars/Base" is unknown: write an IANA name such as Asia/Shanghai or UTC`,
		"localtime":        `time zone "localtime" is unknown: write an IANA name such as Asia/Shanghai or UTC`,
		"posixrules":       `time zone "posixrules" is unknown: write an IANA name such as Asia/Shanghai or UTC`,
		"Factory":          `time zone "Factory" is unknown: write an IANA name such as Asia/Shanghai or UTC`,
		"posix/UTC":        `time zone "posix/UTC" is unknown: did you mean UTC?`,
		"right/UTC":        `time zone "right/UTC" is unknown: did you mean UTC?`,
		"../etc/passwd":    `time zone "../etc/passwd" is unknown: write an IANA name such as Asia/Shanghai or UTC`,
	} {
		_, err := cron.LoadZone(name)
		require.EqualError(t, err, want)
		var refused *cron.ZoneError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, name, refused.Name)
	}
	_, err := cron.LoadZone(strings.Repeat("界", 5000))
	require.Less(t, len(err.Error()), 300)
}

// Zones are told apart by what they are, not by what they are called.
func TestZonesOfOneName(t *testing.T) {
	t.Parallel()
	from := instant(t, "2026-01-01T00:00:00Z")
	for hours, want := range map[int]string{8: "2026-01-01T18:00:00Z", -6: "2026-01-01T08:00:00Z"} {
		s, err := cron.Parse("0 2 * * *", cron.Options{Zone: time.FixedZone("CST", hours*3600)})
		require.NoError(t, err)
		require.Equal(t, want, fires(s, from, 1))
	}
}

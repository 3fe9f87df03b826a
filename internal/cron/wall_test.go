package cron_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/cron"
)

func TestInstantsOfAWallClock(t *testing.T) {
	for _, c := range []struct{ zone, wall, instants, shift string }{
		{"Asia/Shanghai", "2026-11-30T02:30", "2026-11-29T18:30Z", ""},
		{"Europe/Berlin", "2026-03-29T01:59", "2026-03-29T00:59Z", ""},
		{"Europe/Berlin", "2026-03-29T02:30", "", "02:00 → 03:00 at 2026-03-29T01:00Z"},
		{"Europe/Berlin", "2026-03-29T03:00", "2026-03-29T01:00Z", ""},
		{"Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30Z 2026-10-25T01:30Z", "03:00 → 02:00 at 2026-10-25T01:00Z"},
		{"Europe/Berlin", "2026-10-25T03:00", "2026-10-25T02:00Z", ""},
		{"America/New_York", "2027-11-07T01:30", "2027-11-07T05:30Z 2027-11-07T06:30Z", "02:00 → 01:00 at 2027-11-07T06:00Z"},
		{"Australia/Lord_Howe", "2026-10-04T02:15", "", "02:00 → 02:30 at 2026-10-03T15:30Z"},
		{"Pacific/Apia", "2011-12-30T12:00", "", "00:00 → 00:00 at 2011-12-30T10:00Z"}, // a day that was left out
		{"UTC", "2026-03-29T02:30", "2026-03-29T02:30Z", ""},
	} {
		zone, err := cron.LoadZone(c.zone)
		require.NoError(t, err)
		wall, err := time.Parse("2006-01-02T15:04", c.wall)
		require.NoError(t, err)
		at, shift := cron.Instants(wall, zone)
		text := ""
		for _, i := range at {
			require.Equal(t, wall, cron.Wall(i), "%s %s", c.zone, c.wall)
			if text != "" {
				text += " "
			}
			text += i.UTC().Format("2006-01-02T15:04Z")
		}
		require.Equal(t, c.instants, text, "%s %s", c.zone, c.wall)
		told := ""
		if shift != nil {
			require.Equal(t, len(at) == 0, shift.Forward(), "%s %s", c.zone, c.wall)
			told = shift.Was.Format("15:04") + " → " + shift.At.Format("15:04") + " at " + shift.At.UTC().Format("2006-01-02T15:04Z")
		}
		require.Equal(t, c.shift, told, "%s %s", c.zone, c.wall)
	}
}

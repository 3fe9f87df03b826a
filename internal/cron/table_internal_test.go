package cron

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The table agrees with the zone at every noon and midnight, and changes only where it must.
func TestTableAgreesWithZone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Asia/Shanghai", "Europe/Berlin", "Africa/Casablanca", "Pacific/Apia", "Antarctica/Troll"} {
		zone, err := LoadZone(name)
		require.NoError(t, err)
		made := newTable(zone)
		require.Equal(t, timeStart, made[0].start)
		require.Equal(t, timeEnd, made[len(made)-1].end)
		for i := range made[1:] {
			require.Equal(t, made[i].end, made[i+1].start, name)
			require.NotEqual(t, made[i].offset, made[i+1].offset, name)
		}
		for at := scanStart; at < scanEnd; at += daySeconds / 2 {
			if here := made[made.find(at)]; here.offset != offsetAt(zone, at) {
				require.Failf(t, "wrong offset", "%s at %s", name, time.Unix(at, 0).UTC())
			}
		}
	}
}

package dag_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * day, "1d12h": 36 * time.Hour,
		"0d": 0, "1.5h": 90 * time.Minute, "250ms": 250 * time.Millisecond, "3650d": 3650 * day, "1d0.5s": day + 500*time.Millisecond,
	} {
		got, err := dag.ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, time.Duration(got), text)
	}
	for _, text := range []string{
		"", "d", "s", "5", "-5m", "1d-5h", "-1d", "+5m", "1h 30m", "1w", "1y", "5m1d", "1e3s", "3650d1ns", "99999999999d",
		"3000000h", "9999999999999999999999h", "0x10s", "5 m", "１h", ".", "d5m", "infinity", "1d1d",
	} {
		_, err := dag.ParseDuration(text)
		require.Error(t, err, text)
	}
}

func TestDurationString(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0s", "90s": "1m30s", "60m": "1h", "24h": "24h", "48h": "2d", "7d": "7d", "1d12h": "36h", "1h0m5s": "1h0m5s", "10m": "10m",
		"1500ms": "1.5s", "20s": "20s", "100h": "100h", "50m0.5s": "50m0.5s",
	} {
		d, err := dag.ParseDuration(text)
		require.NoError(t, err)
		require.Equal(t, want, d.String())
	}
}

func TestDurationReadsBackWhatItWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := dag.Duration(rapid.Int64Range(0, int64(3650*24*time.Hour)).Draw(t, "d"))
		got, err := dag.ParseDuration(d.String())
		require.NoError(t, err)
		require.Equal(t, d, got)
	})
}

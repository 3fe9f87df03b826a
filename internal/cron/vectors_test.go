package cron_test

import (
	"embed"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/cron"
)

//go:embed testdata/*.tsv
var testdata embed.FS

// vector is one row of a file of known fires.
type vector struct {
	expr, zone, from, next, tags string
}

func (v vector) String() string { return v.expr + " in " + v.zone + " from " + v.from }

// rows reads a tab-separated file, which starts with one line of column names.
func rows(t *testing.T, name string) [][]string {
	t.Helper()
	text, err := testdata.ReadFile("testdata/" + name)
	require.NoError(t, err)
	var all [][]string
	for line := range strings.Lines(string(text)) {
		all = append(all, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return all[1:]
}

func vectors(t *testing.T, name string) []vector {
	t.Helper()
	var all []vector
	for _, row := range rows(t, name) {
		require.Len(t, row, 5)
		all = append(all, vector{row[0], row[1], row[2], row[3], row[4]})
	}
	return all
}

// fires follows a row's schedule for five fires, written as the files write them.
func (v vector) fires(t *testing.T, dst cron.DST) string {
	t.Helper()
	zone, err := cron.LoadZone(v.zone)
	require.NoError(t, err)
	s, err := cron.Parse(v.expr, cron.Options{Zone: zone, DST: dst})
	require.NoError(t, err)
	at, err := time.Parse(time.RFC3339, v.from)
	require.NoError(t, err)
	return fires(s, at, 5)
}

// fires lists the next n fires in UTC, and END where there are no more.
func fires(s *cron.Schedule, at time.Time, n int) string {
	var list []string
	for range n {
		next, ok := s.Next(at)
		if !ok {
			list = append(list, "END")
			break
		}
		list, at = append(list, next.UTC().Format(time.RFC3339)), next
	}
	return strings.Join(list, ",")
}

func TestUnixVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t, "cron-unix.tsv") {
		require.Equal(t, v.next, v.fires(t, cron.Standard), v)
	}
}

func TestQuartzVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t, "cron-quartz.tsv") {
		if _, name, departs := strings.Cut(v.tags, "quirk:"); departs {
			want, listed := quirks[name].fires[v.String()]
			require.True(t, listed, "%s: %s has no documented answer here", name, v)
			require.NotEqual(t, v.next, want, "%s: %s is no departure", name, v)
			require.Equal(t, want, v.fires(t, cron.Quartz), "%s: %s", quirks[name].why, v)
			continue
		}
		require.Equal(t, v.next, v.fires(t, cron.Quartz), v)
		if !strings.Contains(v.tags, "dst-") {
			require.Equal(t, v.next, v.fires(t, cron.Standard), v)
		}
	}
}

func TestInvalidVectors(t *testing.T) {
	t.Parallel()
	for _, row := range rows(t, "cron-invalid.tsv") {
		dialect, expr, reason := row[0], row[1], row[2]
		if dialect == "quartz-never-fires" {
			s, err := cron.Parse(expr, cron.Options{})
			require.NoError(t, err, "%q: %s", expr, reason)
			_, fires := s.Next(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))
			require.False(t, fires, "%q: %s", expr, reason)
			continue
		}
		for _, forced := range []string{"", dialect} {
			_, err := cron.Parse(expr, cron.Options{Dialect: forced})
			var refused *cron.ParseError
			require.ErrorAs(t, err, &refused, "%q: %s", expr, reason)
			require.Equal(t, expr, refused.Expr)
			require.NotEmpty(t, refused.Field)
			require.NotEmpty(t, refused.Msg)
		}
	}
}

package dag_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
)

// TestSchedulesThatCannotFireWithinTheYearsAreRefused tells those whose first instant is too late from those that just make it.
func TestSchedulesThatCannotFireWithinTheYearsAreRefused(t *testing.T) {
	t.Parallel()
	for schedule, path := range map[string]string{
		`{delay: 3650d, start: "9995-01-01T00:00:00Z"}`:                                   "schedules[0].delay",
		`{delay: 3650d, start: "9985-01-01T00:00:00Z"}`:                                   "",
		`{delay: 2h, start: "2030-01-01T00:00:00Z", end: "2030-01-01T01:00:00Z"}`:         "schedules[0].delay",
		`{delay: 1h, start: "2030-01-01T00:00:00Z", end: "2030-01-01T01:00:00Z"}`:         "",
		`{cron: "0 0 1 1 *", start: "2199-06-01T00:00:00Z"}`:                              "schedules[0].cron",
		`{cron: "0 0 1 1 *", start: "2198-06-01T00:00:00Z"}`:                              "",
		`{cron: "0 0 1 1 *", start: "2030-01-01T00:00:00Z", timezone: UTC}`:               "",
		`{every: 1d, start: "9999-01-01T00:00:00Z"}`:                                      "",
		`{cron: "0 0 1 6 *", start: "2030-01-01T00:00:00Z", end: "2030-02-01T00:00:00Z"}`: "schedules[0].cron",
	} {
		_, problems := dag.Load(fmt.Appendf(nil, "workflow: w\nschedules: [%s]\nnodes: {a: {handler: h}}", schedule), dag.BuildOptions{DefaultTimezone: "UTC"})
		if path == "" {
			require.Empty(t, problems, schedule)
			continue
		}
		require.Len(t, problems, 1, schedule)
		require.Equal(t, []string{path, dag.CodeNeverFires}, []string{problems[0].Path, problems[0].Code}, schedule)
	}
}

package planner_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/store"
)

// line is a schedule whose instants are counted by arithmetic: first, and then one a period, up to last where that is set.
type line struct {
	schedule    int64
	first, last time.Time
	period      time.Duration
}

// between are the instants after one and up to another.
func (l line) between(from, until time.Time) (all []time.Time) {
	if !l.last.IsZero() && l.last.Before(until) {
		until = l.last
	}
	at := l.first
	if behind := from.Sub(at); behind > 0 {
		at = at.Add(behind / l.period * l.period)
	}
	for ; !at.After(until); at = at.Add(l.period) {
		if at.After(from) {
			all = append(all, at)
		}
	}
	return all
}

// populate registers two hundred schedules of every kind that arithmetic can tell the instants of, and returns an instant before all that
// is looked at.
func (c *chaos) populate() time.Time {
	c.Helper()
	start := c.now().Truncate(time.Minute).Add(-time.Hour)
	end := c.now().Add(15 * time.Second).Truncate(time.Second)
	for i := range 40 {
		period := time.Duration(i%5+1) * time.Second
		c.add(fmt.Sprintf("interval%d", i), fmt.Sprintf("{every: %s, start: %s}", period, start.Format(time.RFC3339)), line{first: start, period: period})
		c.add(fmt.Sprintf("cron%d", i), fmt.Sprintf("{cron: '0/%d * * * * ?', timezone: Asia/Kathmandu}", i%5+1), everyMinute(start, i%5+1))
		c.add(fmt.Sprintf("ending%d", i), fmt.Sprintf("{every: 2s, start: %s, end: %s}", start.Format(time.RFC3339), end.Format(time.RFC3339)),
			line{first: start, last: end, period: 2 * time.Second})
		c.add(fmt.Sprintf("late%d", i), fmt.Sprintf("{every: 1s, start: %s, misfire_threshold: 1s, catchup: %s}", start.Format(time.RFC3339),
			[]string{"latest", "all, catchup_limit: 1000"}[i%2]), line{first: start, period: time.Second})
		at := c.now().Add(time.Duration(i%10+5) * time.Second).Truncate(time.Millisecond)
		c.add(fmt.Sprintf("once%d", i), fmt.Sprintf("{at: %s}", at.Format(time.RFC3339Nano)), line{first: at, last: at, period: time.Hour})
	}
	return c.now()
}

// everyMinute is a cron expression of seconds that divide a minute, which is an interval.
func everyMinute(start time.Time, seconds int) line {
	if 60%seconds != 0 {
		panic("the seconds do not divide a minute")
	}
	return line{first: start, period: time.Duration(seconds) * time.Second}
}

func (c *chaos) add(code, schedule string, l line) {
	c.Helper()
	l.schedule = c.scheduleOf(c.register(code, schedules(schedule)).Workflow)
	c.lines = append(c.lines, l)
}

// entry is a row of the ledger with its run.
type entry struct {
	Schedule int64
	At       time.Time
	Until    *time.Time
	Count    int
	Result   store.FireResult
	// Right says that the row has one run, of its schedule and instant, exactly if it fired.
	Right bool
}

// compare wants the ledger to have every instant once: as a run, or where the schedule said so represented by one.
func (c *chaos) compare(from, until time.Time) {
	c.Helper()
	rows, err := c.store.Pool().Query(c.Context(), `SELECT f.schedule_id, f.scheduled_at, f.until_at, f.count, f.result,
			(SELECT array_agg(r.id) FROM ax.runs r WHERE r.schedule_id = f.schedule_id AND r.scheduled_at = f.scheduled_at)
			IS NOT DISTINCT FROM (CASE f.result WHEN 'fired' THEN ARRAY[f.run_id] END)
		FROM ax.fires f WHERE f.scheduled_at <= $1 ORDER BY f.schedule_id, f.scheduled_at`, until)
	require.NoError(c, err)
	ledger, err := pgx.CollectRows(rows, pgx.RowToStructByPos[entry])
	require.NoError(c, err)
	of := make(map[int64][]entry)
	for _, e := range ledger {
		require.True(c, e.Right, "a fire has its run, and nothing else has one: %+v", e)
		of[e.Schedule] = append(of[e.Schedule], e)
	}
	fired, coalesced := 0, 0
	for _, l := range c.lines {
		var got []time.Time
		for _, e := range of[l.schedule] {
			switch e.Result {
			case store.Fired:
				fired++
			case store.Coalesced:
				coalesced += e.Count
			default:
				require.Fail(c, "nothing is skipped", "%+v", e)
			}
			for i := range e.Count {
				got = append(got, e.At.Add(time.Duration(i)*l.period))
			}
		}
		want := l.between(from, until)
		got = slices.DeleteFunc(got, func(at time.Time) bool { return !at.After(from) || at.After(until) })
		require.Equal(c, times(want), times(got), "schedule %d", l.schedule)
	}
	require.Zero(c, one[int64](c.house, "SELECT count(*) FROM ax.runs r WHERE NOT EXISTS (SELECT FROM ax.fires f WHERE f.run_id = r.id)"), "no run without a fire")
	c.Logf("%d instants fired and %d were represented by later ones", fired, coalesced)
}

// times are instants as text, to be compared and read.
func times(all []time.Time) []string {
	out := make([]string, len(all))
	for i, at := range all {
		out[i] = at.UTC().Format(time.RFC3339Nano)
	}
	return out
}

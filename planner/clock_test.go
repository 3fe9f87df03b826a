package planner_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/dbtest"
)

// shiftClock makes the clock that a database's statements read another one than this machine's, by names that are found before PostgreSQL's.
func shiftClock(t *testing.T, url string, by time.Duration) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	defer pool.Close()
	for _, name := range []string{"now", "clock_timestamp"} {
		_, err = pool.Exec(t.Context(), "CREATE SCHEMA IF NOT EXISTS elsewhere; CREATE FUNCTION elsewhere."+name+"() RETURNS timestamptz LANGUAGE sql STABLE AS "+
			"$$ SELECT pg_catalog."+name+"() + interval '"+by.String()+"' $$")
		require.NoError(t, err)
	}
	_, err = pool.Exec(t.Context(), `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = elsewhere, pg_catalog', current_database()); END $$`)
	require.NoError(t, err)
}

// A planner whose own clock is ten minutes wrong, either way, fires when the database's says so.
func TestTheDatabasesClockCounts(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"behind": 10 * time.Minute, "ahead": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := dbtest.NewURL(t)
			shiftClock(t, url, ahead)
			h := newHouseAt(t, url)
			require.InDelta(t, ahead.Seconds(), time.Until(h.now()).Seconds(), 60)
			defer h.start(h.planner)()
			at := h.now().Add(2 * time.Second).Truncate(time.Millisecond)
			h.register("once", schedules("{at: "+at.Format(time.RFC3339Nano)+"}"))
			h.register("often", schedules("{every: 1s}"))
			registered := h.now()
			h.await(4)
			require.True(t, h.now().After(at))
			require.Less(t, h.now().Sub(at), 20*time.Second)
			// What a run's row says of its making is PostgreSQL's own clock, from before the shift was made.
			require.Zero(t, one[int64](h, `SELECT count(*) FROM ax.fires f JOIN ax.runs r ON r.id = f.run_id
				WHERE f.result <> 'fired' OR r.created_at + $1::interval NOT BETWEEN f.scheduled_at AND f.scheduled_at + interval '15 seconds'
				OR f.scheduled_at < $2::timestamptz - interval '10 seconds'`, ahead, registered))
			require.Equal(t, int64(1), one[int64](h, "SELECT count(*) FROM ax.fires WHERE scheduled_at = $1", at))
		})
	}
}

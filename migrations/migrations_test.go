package migrations_test

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/migrations"
)

func count(t *testing.T, url, sql string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	var n int
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

func TestStatusBeforeAndAfterUp(t *testing.T) {
	t.Parallel()
	url := dbtest.NewEmptyURL(t)
	before, err := migrations.Status(t.Context(), url)
	require.NoError(t, err)
	require.Zero(t, count(t, url, `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'ax%'`), "asking changes nothing")

	require.NoError(t, migrations.Up(t.Context(), url))
	after, err := migrations.Status(t.Context(), url)
	require.NoError(t, err)
	require.Len(t, after, len(before))
	for i, m := range before {
		require.False(t, m.Applied, m.Name)
		require.True(t, after[i].Applied, m.Name)
		require.Equal(t, m.Name, after[i].Name)
	}
	require.Equal(t, migrations.River, after[0].Set)
	require.Equal(t, migrations.Ours, after[len(after)-1].Set)
	require.False(t, after[len(after)-1].AppliedAt.IsZero())
}

func TestUpByManyProcessesAtOnceAndAgain(t *testing.T) {
	t.Parallel()
	url := dbtest.NewEmptyURL(t)
	var wait sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wait.Go(func() { errs[i] = migrations.Up(context.Background(), url) })
	}
	wait.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.NoError(t, migrations.Up(t.Context(), url))
	require.Equal(t, 1, count(t, url, `SELECT count(*) FROM pg_tables WHERE tablename = 'goose_db_version' AND schemaname = 'ax'`))
}

func TestRiversJobsHaveNoGinIndex(t *testing.T) {
	t.Parallel()
	url := dbtest.NewURL(t)
	require.Zero(t, count(t, url, `SELECT count(*) FROM pg_indexes WHERE schemaname = 'ax_river' AND indexdef LIKE '%USING gin%'`))
	require.Equal(t, 1, count(t, url, `SELECT count(*) FROM pg_tables WHERE schemaname = 'ax_river' AND tablename = 'river_job'`))
}

func TestUpTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, migrations.Up(t.Context(), "postgres://nobody@/x?host=/nowhere&connect_timeout=1"), "connect")
	require.Len(t, migrations.Hash(), 16)
}

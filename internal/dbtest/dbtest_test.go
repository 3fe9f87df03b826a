package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// claimVariable makes this test program claim the server of the home that is its value, print where
// it is, and end when its input does.
const claimVariable = "AX_DBTEST_TEST_CLAIM"

func TestMain(m *testing.M) {
	if place := os.Getenv(claimVariable); place != "" {
		server, err := home(place).claim()
		fmt.Println(server.url, err)
		if _, err := os.Stdin.Read(make([]byte, 1)); err == nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestEachTestHasItsOwnMigratedDatabase(t *testing.T) {
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			pool := New(t)
			var rows int
			require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM ax.workflows").Scan(&rows))
			require.Zero(t, rows)
			_, err := pool.Exec(t.Context(), "INSERT INTO ax.workflows (namespace_id, code) SELECT id, 'mine' FROM ax.namespaces")
			require.NoError(t, err)
		})
	}
}

func exists(t *testing.T, databaseURL string) bool {
	t.Helper()
	server, err := shared()
	require.NoError(t, err)
	config, err := pgx.ParseConfig(databaseURL)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), server.url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	var found bool
	const ask = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)"
	require.NoError(t, conn.QueryRow(t.Context(), ask, config.Database).Scan(&found))
	return found
}

// failing is a test that has failed, as far as its clean-up can see.
type failing struct {
	testing.TB
	logged strings.Builder
	undo   []func()
}

func (f *failing) Failed() bool               { return true }
func (f *failing) Cleanup(undo func())        { f.undo = append(f.undo, undo) }
func (f *failing) Logf(form string, a ...any) { fmt.Fprintf(&f.logged, form+"\n", a...) }

func TestDatabaseIsDroppedAtTheEndButKeptAndNamedWhenTheTestFailed(t *testing.T) {
	var dropped string
	t.Run("passes", func(t *testing.T) { dropped = NewURL(t) })
	require.False(t, exists(t, dropped))

	f := &failing{TB: t}
	kept := NewURL(f)
	for _, undo := range f.undo {
		undo()
	}
	require.True(t, exists(t, kept))
	require.Contains(t, f.logged.String(), kept)
	server, err := shared()
	require.NoError(t, err)
	config, err := pgx.ParseConfig(kept)
	require.NoError(t, err)
	require.NoError(t, server.exec("DROP DATABASE "+config.Database))
	if server.home != "" {
		require.NoError(t, os.Remove(server.home.path("kept")))
	}
}

func TestEmptyDatabaseIsEmpty(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), NewEmptyURL(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	var found bool
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT to_regnamespace('ax') IS NOT NULL").Scan(&found))
	require.False(t, found)
}

// claimant starts a test program that claims the server of place until leave is called.
func claimant(t *testing.T, place home) (said string, leave func()) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), claimVariable+"="+string(place), lingerVariable+"=300ms")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line := make([]byte, 1000)
	n, err := out.Read(line)
	require.NoError(t, err)
	return strings.TrimSpace(string(line[:n])), func() {
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	}
}

func TestProgramsShareOneServerThatEndsAfterTheLast(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "ax-dbtest-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(base, 0o711))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(base)) })
	place := home(filepath.Join(base, "home"))

	said, leaves := make([]string, 3), make([]func(), 3)
	var wait sync.WaitGroup
	for i := range said {
		wait.Go(func() { said[i], leaves[i] = claimant(t, place) })
	}
	wait.Wait()
	for _, s := range said {
		require.Equal(t, said[0], s)
		require.Contains(t, s, "<nil>")
	}
	leaves[0]()
	leaves[1]()
	_, err = place.find()
	require.NoError(t, err, "one program is still there")
	leaves[2]()
	require.Eventually(t, func() bool {
		left, err := filepath.Glob(place.path("db-*"))
		return err == nil && len(left) == 0
	}, time.Minute, 20*time.Millisecond, "the server ends by itself and its data goes")

	again, leave := claimant(t, place)
	require.Contains(t, again, "<nil>", "the next program starts it anew")
	leave()
	require.Eventually(t, func() bool {
		left, err := filepath.Glob(place.path("db-*"))
		return err == nil && len(left) == 0
	}, time.Minute, 20*time.Millisecond)
}

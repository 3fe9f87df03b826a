package pgdev

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// reachableDir is like t.TempDir but may be passed by the account that runs the server for root.
func reachableDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ax-pgdev-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func start(t *testing.T, dir string) *Server {
	t.Helper()
	server, err := Start(t.Context(), Config{Dir: dir, Settings: map[string]string{"fsync": "off"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	return server
}

func ask(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	var answer string
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&answer))
	return answer
}

func TestServerKeepsItsDataOverStopAndCrash(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(reachableDir(t), "db")
	server := start(t, dir)
	url := server.URL()
	require.Equal(t, "200", ask(t, url, "SHOW max_connections"))
	require.Equal(t, "off", ask(t, url, "SHOW fsync"), "Settings win")
	require.Equal(t, "", ask(t, url, "SHOW listen_addresses"), "no TCP")
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	ask(t, url, "WITH x AS (SELECT set_config('a.b', 'c', false)) SELECT 'ok' FROM x")
	ask(t, url, "SELECT lo_from_bytea(4711, 'kept')::text")

	require.NoError(t, server.Stop(t.Context()))
	require.NoError(t, server.Stop(t.Context()), "stopping again is harmless")
	server = start(t, dir)
	require.Equal(t, url, server.URL())
	require.Equal(t, "4711", ask(t, url, "SELECT oid::text FROM pg_largeobject_metadata"))

	require.NoError(t, server.Kill())
	start(t, dir)
	require.Equal(t, "4711", ask(t, url, "SELECT oid::text FROM pg_largeobject_metadata"))

	_, err = Start(t.Context(), Config{Dir: dir})
	require.ErrorContains(t, err, "is in use by process")
	require.ErrorContains(t, err, "choose another folder")
	require.Equal(t, "t", ask(t, url, "SELECT true::text::bool::text::char"), "the refused start disturbs nobody")
}

func TestDeepFolderGetsAShortSocketAndAStrangeOneWorks(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(reachableDir(t), strings.Repeat("deep", 25), "with, comma and 'quotes'")
	server := start(t, dir)
	require.Contains(t, server.URL(), "%2Ftmp%2Fax-pg-")
	require.Equal(t, "1", ask(t, server.URL(), "SELECT 1::text"))
	require.NoError(t, os.RemoveAll(server.cluster.socketDir))
}

func TestAnotherVersionsDataIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(reachableDir(t), "db")
	older := filepath.Join(dir, "pg9", "PG_VERSION")
	require.NoError(t, os.MkdirAll(filepath.Dir(older), 0o755))
	require.NoError(t, os.WriteFile(older, []byte("9\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, lockName), nil, 0o600))
	start(t, dir)
	require.FileExists(t, older)
}

func TestForeignFolderIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o644))
	_, err := Start(t.Context(), Config{Dir: dir})
	require.ErrorContains(t, err, "holds something else")
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
}

func TestBadSettingIsToldAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(reachableDir(t), "db")
	_, err := Start(t.Context(), Config{Dir: dir, Settings: map[string]string{"max_connections": "many"}})
	require.ErrorContains(t, err, `invalid value for parameter "max_connections"`)
	start(t, dir)
}

// TestMain lets the test program play the process that is killed in the next test.
func TestMain(m *testing.M) {
	if dir := os.Getenv("AX_PGDEV_TEST_PARENT"); dir != "" {
		server, err := Start(context.Background(), Config{Dir: dir})
		if err != nil {
			panic(err)
		}
		if _, err := os.Stdout.WriteString(server.URL() + "\n"); err != nil {
			panic(err)
		}
		<-server.Done()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestServerShutsDownInOrderWhenItsParentIsKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(reachableDir(t), "db")
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "AX_PGDEV_TEST_PARENT="+dir)
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	ask(t, strings.TrimSpace(url), "SELECT lo_from_bytea(4711, 'kept')::text")
	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())

	server := start(t, dir) // waits for the orphan, which is still writing its checkpoint
	require.Equal(t, "4711", ask(t, server.URL(), "SELECT oid::text FROM pg_largeobject_metadata"))
	said, err := os.ReadFile(filepath.Join(dir, "postgres.log"))
	require.NoError(t, err)
	require.NotContains(t, string(said), "not properly shut down")
}

func TestCancelledStartLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(reachableDir(t), "db")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := Start(ctx, Config{Dir: dir})
	require.Error(t, err)
	start(t, dir)
}

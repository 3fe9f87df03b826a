// Package dbtest gives each test a PostgreSQL database of its own, with ax's schemas in it.
//
// All test programs of a machine and user share one server, which the first of them starts and which
// ends by itself some seconds after the last of them (see keeper.go). The schemas are migrated once,
// into a template; a test gets a copy of it, which takes about 20 ms. AX_TEST_DATABASE_URL names a
// server to use instead: a postgres:// URL whose user may create databases.
package dbtest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// poolSize leaves room, under the server's max_connections, for many tests at once.
const poolSize = 16

// patience bounds each thing that is done with the server; a slow machine needs a part of it.
const patience = 2 * time.Minute

// New returns a pool on a migrated database of the test's own. At the end of the test the pool is
// closed and the database dropped, or kept and named in the log when the test failed.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(NewURL(t))
	require.NoError(t, err)
	config.MaxConns = poolSize
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// NewURL is New for a test that connects by itself: it returns the database's connection string.
func NewURL(t testing.TB) string {
	t.Helper()
	server, template := prepared(t)
	return create(t, server, " TEMPLATE "+template+" STRATEGY file_copy")
}

// NewEmptyURL is NewURL for a test of what fills a database: nothing is in it.
func NewEmptyURL(t testing.TB) string {
	t.Helper()
	server, _ := prepared(t)
	return create(t, server, " TEMPLATE template0")
}

func prepared(t testing.TB) (server sharedServer, template string) {
	t.Helper()
	server, err := shared()
	require.NoError(t, err, "a test database needs a PostgreSQL server")
	template, err = migrated()
	require.NoError(t, err)
	return server, template
}

var created atomic.Int64

func create(t testing.TB, server sharedServer, options string) string {
	t.Helper()
	name := databaseName(t.Name())
	require.NoError(t, server.exec("CREATE DATABASE "+name+options))
	t.Cleanup(func() {
		if t.Failed() {
			keep(t, server, name)
			return
		}
		require.NoError(t, server.exec("DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"))
	})
	return server.database(name)
}

var unfit = regexp.MustCompile(`[^a-z0-9]+`)

// databaseName is unique on the server and says whose it is.
func databaseName(test string) string {
	name := fmt.Sprintf("ax_test_%d_%d_%s", processID, created.Add(1), unfit.ReplaceAllString(strings.ToLower(test), "_"))
	return name[:min(len(name), 63)] // longer names PostgreSQL cuts itself
}

func keep(t testing.TB, server sharedServer, name string) {
	t.Helper()
	t.Logf("the test's database is kept: psql %q", server.database(name))
	if server.command == "" {
		return
	}
	t.Logf("its server ends soon after the tests; until the next one starts, bring it back with: %s", server.command)
	require.NoError(t, server.markKept(name))
}

// exec runs one statement on a connection of its own: an idle pool would look like a leak to tests.
func (s sharedServer) exec(sql string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return fmt.Errorf("connect to test server: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("run %q on test server: %w", sql, err)
	}
	return nil
}

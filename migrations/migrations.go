// Package migrations makes and updates the two schemas of an ax database: ax_river, which River's
// own migrations fill, and ax, filled by the SQL files of this folder, which may build on River's.
package migrations

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	schema       = "ax"
	riverSchema  = "ax_river"
	versionTable = schema + ".goose_db_version"
	// oldestServer is what server_version_num says on the oldest PostgreSQL that ax runs on.
	oldestServer = 150000
)

//go:embed *.sql
var files embed.FS

// Up brings the database at databaseURL to the newest version: it makes the schemas, then applies
// River's pending migrations, then ours. A database that is up to date is left alone. Several
// processes may call it at once: one works, the others wait for it, up to five minutes. It needs a
// direct connection; behind PgBouncer in transaction mode its lock does not hold.
func Up(ctx context.Context, databaseURL string) error {
	return withTarget(ctx, databaseURL, func(t target) error {
		return t.locked(ctx, func() error { return t.up(ctx) })
	})
}

// Hash names the content of all migrations, River's included: databases that Up made have equal
// schemas when their hashes are equal.
func Hash() string {
	sum := sha256.New()
	err := errors.Join(hashFiles(sum, files), hashFiles(sum, riverpgxv5.New(nil).GetMigrationFS("main")))
	if err != nil {
		panic(err) // both are embedded in the program: reading them cannot fail
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func hashFiles(sum interface{ Write([]byte) (int, error) }, from fs.FS) error {
	return fs.WalkDir(from, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(sum, "%s %d\n%s", path, len(content), content)
		return err
	})
}

// target is a database to migrate, as both migration tools want to see it.
type target struct {
	pool  *pgxpool.Pool
	db    *sql.DB
	river *rivermigrate.Migrator[pgx.Tx]
}

func withTarget(ctx context.Context, databaseURL string, do func(target) error) (err error) {
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connect to database: %w", err)
	}
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	quiet := slog.New(slog.DiscardHandler)
	river, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: riverSchema, Logger: quiet})
	if err != nil {
		return fmt.Errorf("load River's migrations: %w", err)
	}
	return do(target{pool: pool, db: db, river: river})
}

// locked runs do while this process alone migrates the database. The lock of goose is taken around
// everything, not given to goose, because River's migrations know none.
func (t target) locked(ctx context.Context, do func() error) (err error) {
	conn, err := t.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect to database: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return fmt.Errorf("make migration lock: %w", err)
	}
	if err := locker.SessionLock(ctx, conn); err != nil {
		return fmt.Errorf("wait for another migration of this database: %w", err)
	}
	defer func() { err = errors.Join(err, locker.SessionUnlock(context.WithoutCancel(ctx), conn)) }()
	return do()
}

func (t target) up(ctx context.Context) error {
	if err := t.checkServer(ctx); err != nil {
		return err
	}
	if err := t.makeSchemas(ctx); err != nil {
		return err
	}
	if _, err := t.river.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("apply River's migrations: %w", err)
	}
	ours, err := t.ours()
	if err != nil {
		return err
	}
	if _, err := ours.Up(ctx); err != nil {
		return fmt.Errorf("apply migrations: %w", err)
	}
	return nil
}

func (t target) checkServer(ctx context.Context) error {
	var number int
	var name string
	const ask = `SELECT current_setting('server_version_num')::int, current_setting('server_version')`
	if err := t.pool.QueryRow(ctx, ask).Scan(&number, &name); err != nil {
		return fmt.Errorf("ask server for its version: %w", err)
	}
	if number < oldestServer {
		return fmt.Errorf("the server is PostgreSQL %s; ax needs 15 or newer", name)
	}
	return nil
}

// makeSchemas asks first: CREATE SCHEMA IF NOT EXISTS needs the right to create one even where it
// does nothing.
func (t target) makeSchemas(ctx context.Context) error {
	for _, name := range []string{schema, riverSchema} {
		var exists bool
		if err := t.pool.QueryRow(ctx, `SELECT to_regnamespace($1) IS NOT NULL`, name).Scan(&exists); err != nil {
			return fmt.Errorf("look for schema %s: %w", name, err)
		}
		if exists {
			continue
		}
		if _, err := t.pool.Exec(ctx, "CREATE SCHEMA "+name); err != nil {
			return fmt.Errorf("create schema %s: %w", name, err)
		}
	}
	return nil
}

func (t target) ours() (*goose.Provider, error) {
	provider, err := goose.NewProvider(goose.DialectPostgres, t.db, files,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("load migrations: %w", err)
	}
	return provider, nil
}

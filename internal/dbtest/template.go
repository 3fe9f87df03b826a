package dbtest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/migrations"
)

// templateLock is the advisory lock under which one test program makes the template.
const templateLock = 5_204_711

// migrated makes the template database when the server has none of the migrations' hash, once per
// test program, and returns its name.
var migrated = sync.OnceValues(func() (string, error) {
	server, err := shared()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.url)
	if err != nil {
		return "", fmt.Errorf("connect to test server: %w", err)
	}
	// The lock ends with the connection.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return "", errors.Join(fmt.Errorf("lock template database: %w", err), conn.Close(ctx))
	}
	name := "ax_template_" + migrations.Hash()
	return name, errors.Join(makeTemplate(ctx, conn, server, name), conn.Close(ctx))
})

// makeTemplate migrates a database under another name and renames it, so that a template of that
// name is always complete, then closes it to connections, because a copy needs it to be idle.
func makeTemplate(ctx context.Context, conn *pgx.Conn, server sharedServer, name string) error {
	var exists bool
	const ask = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)"
	if err := conn.QueryRow(ctx, ask, name).Scan(&exists); err != nil {
		return fmt.Errorf("look for template database: %w", err)
	}
	if exists {
		return nil
	}
	unfinished := name + "_unfinished"
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + unfinished, "CREATE DATABASE " + unfinished + " TEMPLATE template0"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("make template database: %w", err)
		}
	}
	if err := migrations.Up(ctx, server.database(unfinished)); err != nil {
		return fmt.Errorf("migrate template database: %w", err)
	}
	for _, sql := range []string{"ALTER DATABASE " + unfinished + " RENAME TO " + name, "ALTER DATABASE " + name + " ALLOW_CONNECTIONS false"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("finish template database: %w", err)
		}
	}
	return nil
}

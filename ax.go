// Package ax embeds the workflow engine into a Go program: workflows declared with package sdk are registered,
// planned and run on the program's own PostgreSQL pool.
//
//	err := ax.Run(ctx, pool, daily, hourly)
//
// runs until ctx ends. New makes an App for whoever needs more: triggers that commit with the program's own rows, a
// process that only plans or only works, queues and capacities. Any number of processes may run on one database.
package ax

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/sdk"
)

// Run registers workflows, plans and runs them until ctx ends, and then stops in order: see App.Stop. It returns nil
// when ctx was the reason.
func Run(ctx context.Context, pool *pgxpool.Pool, workflows ...*sdk.Workflow) error {
	app, err := New(Config{Pool: pool, Workflows: workflows})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}

// Open makes a pool for a connection string, for programs that have none of their own. It connects when it is first
// used; the caller closes it. Where no database is named it is an error: none is guessed from the environment.
func Open(ctx context.Context, databaseURL string) (*pgxpool.Pool, error) {
	if databaseURL == "" {
		return nil, errors.New("no database is named: give ax.Open an address such as postgres://USER:PASSWORD@HOST/NAME (`ax dev` prints that of its own)")
	}
	return store.Connect(ctx, databaseURL)
}

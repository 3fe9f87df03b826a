package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ax-run/ax/internal/pgdev"
)

// Bounds of the pause before PostgreSQL is started again.
const (
	postgresFirst = 100 * time.Millisecond
	postgresMost  = 5 * time.Second
)

// privatePostgres is a PostgreSQL that is started again when it ends unasked. Its address stays the same.
type privatePostgres struct {
	log    *slog.Logger
	config pgdev.Config

	server *pgdev.Server
	cancel context.CancelFunc
	watch  sync.WaitGroup
}

func (p *privatePostgres) start(ctx context.Context) error {
	server, err := pgdev.Start(ctx, p.config)
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	p.server = server
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.watch.Go(func() { p.keep(ctx) })
	return nil
}

func (p *privatePostgres) url() string { return p.server.URL() }

// keep starts the server again whenever it has ended, until ctx ends.
func (p *privatePostgres) keep(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.server.Done():
		}
		for wait := postgresFirst; ; wait = min(2*wait, postgresMost) {
			p.log.Warn("PostgreSQL has ended and is started again")
			server, err := pgdev.Start(ctx, p.config)
			if err == nil {
				p.server = server
				break
			}
			if ctx.Err() != nil {
				return
			}
			p.log.Error("PostgreSQL cannot be started; trying again", slog.Any("error", err))
			if pause(ctx, wait) != nil {
				return
			}
		}
	}
}

// stop ends the server in order.
func (p *privatePostgres) stop(ctx context.Context) error {
	p.cancel()
	p.watch.Wait()
	return p.server.Stop(ctx)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ax-run/ax"
	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/service"
	"github.com/ax-run/ax/internal/store"
)

// process is one that plans, works or serves until a signal ends it.
type process struct {
	log         *slog.Logger
	databaseURL string
	parts       ax.Parts
	worker      engine.WorkerConfig
	timings     engine.Timings
	zone        string
	// remote is how remote workers are served; nil serves none. publicURL is where they reach the API, "" for where it listens.
	remote    *engine.RemoteConfig
	publicURL string
	// listener is where the API is served; nil serves none.
	listener net.Listener
	// bootstrap is a token to let in with where there is none yet; "" is none.
	bootstrap string
	// patience is how long bodies that run may go on when the process is to end.
	patience time.Duration
	// ready is called once everything works; "" is the URL of a process without API.
	ready func(ctx context.Context, url string) error
}

// run works until ctx ends, and stops in order. That ctx ended is no error.
func (p *process) run(ctx context.Context) error {
	outlivePipes()
	group, url, err := p.assemble(ctx)
	if err != nil {
		return err
	}
	if url != "" {
		p.log.Info("listening", slog.String("url", url))
	}
	err = group.Start(ctx)
	if err == nil {
		if err = p.ready(ctx, url); err == nil {
			<-ctx.Done()
		}
	}
	if ctx.Err() != nil {
		err = nil
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.patience)
	defer cancel()
	return errors.Join(err, group.Stop(patience))
}

// assemble makes the parts, in the order in which they start; they stop in the reverse order.
func (p *process) assemble(ctx context.Context) (*service.Group, string, error) {
	pool, err := ax.Open(ctx, p.databaseURL)
	if err != nil {
		return nil, "", failure(exitUsage, "%w", err)
	}
	if p.publicURL == "" && p.listener != nil {
		p.publicURL = listenerURL(p.listener)
	}
	rows := store.New(pool)
	metrics := api.NewMetrics(rows, p.log)
	app, err := ax.New(ax.Config{
		Pool: pool, Parts: p.parts, Worker: p.worker, Timings: p.timings, DefaultTimezone: p.zone,
		Remote: p.remote, PublicURL: p.publicURL, Logger: p.log, Metrics: metrics, Observe: metrics.Fired,
	})
	if err != nil {
		pool.Close()
		return nil, "", failure(exitUsage, "%w", err)
	}
	closePool := service.Funcs{OnStop: func(context.Context) error { pool.Close(); return nil }}
	members := []service.Member{
		{Name: "pool", Service: closePool},
		{Name: "clock", Service: clockLoop(rows, metrics, p.log)},
		{Name: "app", Service: app},
	}
	if p.listener == nil {
		return service.NewGroup(members...), "", nil
	}
	face := newFront(p.listener, api.New(api.Config{
		Store: app.Store(), Launcher: app.Engine(), Operator: app.Engine(), Remotes: app.Engine(), PublicURL: p.publicURL, Metrics: metrics,
		DefaultTimezone: p.zone, Version: ownVersion().Version, Log: p.log,
	}))
	face.bootstrap = p.bootstrap
	members = append([]service.Member{{Name: "listener", Service: face.service()}}, members...)
	members = append(members, service.Member{Name: "API", Service: face.door()})
	return service.NewGroup(members...), face.url(), nil
}

// outlivePipes keeps the process alive when whoever read its output has gone.
func outlivePipes() {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE) // caught and not ignored: the programs of nodes must not inherit it
}

// tell writes a line that is for the person who started the process.
func (c *call) tell(format string, args ...any) error {
	if _, err := fmt.Fprintf(c.out, format+"\n", args...); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

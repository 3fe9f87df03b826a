package ax

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/service"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/migrations"
	"github.com/ax-run/ax/planner"
)

// stopPatience is how long Run lets running bodies go on after its ctx has ended.
const stopPatience = 30 * time.Second

// actor is who an App registers and triggers as, where nobody is named.
const actor = "app"

// App is a process of ax inside a Go program.
//
// It starts from the ground up: schema, workflows, engine, planner. It stops from the top down, so that each part may use
// those beneath it to its end:
//
//  1. The planner: nothing fires here any more; other processes go on. Whatever else starts runs, such as an HTTP server
//     on this App, must have been stopped before.
//  2. The worker: it takes nothing new. Bodies that run may end while the ctx of Stop lasts; the others are cancelled and
//     handed back, and run elsewhere (S28). It keeps its lease until the last has ended, and unregisters then.
//  3. The engine: results that came in are committed, because a result that was not is a body that runs again; then come
//     the ends of logs, the loops, and the engine's pools. The program's own Pool stays open.
//
// A process that dies instead of stopping loses nothing that was committed: its schedules are fired, and its attempts
// taken over, by others.
type App struct {
	config  Config
	graphs  []*dag.Graph
	store   *store.Store
	engine  *engine.Engine
	group   *service.Group
	running atomic.Bool
}

// New makes an App, or says everything that is wrong with the Config and its workflows. The App does nothing before Start.
func New(c Config) (*App, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("make app: %w", err)
	}
	graphs, err := c.build()
	if err != nil {
		return nil, fmt.Errorf("make app: %w", err)
	}
	a := &App{config: c, graphs: graphs, store: store.New(c.Pool)}
	mover := engine.Config{Pool: c.Pool, Timings: c.Timings, Logger: c.Logger, Metrics: c.Metrics, Remote: c.Remote, PublicURL: c.PublicURL}
	if c.Parts&Work != 0 {
		mover.Worker = &c.Worker
	}
	if a.engine, err = engine.New(mover); err != nil {
		return nil, fmt.Errorf("make app: %w", err)
	}
	members := []service.Member{
		{Name: "schema and workflows", Service: service.Funcs{OnStart: a.prepare}},
		{Name: "engine", Service: service.Funcs{OnStart: a.patient(a.engine.Start), OnStop: a.engine.Stop}},
	}
	if c.Parts&Plan != 0 {
		p := planner.New(planner.Config{
			Store: a.store, Launcher: a.engine, Repeater: a.engine, Prepare: a.engine.Prepare, Logger: c.Logger, Observe: c.Observe,
		})
		members = append(members, service.Member{Name: "planner", Service: p})
	}
	a.group = service.NewGroup(members...)
	return a, nil
}

// Start brings the schema up to date, registers the workflows and begins to plan and work. While the database is away it
// keeps trying, until ctx ends.
func (a *App) Start(ctx context.Context) error {
	if err := a.group.Start(ctx); err != nil {
		return fmt.Errorf("start app: %w", err)
	}
	a.running.Store(true)
	return nil
}

// Stop stops in the order that App describes. ctx bounds how long running bodies may take.
func (a *App) Stop(ctx context.Context) error {
	a.running.Store(false)
	if err := a.group.Stop(ctx); err != nil {
		return fmt.Errorf("stop app: %w", err)
	}
	return nil
}

// Run starts, waits until ctx ends, and stops; bodies that run then have 30 seconds. It returns nil when ctx was the reason.
func (a *App) Run(ctx context.Context) error {
	if err := a.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	<-ctx.Done()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	return a.Stop(patience)
}

// Store returns the rows, for the parts of ax that serve them.
func (a *App) Store() *store.Store { return a.store }

// Engine returns what launches runs, for the parts of ax that ask it to.
func (a *App) Engine() *engine.Engine { return a.engine }

// prepare makes the database ready for this App.
func (a *App) prepare(ctx context.Context) error {
	if !a.config.KeepSchema {
		up := a.patient(func(ctx context.Context) error { return migrations.Up(ctx, a.config.Pool.Config().ConnString()) })
		if err := up(ctx); err != nil {
			return err
		}
	}
	if err := a.patient(a.makePools)(ctx); err != nil {
		return err
	}
	for _, g := range a.graphs {
		register := a.patient(func(ctx context.Context) error {
			_, err := planner.Register(ctx, a.store, planner.Registration{Namespace: a.config.Namespace, Graph: g, Actor: actor})
			return err
		})
		if err := register(ctx); err != nil {
			return err
		}
	}
	return nil
}

const (
	retryFirst = 100 * time.Millisecond
	retryMost  = 5 * time.Second
)

// patient makes f wait for a database that is away.
func (a *App) patient(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for n := 0; ; n++ {
			err := f(ctx)
			if err == nil || !store.Transient(err) || ctx.Err() != nil {
				return err
			}
			if n == 0 {
				a.config.Logger.Warn("the database cannot be reached; trying until it can", "error", err)
			}
			pause := min(retryFirst<<min(n, 10), retryMost)
			select {
			case <-time.After(pause/2 + rand.N(pause)):
			case <-ctx.Done():
				return err
			}
		}
	}
}

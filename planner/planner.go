// Package planner decides moments: which schedules are due, and what becomes of every instant they owe (S8, S9, S10).
//
// Any number of planners work on one database. Nothing is kept in memory: a planner claims schedules whose time has come,
// decides them with Due, has the runs created, writes the ledger and moves the schedules on, all in one transaction. A
// planner that dies leaves its claims to the others. Between two rounds it sleeps until the next instant is due, and is
// woken when a registration may have made an earlier one.
package planner

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/service"
	"github.com/ax-run/ax/internal/store"
)

const (
	// batchSize is how many schedules one transaction claims, and about how many runs it creates.
	batchSize = 500
	// Bounds of a sleep: instants a few milliseconds apart are fired together; and a poll is the truth beneath NOTIFY.
	minSleep = 5 * time.Millisecond
	maxSleep = time.Second
)

// Launcher creates runs in the planner's transaction: one Launched for each trigger, in order. An error means that none of
// them could be created, and that the transaction is spoilt.
type Launcher interface {
	Launch(ctx context.Context, tx pgx.Tx, triggers []store.Trigger) ([]store.Launched, error)
}

// Observed is a row of the ledger after its commit.
type Observed struct {
	Result store.FireResult
	Count  int
	// Delay is how long after its instant the run was committed; 0 if there is no run.
	Delay time.Duration
}

// Config is what a Planner needs. Store, Launcher and Repeater are required.
type Config struct {
	Store    *store.Store
	Launcher Launcher
	// Prepare is told which versions will be launched in the next seconds, to read them before; nil does nothing.
	Prepare func(ctx context.Context, versions []int64) error
	// Repeater makes the runs of backfills that repeat others.
	Repeater Repeater
	// Logger is told when the database goes away and comes back, and of schedules that cannot be planned. Nil: slog.Default.
	Logger *slog.Logger
	// Observe is called for every row of the ledger, in one goroutine; nil is nobody.
	Observe func(Observed)
}

// Planner is a service that fires schedules.
type Planner struct {
	*service.Group
	store    *store.Store
	launcher Launcher
	prepare  func(context.Context, []int64) error
	repeater Repeater
	logger   *slog.Logger
	observe  func(Observed)
	// foreseen is the last schedule, in order of time, that was prepared; one loop touches it.
	foreseen store.SchedulePoint
	fires    *service.Loop
	delayed  *service.Loop
	// completions starts what waits for other workflows.
	completions *service.Loop
	// backfills makes their runs.
	backfills *service.Loop
	// pruning is how far it is; one loop touches it.
	pruning pruning
}

// New makes a planner that does not run yet.
func New(c Config) *Planner {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Observe == nil {
		c.Observe = func(Observed) {}
	}
	p := &Planner{store: c.Store, launcher: c.Launcher, repeater: c.Repeater, prepare: c.Prepare, logger: c.Logger, observe: c.Observe}
	p.fires, p.delayed = p.loop("planner", p.fireDue), p.loop("planner's delayed runs", p.startDue)
	p.completions, p.backfills = p.loop("planner's completions", p.consume), p.loop("planner's backfills", p.feedBackfills)
	listener := service.NewLoop(service.LoopConfig{Name: "planner's listener", Round: p.listen, Logger: c.Logger})
	members := []service.Member{
		{Name: "planner's pool", Service: p.pool(c.Store)},
		{Name: "planner", Service: p.fires},
		{Name: "planner's delayed runs", Service: p.delayed},
		{Name: "planner's completions", Service: p.completions},
		{Name: "planner's backfills", Service: p.backfills},
		{Name: "planner's sweep", Service: p.loop("planner's sweep", p.sweep)},
		{Name: "planner's pruning", Service: p.loop("planner's pruning", p.prune)},
		{Name: "planner's listener", Service: listener},
	}
	if c.Prepare != nil {
		members = append(members, service.Member{Name: "planner's foresight", Service: p.loop("planner's foresight", p.foresee)})
	}
	p.Group = service.NewGroup(members...)
	return p
}

// pool gives the planner connections of its own: on the caller's, statements would be planned again at each fire.
func (p *Planner) pool(callers *store.Store) service.Service {
	return service.Funcs{
		OnStart: func(ctx context.Context) error {
			tuned, err := callers.Tuned(ctx)
			if err == nil {
				p.store = tuned
			}
			return err
		},
		OnStop: func(context.Context) error {
			if p.store != callers {
				p.store.Pool().Close()
				p.store = callers
			}
			return nil
		},
	}
}

// loop makes a loop of a look that returns how long to sleep.
func (p *Planner) loop(name string, look func(context.Context) (time.Duration, error)) *service.Loop {
	round := (&patient{what: name, logger: p.logger, look: look}).round
	return service.NewLoop(service.LoopConfig{Name: name, Round: round, Logger: p.logger})
}

func (p *Planner) listen(ctx context.Context) time.Duration {
	p.store.Listen(ctx, []string{store.ChannelSchedules, store.ChannelCompleted, store.ChannelBackfills}, func(channel, _ string) {
		switch channel {
		case store.ChannelCompleted:
			p.completions.Wake()
			p.backfills.Wake()
		case store.ChannelBackfills:
			p.backfills.Wake()
		default:
			p.fires.Wake()
			p.delayed.Wake()
		}
	})
	return maxSleep
}

// fireDue fires a batch and returns how long to sleep.
func (p *Planner) fireDue(ctx context.Context) (time.Duration, error) {
	more, err := p.fireBatch(ctx)
	if err != nil || more {
		return 0, err
	}
	next, ok, err := p.store.UntilNextFire(ctx)
	if err != nil || !ok {
		return maxSleep, err
	}
	return min(max(next, minSleep), maxSleep), nil
}

// fireBatch fires what is due, at most a batch, and reports whether there may be more. A batch that one schedule spoils is
// repeated with each schedule apart.
func (p *Planner) fireBatch(ctx context.Context) (more bool, err error) {
	for _, apart := range []bool{false, true} {
		var b *batch
		err = p.store.InTx(ctx, func(tx pgx.Tx) error {
			b, err = p.claim(ctx, tx)
			if err != nil {
				return err
			}
			if apart {
				return b.fireApart(ctx, tx)
			}
			return b.fire(ctx, tx, b.items)
		})
		if err == nil {
			b.tell()
			return b.more, nil
		}
		if ctx.Err() != nil || store.Transient(err) {
			break
		}
	}
	return false, err
}

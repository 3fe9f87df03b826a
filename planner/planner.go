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
	"math/rand/v2"
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
	// Bounds of the pause after a failed round.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
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

// Config is what a Planner needs. Store and Launcher are required.
type Config struct {
	Store    *store.Store
	Launcher Launcher
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
	logger   *slog.Logger
	observe  func(Observed)
	loop     *service.Loop
	backoff  time.Duration // 0 while rounds succeed; only rounds touch it
}

// New makes a planner that does not run yet.
func New(c Config) *Planner {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Observe == nil {
		c.Observe = func(Observed) {}
	}
	p := &Planner{store: c.Store, launcher: c.Launcher, logger: c.Logger, observe: c.Observe}
	p.loop = service.NewLoop(service.LoopConfig{Name: "planner", Round: p.round, Logger: c.Logger})
	listener := service.NewLoop(service.LoopConfig{Name: "planner's listener", Round: p.listen, Logger: c.Logger})
	p.Group = service.NewGroup(service.Member{Name: "planner", Service: p.loop}, service.Member{Name: "planner's listener", Service: listener})
	return p
}

func (p *Planner) listen(ctx context.Context) time.Duration {
	p.store.Listen(ctx, []string{store.ChannelSchedules}, func(string, string) { p.loop.Wake() })
	return maxSleep
}

// round fires a batch and returns how long to sleep.
func (p *Planner) round(ctx context.Context) time.Duration {
	more, err := p.fireBatch(ctx)
	sleep := time.Duration(0)
	if err == nil && !more {
		sleep, err = p.untilNext(ctx)
	}
	if ctx.Err() != nil {
		return 0
	}
	if err != nil {
		return p.failed(err)
	}
	if p.backoff > 0 {
		p.backoff = 0
		p.logger.Info("planner works again")
	}
	return sleep
}

func (p *Planner) untilNext(ctx context.Context) (time.Duration, error) {
	next, ok, err := p.store.UntilNextFire(ctx)
	if err != nil || !ok {
		return maxSleep, err
	}
	return min(max(next, minSleep), maxSleep), nil
}

// failed returns how long to wait after a failed round; only the first of several is told.
func (p *Planner) failed(err error) time.Duration {
	if p.backoff == 0 {
		p.logger.Warn("planner cannot work, and keeps trying", "error", err)
	}
	p.backoff = min(max(2*p.backoff, minBackoff), maxBackoff)
	return p.backoff/2 + rand.N(p.backoff/2)
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

// Package bench measures ax against the queue beneath it, in one run on one database, so that what is
// compared is two designs and not two machines or two moments.
package bench

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

// Config says what to measure on. The database is emptied: give one that holds nothing else.
type Config struct {
	Pool *pgxpool.Pool
	// Register stores a definition (YAML) and returns its version.
	Register func(ctx context.Context, definition []byte) (version int64, err error)
	// Inline lets workers go on with a successor at once, as they do outside of benchmarks.
	Inline bool
	// Repeat is how often each measurement is taken; the median counts. Zero: 3.
	Repeat int
	// Scale multiplies the number of runs. Zero: 1.
	Scale float64
	// Schedules are how many there are where schedules fire; Rate is how many of them in a second, and Seconds for how long.
	Schedules int
	Rate      float64
	Seconds   int
	Logger    *slog.Logger
	// Progress is told what is being measured.
	Progress func(what string)
}

func (c Config) withDefaults() Config {
	if c.Repeat == 0 {
		c.Repeat = 3
	}
	if c.Scale == 0 {
		c.Scale = 1
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	return c
}

// slots is how many bodies run at once, in River alone and in the engine alike.
const slots = 1000

// bed is an engine with one handler, noop, on an otherwise idle database.
type bed struct {
	engine *engine.Engine
	store  *store.Measured
	worked atomic.Int64
}

func startBed(ctx context.Context, c Config, handler engine.Executor) (*bed, error) {
	measured, err := store.OpenMeasured(ctx, c.Pool)
	if err != nil {
		return nil, err
	}
	b := &bed{store: measured}
	counted := engine.ExecutorFunc(func(ctx context.Context, t *engine.Task) engine.Outcome {
		defer b.worked.Add(1)
		return handler.Execute(ctx, t)
	})
	b.engine, err = engine.New(engine.Config{Pool: measured.Pool(), Logger: c.Logger, Worker: &engine.WorkerConfig{
		Name: "bench", Capacity: slots, NoInline: !c.Inline, Handlers: map[string]engine.Executor{"noop": counted},
	}})
	if err != nil {
		return nil, err
	}
	if err := b.engine.Start(ctx); err != nil {
		measured.Pool().Close()
		return nil, err
	}
	return b, nil
}

func (b *bed) stop(ctx context.Context) error {
	defer b.store.Pool().Close()
	return b.engine.Stop(ctx)
}

// launch starts n runs of a version, many to a transaction.
func (b *bed) launch(ctx context.Context, version int64, n int) error {
	const together = 500
	for n > 0 {
		triggers := make([]store.Trigger, min(n, together))
		for i := range triggers {
			triggers[i] = store.Trigger{Version: version, Kind: "manual", Actor: "bench", ScheduledAt: time.Now(), LogicalDate: "2026-01-01"}
		}
		err := b.store.InTx(ctx, func(tx pgx.Tx) error {
			launched, err := b.engine.Launch(ctx, tx, triggers)
			for _, l := range launched {
				if l.Err != nil {
					return l.Err
				}
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("launch: %w", err)
		}
		n -= len(triggers)
	}
	return nil
}

// wait returns when so many bodies have worked and every run has ended.
func (b *bed) wait(ctx context.Context, bodies int64) error {
	for b.worked.Load() < bodies {
		if err := pause(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("wait for %d bodies, %d worked: %w", bodies, b.worked.Load(), err)
		}
	}
	for {
		open, err := b.store.OpenRuns(ctx)
		if err != nil {
			return err
		}
		if open == 0 {
			return nil
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return fmt.Errorf("wait for %d runs to end: %w", open, err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

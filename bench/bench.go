// Package bench measures ax against the queue beneath it, in one run on one database, so that what is
// compared is two designs and not two machines or two moments.
package bench

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
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
	Scale  float64
	Logger *slog.Logger
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

// empty removes all runs and jobs, so that every measurement starts from the same tables.
func empty(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `TRUNCATE ax_river.river_job, ax.runs, ax.node_runs, ax.node_joins, ax.held, ax.run_intents, ax.dead_letters,
		ax.logs, ax.fires`)
	if err != nil {
		return fmt.Errorf("empty the database: %w", err)
	}
	if _, err := pool.Exec(ctx, "CHECKPOINT"); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// bed is an engine with one handler, noop, on an otherwise idle database.
type bed struct {
	engine *engine.Engine
	pool   *pgxpool.Pool
	store  *store.Store
	trips  *tripCounter
	worked atomic.Int64
}

func startBed(ctx context.Context, c Config, handler engine.Executor) (*bed, error) {
	b := &bed{trips: &tripCounter{}}
	config := c.Pool.Config()
	config.ConnConfig.Tracer = b.trips
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open bench pool: %w", err)
	}
	b.pool, b.store = pool, store.New(pool)
	counted := engine.ExecutorFunc(func(ctx context.Context, t *engine.Task) engine.Outcome {
		defer b.worked.Add(1)
		return handler.Execute(ctx, t)
	})
	b.engine, err = engine.New(engine.Config{Pool: pool, Logger: c.Logger, Worker: &engine.WorkerConfig{
		Name: "bench", Capacity: slots, NoInline: !c.Inline, Handlers: map[string]engine.Executor{"noop": counted},
	}})
	if err != nil {
		return nil, err
	}
	if err := b.engine.Start(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return b, nil
}

func (b *bed) stop(ctx context.Context) error {
	defer b.pool.Close()
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
		var open int
		if err := b.pool.QueryRow(ctx, "SELECT count(*) FROM ax.runs WHERE state IN ('queued', 'running')").Scan(&open); err != nil {
			return fmt.Errorf("count open runs: %w", err)
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

// tripCounter counts the round trips of the engine to the database; River's own and the benchmark's polls are left out.
type tripCounter struct{ n atomic.Int64 }

// TraceQueryStart implements pgx.QueryTracer.
func (t *tripCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !strings.Contains(data.SQL, "-- name: ") && !strings.HasPrefix(data.SQL, "SELECT count(*) FROM ax.runs") {
		t.n.Add(1)
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (t *tripCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (t *tripCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	t.n.Add(1)
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (t *tripCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (t *tripCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

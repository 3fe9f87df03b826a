package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

// rawArgs are as large as a node run's: the yardstick carries what any job must.
type rawArgs string

// Kind implements river.JobArgs.
func (rawArgs) Kind() string { return "raw" }

// MarshalJSON writes one string.
func (a rawArgs) MarshalJSON() ([]byte, error) { return json.Marshal(string(a)) }

// rawWorker does nothing and counts.
type rawWorker struct {
	river.WorkerDefaults[rawArgs]
	worked *atomic.Int64
}

// Work implements river.Worker.
func (w *rawWorker) Work(context.Context, *river.Job[rawArgs]) error {
	w.worked.Add(1)
	return nil
}

// raw measures River alone: n jobs inserted in batches while a client works them, until it has stopped and every
// completion is durable.
func raw(ctx context.Context, c Config, n int) (sample, error) {
	if err := store.New(c.Pool).Empty(ctx); err != nil {
		return sample{}, err
	}
	var worked atomic.Int64
	workers := river.NewWorkers()
	river.AddWorker(workers, &rawWorker{worked: &worked})
	client, err := river.NewClient(riverpgxv5.New(c.Pool), &river.Config{
		Schema: engine.RiverSchema, Workers: workers, Queues: map[string]river.QueueConfig{"raw": {MaxWorkers: slots}},
		FetchCooldown: time.Millisecond, FetchPollInterval: 50 * time.Millisecond, LeaderElectionDisabled: true, JobTimeout: -1, Logger: c.Logger,
	})
	if err != nil {
		return sample{}, fmt.Errorf("make raw client: %w", err)
	}
	if err := client.Start(ctx); err != nil {
		return sample{}, fmt.Errorf("start raw client: %w", err)
	}
	return measure(ctx, store.New(c.Pool), n, func() error {
		if err := insertRaw(ctx, client, n); err != nil {
			return err
		}
		for worked.Load() < int64(n) {
			if err := pause(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		return client.Stop(ctx)
	})
}

func insertRaw(ctx context.Context, client *river.Client[pgx.Tx], n int) error {
	const together = 1000
	for done := 0; done < n; {
		params := make([]river.InsertManyParams, min(n-done, together))
		for i := range params {
			params[i] = river.InsertManyParams{Args: rawArgs(fmt.Sprintf("1883285459878019073:n%d:-1:1:1", done+i)),
				InsertOpts: &river.InsertOpts{Queue: "raw"}}
		}
		if _, err := client.InsertManyFast(ctx, params); err != nil {
			return fmt.Errorf("insert raw jobs: %w", err)
		}
		done += len(params)
	}
	return nil
}

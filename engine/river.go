package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/ax-run/ax/internal/store"
)

// RiverSchema is where River's tables are.
const RiverSchema = "ax_river"

const (
	fetchCooldown = time.Millisecond
	// fetchPoll lies beneath the notifications, which are hints; private to this file because throughput and idle cost hang on it.
	fetchPoll = 100 * time.Millisecond
	// never sets River's own rescue out of the way: liveness is the engine's.
	never = 10 * 365 * 24 * time.Hour
)

// jobArgs are the arguments of every job: one string, and a kind that depends on the node.
type jobArgs struct {
	kind string
	text string
}

// Kind implements river.JobArgs.
func (a jobArgs) Kind() string { return a.kind }

// UnmarshalJSON reads the string; River has checked that b is JSON.
func (a *jobArgs) UnmarshalJSON(b []byte) error {
	if n := len(b); n >= 2 && b[0] == '"' && bytes.IndexByte(b, '\\') < 0 {
		a.text = string(b[1 : n-1])
		return nil
	}
	return json.Unmarshal(b, &a.text)
}

// MarshalJSON writes the string.
func (a jobArgs) MarshalJSON() ([]byte, error) { return json.Marshal(a.text) }

// jobWorker hands River's jobs of one kind to an incarnation.
type jobWorker struct {
	river.WorkerDefaults[jobArgs]
	inc *incarnation
}

// Work carries out a node and every node that follows inline. It returns only after the result is durable or refused: to
// River a job never fails, since retries and losses are the engine's, and there is nothing left to complete.
func (w *jobWorker) Work(_ context.Context, job *river.Job[jobArgs]) error {
	attempt, err := store.ParseJobArgs(job.Args.text)
	if err != nil {
		return fmt.Errorf("job %d is none of ours: %w", job.ID, err)
	}
	w.inc.work(store.Claim{Job: store.JobRef{ID: job.ID, Attempt: job.Attempt}, Attempt: attempt}, job.Kind, job.ScheduledAt)
	return settled{}
}

// settled tells River that the job's row is no longer its business: it has the form in which a worker reports on several jobs
// one by one, and reports on none. River would else send a statement for each batch of jobs to complete rows that are gone. To a
// River that does not know the form it is an error about such a row, which comes to the same.
type settled struct{}

// Error implements error.
func (settled) Error() string { return "the engine has moved the job" }

// Jobs are those reported on.
func (settled) Jobs() []*rivertype.JobRow { return nil }

// ErrorsByID are the reports.
func (settled) ErrorsByID() map[int64]error { return nil }

// Timeout disables River's own: the engine interrupts attempts itself (S17).
func (w *jobWorker) Timeout(*river.Job[jobArgs]) time.Duration { return -1 }

// riverClient is River as one incarnation uses it.
type riverClient struct {
	*river.Client[pgx.Tx]
	log *slog.Logger
}

// fetch starts River's client for this incarnation.
func (i *incarnation) fetch(ctx context.Context) error {
	workers := river.NewWorkers()
	for kind := range i.worker.executors {
		river.AddWorkerArgs(workers, jobArgs{kind: kind}, &jobWorker{inc: i})
	}
	queues := make(map[string]river.QueueConfig)
	for name, capacity := range i.capacities() {
		queues[name] = river.QueueConfig{MaxWorkers: capacity}
	}
	client, err := river.NewClient(riverpgxv5.New(i.engine.store.Pool()), &river.Config{
		ID: i.id, Schema: RiverSchema, Queues: queues, Workers: workers, Logger: quiet(i.engine.log),
		FetchCooldown: fetchCooldown, FetchPollInterval: fetchPoll, PollOnly: i.worker.config.PollOnly,
		FetchOnlyKnownKinds: true, LeaderElectionDisabled: true, JobTimeout: -1, RescueStuckJobsAfter: never, MaxAttempts: 1,
		SkipUnknownJobCheck: true,
	})
	if err != nil {
		return fmt.Errorf("make River client: %w", err)
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start River client: %w", err)
	}
	i.client = &riverClient{Client: client, log: i.engine.log}
	return nil
}

func (i *incarnation) capacities() map[string]int {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make(map[string]int, len(i.queues))
	for name, capacity := range i.queues {
		out[name] = capacity
	}
	return out
}

// stopFetching fetches nothing more and waits for what runs while ctx lasts. It may be called again with more patience.
func (c *riverClient) stopFetching(ctx context.Context) {
	if err := c.Stop(ctx); err != nil && ctx.Err() == nil {
		c.log.Warn("stopping River failed", slog.Any("error", err))
	}
}

// quiet is a logger that drops River's chatter about single jobs.
func quiet(log *slog.Logger) *slog.Logger {
	return slog.New(levelFloor{log.Handler()})
}

// levelFloor passes on errors only.
type levelFloor struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h levelFloor) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError && h.Handler.Enabled(ctx, l)
}

// Package engine moves runs: it launches them, hands their nodes to workers through River, carries attempts out, and moves
// on what follows from each result in one transaction. What should follow is decided in dag/progress.
package engine

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/batch"
	"github.com/ax-run/ax/internal/service"
	"github.com/ax-run/ax/internal/store"
)

// Config says what an Engine works on. The zero value of every field but Pool is usable.
type Config struct {
	// Pool is the caller's; the engine opens pools of its own with the same address. Required.
	Pool *pgxpool.Pool
	// Worker makes this process run nodes; nil means it only launches and moves.
	Worker *WorkerConfig
	// Remote makes this process serve remote workers; nil means it does not.
	Remote *RemoteConfig
	// PublicURL is where workers reach the API, such as https://ax.example, without a slash at its end. Zero: requests to workers carry no
	// result_url, unless the worker polls.
	PublicURL string
	Timings   Timings
	Logger    *slog.Logger
	Metrics   Metrics
}

// Timings are how often the engine looks and how long it waits (S27).
type Timings struct {
	// Beat is how often a worker renews its lease, Misses how many it may miss before it is suspect, Probe how long after that it is
	// lost, if it has no address or cannot be reached there Probes times one after another. Zero: 10 s, 3, 15 s, once.
	Beat   time.Duration
	Misses int
	Probe  time.Duration
	Probes int
	// Look is how often the engine looks for what no notification told it of: due nodes, dead workers, wishes. Zero: 1 s.
	Look time.Duration
	// Reconcile is how often what must not be is looked for, Doubt how long it must have been there before something is done about
	// it. Zero: 30 s, 1 min.
	Reconcile, Doubt time.Duration
	// Grace is how long a body may go on after its attempt has ended before it is given up on (S17). Zero: 10 s.
	Grace time.Duration
}

func (t Timings) withDefaults() Timings {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&t.Beat, 10 * time.Second}, {&t.Probe, 15 * time.Second}, {&t.Look, time.Second}, {&t.Grace, 10 * time.Second},
		{&t.Reconcile, 30 * time.Second}, {&t.Doubt, time.Minute}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if t.Misses == 0 {
		t.Misses = 3
	}
	if t.Probes == 0 {
		t.Probes = 1
	}
	return t
}

// suspect is how long a worker may be silent before it is given nothing new.
func (t Timings) suspect() time.Duration { return time.Duration(t.Misses) * t.Beat }

// lease is how long a worker counts as live after its last beat.
func (t Timings) lease() time.Duration { return t.suspect() + t.Probe }

// Metrics is told what the engine does; its methods must not block.
type Metrics interface {
	RunEnded(progress.State)
	NodeRunStarted(delay time.Duration)
	NodeRunEnded(s progress.State, took time.Duration)
	Transition(batch int, took time.Duration)
	// Found tells of something that must not be, and whether it was set right.
	Found(kind string, repaired bool)
}

type noMetrics struct{}

func (noMetrics) RunEnded(progress.State)                    {}
func (noMetrics) NodeRunStarted(time.Duration)               {}
func (noMetrics) NodeRunEnded(progress.State, time.Duration) {}
func (noMetrics) Transition(int, time.Duration)              {}
func (noMetrics) Found(string, bool)                         {}

// Engine moves runs on one database. Any number of processes may do so at once.
type Engine struct {
	config    Config
	timings   Timings
	log       *slog.Logger
	metrics   Metrics
	store     *store.Store
	plans     *plans
	lanes     *liveLanes
	completer *completer
	facts     *factCache
	splits    *splits
	logs      *batch.Batcher[store.LogChunk, struct{}]
	keeper    *keeper
	worker    *worker
	keys      *keys
	remotes   *remotes
	group     *service.Group
	// watch is told of every moment, in tests.
	watch func(moment)
}

// New makes an engine; it begins at Start.
func New(config Config) (*Engine, error) {
	if config.Pool == nil {
		return nil, fmt.Errorf("make engine: Pool is missing")
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.Metrics == nil {
		config.Metrics = noMetrics{}
	}
	return &Engine{config: config, timings: config.Timings.withDefaults(), log: config.Logger, metrics: config.Metrics}, nil
}

// Start opens the engine's pools and begins its loops, the worker last.
func (e *Engine) Start(ctx context.Context) error {
	pool, err := store.Open(ctx, e.config.Pool.Config())
	if err != nil {
		return fmt.Errorf("start engine: %w", err)
	}
	e.store = store.New(pool)
	e.plans = newPlans(e.store)
	e.lanes = &liveLanes{store: e.store}
	e.facts = newFactCache(e.store)
	e.splits = newSplits(e.store)
	e.completer = newCompleter(e)
	e.keys = newKeys(e.store)
	e.logs = batch.New(batch.Config[store.LogChunk, struct{}]{Flush: e.flushLogs, Max: maxLogRows})
	members := []service.Member{
		{Name: "pool", Service: service.Funcs{OnStop: func(context.Context) error { pool.Close(); return nil }}},
		{Name: "plans", Service: e.plans},
		{Name: "facts", Service: e.facts},
		{Name: "completer", Service: e.completer}, // which evaluates expressions, to its end
		{Name: "logs", Service: e.logs},
		{Name: "keeper", Service: newKeeper(e)},
	}
	if e.config.Remote != nil {
		e.remotes = newRemotes(e, *e.config.Remote)
		members = append(members, service.Member{Name: "remotes", Service: e.remotes})
	}
	if e.config.Worker != nil {
		if e.worker, err = newWorker(e, *e.config.Worker); err != nil {
			pool.Close()
			return fmt.Errorf("start engine: %w", err)
		}
		members = append(members, service.Member{Name: "worker", Service: e.worker})
	}
	e.group = service.NewGroup(members...)
	return e.group.Start(ctx)
}

// Stop drains the worker (S28), moves what has finished, and stops the loops, in this order. ctx bounds how long running
// bodies may take; what has not ended by then is handed back and runs elsewhere.
func (e *Engine) Stop(ctx context.Context) error {
	if e.group == nil {
		return nil
	}
	return e.group.Stop(ctx)
}

// maxLogRows is how many rows of logs one statement stores, at most one of each attempt that writes. So it takes some milliseconds, on one
// connection, whatever they write.
const maxLogRows = 32

func (e *Engine) flushLogs(ctx context.Context, chunks []store.LogChunk) ([]struct{}, error) {
	for attempt := 0; ; attempt++ {
		err := e.store.AppendLogs(ctx, chunks)
		if err == nil || ctx.Err() != nil || !store.Transient(err) {
			return make([]struct{}, len(chunks)), err
		}
		e.backoff(ctx, attempt)
	}
}

// incarnation names this process among workers; "" when it runs no nodes.
func (e *Engine) incarnation() string {
	if e.worker == nil {
		return ""
	}
	return e.worker.incarnation()
}

const (
	backoffFirst = 20 * time.Millisecond
	backoffMost  = 2 * time.Second
)

// backoff waits before attempt number n+1 of a call that failed, longer each time, spread so that processes do not return
// in step.
func (e *Engine) backoff(ctx context.Context, n int) {
	d := min(backoffFirst<<min(n, 10), backoffMost)
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

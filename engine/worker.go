package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ax-run/ax/internal/service"
	"github.com/ax-run/ax/internal/store"
)

// WorkerConfig says what this process runs.
type WorkerConfig struct {
	// Name stays the same over restarts: a process that starts under it ends its earlier incarnation at once (S27).
	// Zero: the host's name and a random part.
	Name string
	// Namespace is the one it serves. Zero: default.
	Namespace string
	// Labels say what nodes may ask for (S26). App is the program, for people.
	Labels map[string]string
	App    string
	// Queues are the queues it serves and how many nodes it runs of each at once. Nil: every queue of the namespace, also those made
	// later, with Capacity each.
	Queues map[string]int
	// Capacity is how many nodes of one queue run at once where Queues does not say. Zero: 100.
	Capacity int
	// Handlers carry out handler nodes by name; HTTP and Command those kinds, nil when this worker does not.
	Handlers map[string]Executor
	HTTP     Executor
	Command  Executor
	// NoInline sends every node through the queue, even where its worker could go on with it.
	NoInline bool
	// PollOnly makes it ask for work instead of listening, as behind a pooler that cannot carry notifications.
	PollOnly bool
}

func (c WorkerConfig) withDefaults() WorkerConfig {
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "worker"
		}
		c.Name = host + "-" + rand.Text()[:6]
	}
	if c.Namespace == "" {
		c.Namespace = "default"
	}
	if c.Capacity == 0 {
		c.Capacity = 100
	}
	return c
}

// worker is this process as a taker of nodes. It lives through incarnations: one that others declare lost gives up all it
// holds and begins again under a new name.
type worker struct {
	engine    *Engine
	config    WorkerConfig
	executors map[string]Executor
	current   atomic.Pointer[incarnation]
	stop      context.CancelFunc
	done      chan struct{}
	patience  atomic.Pointer[context.Context]
	sweep     atomic.Pointer[service.Loop]
}

func newWorker(e *Engine, config WorkerConfig) (*worker, error) {
	w := &worker{engine: e, config: config.withDefaults(), executors: make(map[string]Executor)}
	for name, h := range config.Handlers {
		w.executors[kindGoPrefix+name] = h
	}
	if config.HTTP != nil {
		w.executors[kindHTTP] = config.HTTP
	}
	if config.Command != nil {
		w.executors[kindCommand] = config.Command
	}
	if len(w.executors) == 0 {
		return nil, errors.New("the worker can run nothing: give it handlers, http or commands")
	}
	return w, nil
}

func (w *worker) incarnation() string {
	if inc := w.current.Load(); inc != nil {
		return inc.id
	}
	return ""
}

// look makes the worker compare its attempts with the database now.
func (w *worker) look() {
	if l := w.sweep.Load(); l != nil {
		l.Wake()
	}
}

// Start registers the worker and begins to take nodes.
func (w *worker) Start(ctx context.Context) error {
	inc, err := w.begin(ctx)
	if err != nil {
		return err
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.done = make(chan struct{})
	go w.live(ctx, inc)
	return nil
}

// live runs incarnations until Stop.
func (w *worker) live(ctx context.Context, inc *incarnation) {
	defer close(w.done)
	for attempt := 0; ; {
		err := inc.run(ctx)
		if ctx.Err() != nil {
			inc.drain(*w.patience.Load())
			return
		}
		w.engine.log.Error("the worker was declared lost and begins again", slog.String("worker", inc.id), slog.Any("error", err))
		inc.abandon()
		for {
			if inc, err = w.begin(ctx); err == nil || ctx.Err() != nil {
				break
			}
			w.engine.log.Error("the worker cannot begin again yet", slog.Any("error", err))
			w.engine.backoff(ctx, attempt)
			attempt++
		}
		if err != nil {
			return
		}
		attempt = 0
	}
}

// Stop takes nothing new, lets what runs end while ctx lasts, hands the rest back, and unregisters (S28).
func (w *worker) Stop(ctx context.Context) error {
	if w.stop == nil {
		return nil
	}
	w.patience.Store(&ctx)
	w.stop()
	<-w.done
	return nil
}

// begin registers a new incarnation and starts fetching.
func (w *worker) begin(ctx context.Context) (*incarnation, error) {
	namespace, err := w.engine.store.Namespace(ctx, w.config.Namespace)
	if err != nil {
		return nil, err
	}
	inc := &incarnation{worker: w, engine: w.engine, id: fmt.Sprintf("%.60s-%s", w.config.Name, rand.Text()[:10]), namespace: namespace,
		running: newRunning(), queues: make(map[string]int)}
	inc.base, inc.cancel = context.WithCancelCause(context.Background())
	named := slices.Sorted(maps.Keys(w.config.Queues))
	if named == nil {
		named = []string{"default"}
	}
	if err := w.engine.store.EnsureQueues(ctx, namespace, named); err != nil {
		return nil, err
	}
	if err := inc.register(ctx); err != nil {
		return nil, err
	}
	w.current.Store(inc)
	if err := inc.fetch(ctx); err != nil {
		return nil, errors.Join(err, inc.store().ForgetWorker(ctx, inc.id))
	}
	return inc, nil
}

// incarnation is one life of a worker: a lease row, a River client, and the attempts it holds.
type incarnation struct {
	worker    *worker
	engine    *Engine
	id        string
	namespace int64
	running   *running
	base      context.Context
	cancel    context.CancelCauseFunc
	draining  atomic.Bool
	// drained stops the fetching once somebody has told the worker to take nothing new.
	drained sync.Once
	client  *riverClient

	mu     sync.Mutex
	queues map[string]int // River queue to capacity
	// better is the best priority that waits in each queue, as of the last look.
	better map[string]int
}

func (i *incarnation) store() *store.Store { return i.engine.store }

// row is the lease row as it should be now.
func (i *incarnation) row() store.Worker {
	i.mu.Lock()
	defer i.mu.Unlock()
	capacity := 0
	for name, n := range i.queues {
		if store.BaseQueue(name) == name {
			capacity += n
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "" // for people only
	}
	c := &i.worker.config
	return store.Worker{Incarnation: i.id, Name: c.Name, Namespace: i.namespace, App: c.App, Host: host, Labels: c.Labels,
		Queues: slices.Sorted(maps.Keys(i.queues)), Kinds: slices.Sorted(maps.Keys(i.worker.executors)), Capacity: capacity,
		Suspect: i.engine.timings.suspect(), Lease: i.engine.timings.lease()}
}

func (i *incarnation) register(ctx context.Context) error {
	if _, err := i.newQueues(ctx); err != nil {
		return err
	}
	return i.store().RegisterWorker(ctx, i.row())
}

// newQueues finds the queues to serve that are not served yet, and the routes of them that lead here. Of each route it runs as many at once as of its
// queue.
func (i *incarnation) newQueues(ctx context.Context) (map[string]int, error) {
	names, err := i.store().Queues(ctx, i.namespace)
	if err != nil {
		return nil, err
	}
	routes, err := i.store().ServedRoutes(ctx, i.namespace, i.worker.config.Name, i.worker.config.Labels)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	fresh := make(map[string]int)
	for name, river := range names {
		capacity := i.worker.config.Capacity
		if i.worker.config.Queues != nil {
			capacity = i.worker.config.Queues[name]
		}
		if i.queues[river] == 0 && capacity > 0 {
			i.queues[river], fresh[river] = capacity, capacity
		}
	}
	for _, lane := range routes {
		if capacity := i.queues[store.BaseQueue(lane)]; i.queues[lane] == 0 && capacity > 0 {
			i.queues[lane], fresh[lane] = capacity, capacity
		}
	}
	return fresh, nil
}

// run keeps the lease and the set of attempts true until ctx ends, or others take this incarnation for lost.
func (i *incarnation) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lost := make(chan error, 1)
	loops := service.NewGroup(
		service.Member{Name: "beat", Service: i.beatLoop(lost)},
		service.Member{Name: "sweep", Service: i.sweepLoop()},
	)
	if err := loops.Start(ctx); err != nil {
		return err
	}
	var err error
	select {
	case err = <-lost:
	case <-ctx.Done():
		// The lease is kept while the bodies end.
		i.draining.Store(true)
		i.client.stopFetching(*i.worker.patience.Load())
	}
	return errors.Join(err, loops.Stop(context.WithoutCancel(ctx)))
}

// drain hands back what has not ended when patience is over, and unregisters.
func (i *incarnation) drain(patience context.Context) {
	i.running.cancelAll(errDrained)
	i.cancel(errDrained)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(patience), i.engine.timings.Grace+5*time.Second)
	defer cancel()
	i.client.stopFetching(ctx)
	if err := i.store().ForgetWorker(ctx, i.id); err != nil {
		i.engine.log.Warn("the worker could not unregister; its lease will end by itself", slog.Any("error", err))
	}
}

// abandon gives up everything a lost incarnation holds: others have it now.
func (i *incarnation) abandon() {
	i.running.cancelAll(errLeaseOver)
	i.cancel(errLeaseOver)
	ctx, cancel := context.WithTimeout(context.Background(), i.engine.timings.Grace)
	defer cancel()
	i.client.stopFetching(ctx)
}

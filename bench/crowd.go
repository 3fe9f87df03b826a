package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/service"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

const (
	// planners is how many work beside each other.
	planners = 2
	// lead is how long before the first instant a crowd is given its time, and leadEach how much longer for each schedule.
	lead     = 2 * time.Second
	leadEach = 400 * time.Microsecond
	// straggle is how long after the last instant starts are waited for; what has not started by then is lost.
	straggle = time.Minute
)

// firing is how a crowd of schedules is to fire: each of them at an interval, their first instants spread over a time, and what is due within
// another time is looked at.
type firing struct{ every, spread, lasts time.Duration }

// stock is what became of the instants that were looked at.
type stock struct {
	expected, late, lost, duplicates int
	delays                           []time.Duration
	// cpu is this process's and the database's from before the first instant until all was done; 0 where the database's cannot be seen.
	cpu time.Duration
}

// starts notes when the work of each run starts, by this machine's clock.
type starts struct {
	mu  sync.Mutex
	all map[store.RunID][]time.Time
}

func (s *starts) note(run store.RunID) {
	now := time.Now()
	s.mu.Lock()
	s.all[run] = append(s.all[run], now)
	s.mu.Unlock()
}

func (s *starts) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// fireCrowd has planners and a worker fire a crowd, and takes stock when all of it has started. Each schedule is a workflow's of its own, of one
// node and with the limits that it has by default; nobody has read its definition before.
func fireCrowd(ctx context.Context, c Config, f firing) (stock, error) {
	definition := fmt.Sprintf("workflow: bench.crowd\nnodes: {work: {handler: noop}}\nschedules: [{every: %s}]\n", f.every)
	version, err := c.Register(ctx, []byte(definition))
	if err != nil {
		return stock{}, fmt.Errorf("register: %w", err)
	}
	rows := store.New(c.Pool)
	if err := rows.Empty(ctx); err != nil {
		return stock{}, err
	}
	c.Progress(fmt.Sprintf("%d schedules: making them", c.Schedules))
	crowd := store.Herd{Version: version, Size: c.Schedules, Every: f.every, Spread: f.spread}
	if err := rows.Gather(ctx, crowd); err != nil {
		return stock{}, err
	}
	noted := &starts{all: make(map[store.RunID][]time.Time)}
	b, err := startBed(ctx, c, engine.ExecutorFunc(func(_ context.Context, t *engine.Task) engine.Outcome {
		noted.note(t.Attempt.Run)
		return engine.Outcome{}
	}))
	if err != nil {
		return stock{}, err
	}
	s, err := b.fire(ctx, c, crowd, f.lasts, noted)
	return s, errors.Join(err, b.stop(ctx))
}

// fire lets planners fire a crowd for a time.
func (b *bed) fire(ctx context.Context, c Config, crowd store.Herd, lasts time.Duration, noted *starts) (stock, error) {
	rows := store.New(c.Pool)
	lead := lead + time.Duration(crowd.Size)*leadEach
	first, err := rows.Aim(ctx, crowd, lead)
	if err != nil {
		return stock{}, err
	}
	ahead, err := rows.ClockAhead(ctx)
	if err != nil {
		return stock{}, err
	}
	if time.Now().Add(ahead).After(first) {
		return stock{}, fmt.Errorf("this machine is too slow: it took more than %s to give %d schedules their time", lead, crowd.Size)
	}
	var members []service.Member
	for range planners {
		p := planner.New(planner.Config{Store: rows, Launcher: b.engine, Prepare: b.engine.Prepare, Logger: c.Logger})
		members = append(members, service.Member{Name: "planner", Service: p})
	}
	group := service.NewGroup(members...)
	if err := group.Start(ctx); err != nil {
		return stock{}, err
	}
	last := first.Add(lasts)
	used, err := measure(ctx, rows, crowd.Size, func() error { return b.watch(ctx, c, last.Add(-ahead), noted) })
	if err := errors.Join(err, group.Stop(ctx)); err != nil {
		return stock{}, err
	}
	expected, err := rows.ExpectedFires(ctx, crowd.Every, first, last)
	if err != nil {
		return stock{}, err
	}
	out := noted.take(expected, ahead)
	out.cpu = used.cpu
	return out, nil
}

// watch waits until an instant, and then until all runs have ended.
func (b *bed) watch(ctx context.Context, c Config, until time.Time, noted *starts) error {
	for time.Now().Before(until) {
		c.Progress(fmt.Sprintf("%s to go, %d runs started", time.Until(until).Round(time.Second), noted.count()))
		if err := pause(ctx, min(time.Until(until), 5*time.Second)); err != nil {
			return err
		}
	}
	for patience := time.Now().Add(straggle); time.Now().Before(patience); {
		behind, err := b.store.Behind(ctx, until)
		if err != nil {
			return err
		}
		if behind == 0 {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// take compares what was expected with what started. Ahead is how far the clock of the instants is ahead of this machine's.
func (s *starts) take(expected []store.Expected, ahead time.Duration) stock {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := stock{expected: len(expected)}
	for _, e := range expected {
		var all []time.Time
		for _, run := range e.Runs {
			all = append(all, s.all[run]...)
		}
		if len(all) == 0 {
			out.lost++
			continue
		}
		out.duplicates += max(len(e.Runs), len(all)) - 1
		delay := all[0].Add(ahead).Sub(e.At)
		if delay > time.Second {
			out.late++
		}
		out.delays = append(out.delays, delay)
	}
	return out
}

// cpuEach is the CPU time of one fire, in microseconds.
func (s stock) cpuEach() float64 {
	if s.expected == 0 {
		return 0
	}
	return float64(s.cpu.Microseconds()) / float64(s.expected)
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

// Latency is how long an idle system takes from the end of one node to the start of the next, and from the call of
// the trigger to the start of the first.
type Latency struct {
	HopMS   Spread `json:"hop_ms"`
	StartMS Spread `json:"start_ms"`
}

// Spread is how some durations spread, in milliseconds.
type Spread struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func spread(all []time.Duration) Spread {
	if len(all) == 0 {
		return Spread{}
	}
	slices.Sort(all)
	at := func(q float64) float64 {
		return float64(all[min(len(all)-1, int(q*float64(len(all))))].Microseconds()) / 1000
	}
	return Spread{P50: at(0.5), P99: at(0.99), Max: at(1)}
}

const (
	latencyNodes = 50
	latencyRuns  = 12
)

// clockwork notes when each body starts and ends; only one run is under way at a time.
type clockwork struct {
	mu    sync.Mutex
	ended time.Time
	hops  []time.Duration
	// starts are the first nodes'; ended is then the call of the trigger.
	starts []time.Duration
}

func (c *clockwork) note(first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if first {
		c.starts = append(c.starts, now.Sub(c.ended))
	} else {
		c.hops = append(c.hops, now.Sub(c.ended))
	}
	c.ended = time.Now()
}

// RunLatency measures one chain after the other on an otherwise idle engine.
func RunLatency(ctx context.Context, c Config) (Latency, error) {
	c = c.withDefaults()
	version, err := c.Register(ctx, chain("bench.latency", latencyNodes))
	if err != nil {
		return Latency{}, fmt.Errorf("register chain: %w", err)
	}
	if err := store.New(c.Pool).Empty(ctx); err != nil {
		return Latency{}, err
	}
	clock := &clockwork{}
	b, err := startBed(ctx, c, engine.ExecutorFunc(func(_ context.Context, t *engine.Task) engine.Outcome {
		clock.note(t.Attempt.Node == "n0")
		return engine.Outcome{}
	}))
	if err != nil {
		return Latency{}, err
	}
	for i := range latencyRuns * c.Repeat {
		c.Progress(fmt.Sprintf("chain %d of %d", i+1, latencyRuns*c.Repeat))
		if err = b.oneChain(ctx, clock, version, int64(i+1)*latencyNodes); err != nil {
			break
		}
	}
	if err := errors.Join(err, b.stop(ctx)); err != nil {
		return Latency{}, err
	}
	return Latency{HopMS: spread(clock.hops), StartMS: spread(clock.starts)}, nil
}

func (b *bed) oneChain(ctx context.Context, clock *clockwork, version, bodies int64) error {
	clock.mu.Lock()
	clock.ended = time.Now()
	clock.mu.Unlock()
	if err := b.launch(ctx, version, 1); err != nil {
		return err
	}
	return b.wait(ctx, bodies)
}

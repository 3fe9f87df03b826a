package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

// noop is a body that does nothing: what is measured is the moving.
var noop = engine.ExecutorFunc(func(context.Context, *engine.Task) engine.Outcome { return engine.Outcome{} })

// Throughput is how fast nodes move, next to raw River jobs in the same run.
type Throughput struct {
	RawRiverPerS            float64          `json:"raw_river_per_s"`
	RawRiverCPUMicrosPerJob float64          `json:"raw_river_cpu_us_per_job"`
	RawRiverWALBytesPerJob  float64          `json:"raw_river_wal_bytes_per_job"`
	Shapes                  map[string]Shape `json:"shapes"`
}

// Shape is the throughput of one shape of graph. Ratio is the median over the repetitions of the rate divided by raw River's
// in the same repetition.
type Shape struct {
	NodeRunsPerS      float64 `json:"node_runs_per_s"`
	Ratio             float64 `json:"ratio"`
	WALBytesPerNode   float64 `json:"wal_bytes_per_node"`
	RoundTripsPerNode float64 `json:"round_trips_per_node"`
	CPUMicrosPerNode  float64 `json:"cpu_us_per_node"`
}

// pair is raw River and the engine, one after the other, with as many things to do.
type pair struct{ raw, engine sample }

func (p pair) ratio() float64 { return p.engine.perSecond() / p.raw.perSecond() }

// RunThroughput measures all shapes.
func RunThroughput(ctx context.Context, c Config) (Throughput, error) {
	c = c.withDefaults()
	out := Throughput{Shapes: make(map[string]Shape)}
	var raws []sample
	for _, s := range shapes(c.Scale) {
		version, err := c.Register(ctx, s.definition)
		if err != nil {
			return out, fmt.Errorf("register %s: %w", s.name, err)
		}
		var pairs []pair
		for i := range c.Repeat {
			c.Progress(fmt.Sprintf("%s, %d of %d", s.name, i+1, c.Repeat))
			p, err := measurePair(ctx, c, s, version)
			if err != nil {
				return out, fmt.Errorf("measure %s: %w", s.name, err)
			}
			pairs = append(pairs, p)
			raws = append(raws, p.raw)
		}
		mid := median(pairs, pair.ratio)
		n := float64(mid.engine.n)
		out.Shapes[s.name] = Shape{NodeRunsPerS: mid.engine.perSecond(), Ratio: mid.ratio(), WALBytesPerNode: float64(mid.engine.wal) / n,
			RoundTripsPerNode: float64(mid.engine.trips) / n, CPUMicrosPerNode: float64(mid.engine.cpu.Microseconds()) / n}
	}
	mid := median(raws, sample.perSecond)
	out.RawRiverPerS = mid.perSecond()
	out.RawRiverCPUMicrosPerJob = float64(mid.cpu.Microseconds()) / float64(mid.n)
	out.RawRiverWALBytesPerJob = float64(mid.wal) / float64(mid.n)
	return out, nil
}

func measurePair(ctx context.Context, c Config, s shape, version int64) (pair, error) {
	n := s.runs * s.nodes
	var p pair
	var err error
	if p.raw, err = raw(ctx, c, n); err != nil {
		return p, err
	}
	if err := store.New(c.Pool).Empty(ctx); err != nil {
		return p, err
	}
	b, err := startBed(ctx, c, noop)
	if err != nil {
		return p, err
	}
	before := b.store.Trips()
	p.engine, err = measure(ctx, store.New(c.Pool), n, func() error {
		err := b.launch(ctx, version, s.runs)
		if err == nil {
			err = b.wait(ctx, int64(n))
		}
		return errors.Join(err, b.stop(ctx))
	})
	p.engine.trips = b.store.Trips() - before
	if err == nil {
		err = verify(ctx, store.New(c.Pool), n)
	}
	return p, err
}

// verify counts what the database says was done.
func verify(ctx context.Context, s *store.Store, n int) error {
	t, err := s.Tally(ctx)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if want := (store.Tally{NodeRuns: n}); t != want {
		return fmt.Errorf("verify: the database holds %+v, want %+v", t, want)
	}
	return nil
}

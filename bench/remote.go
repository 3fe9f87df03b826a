package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/outbound"
	"github.com/ax-run/ax/internal/store"
)

// Remote is how many node runs a second go through a worker that is pushed to, one that polls, and handlers in the process, each a run of one node.
type Remote struct {
	PushPerS  float64 `json:"push_per_s"`
	PollPerS  float64 `json:"poll_per_s"`
	LocalPerS float64 `json:"local_per_s"`
}

// remoteRuns is how many runs each measurement takes.
const remoteRuns = 3000

// RunRemote measures the three ways, one after the other.
func RunRemote(ctx context.Context, c Config) (Remote, error) {
	c = c.withDefaults()
	version, err := c.Register(ctx, []byte("workflow: bench.remote\nnodes:\n  a: {handler: noop}\n"))
	if err != nil {
		return Remote{}, fmt.Errorf("register: %w", err)
	}
	n := max(int(remoteRuns*c.Scale), 1)
	rates := make(map[string][]float64)
	for i := range c.Repeat {
		for _, way := range []string{"push", "poll", "local"} {
			c.Progress(fmt.Sprintf("%s, %d of %d", way, i+1, c.Repeat))
			rate, err := remoteRate(ctx, c, way, version, n)
			if err != nil {
				return Remote{}, fmt.Errorf("measure %s: %w", way, err)
			}
			rates[way] = append(rates[way], rate)
		}
	}
	mid := func(way string) float64 { return median(rates[way], func(r float64) float64 { return r }) }
	return Remote{PushPerS: mid("push"), PollPerS: mid("poll"), LocalPerS: mid("local")}, nil
}

// remoteRate measures one way once.
func remoteRate(ctx context.Context, c Config, way string, version int64, n int) (rate float64, err error) {
	rows := store.New(c.Pool)
	if err := rows.Empty(ctx); err != nil {
		return 0, err
	}
	config := engine.Config{Pool: c.Pool, Logger: c.Logger}
	if way == "local" {
		config.Worker = &engine.WorkerConfig{Name: "bench", Capacity: slots, Handlers: map[string]engine.Executor{"noop": noop}}
	} else {
		config.Remote = &engine.RemoteConfig{Client: outbound.NewClient(outbound.Policy{AllowLoopback: true}, outbound.Options{})}
	}
	e, err := engine.New(config)
	if err != nil {
		return 0, err
	}
	if err := e.Start(ctx); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Stop(ctx)) }()
	if way != "local" {
		far, err := newFarWorker(ctx, api.New(api.Config{Store: rows, Launcher: e, Operator: e, Remotes: e}), way == "push")
		if err != nil {
			return 0, err
		}
		defer far.close()
	}
	began := time.Now()
	b := &bed{engine: e, store: &store.Measured{Store: rows}}
	if err := b.launch(ctx, version, n); err != nil {
		return 0, err
	}
	if err := b.wait(ctx, 0); err != nil {
		return 0, err
	}
	took := time.Since(began)
	return float64(n) / took.Seconds(), verify(ctx, rows, n)
}

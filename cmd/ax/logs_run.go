package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ax-run/ax/api"
)

const (
	// maxFollowed is how many logs of one run are followed at once; those of further nodes come when one has ended.
	maxFollowed = 10
	// followLook is how often a run is looked at for nodes that have begun.
	followLook = 500 * time.Millisecond
)

// runFollower follows the logs of all nodes of a run.
type runFollower struct {
	client  *client
	printer *logPrinter
	run     string
	places  chan struct{} // one for each log that may be followed now
	known   map[string]bool

	streams sync.WaitGroup
	mu      sync.Mutex
	failed  error
}

// follow returns when the run and all its logs have ended, or one of them cannot be followed any more.
func (f *runFollower) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.known = make(map[string]bool)
	err := f.watch(ctx, cancel)
	if err != nil {
		cancel()
	}
	f.streams.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil {
		return f.failed
	}
	return err
}

// watch begins to follow every node that has begun, until the run has ended.
func (f *runFollower) watch(ctx context.Context, giveUp func()) error {
	for misses := 0; ; {
		// The run is read before its nodes: once it has ended, they show everything there will be.
		run, err := f.client.run(ctx, f.run)
		var nodes []api.NodeRun
		if err == nil {
			nodes, err = f.client.nodes(ctx, f.run)
		}
		switch {
		case err == nil:
			misses = 0
			f.begin(ctx, nodes, giveUp)
			if ended(run.State) {
				return nil
			}
		case comesBack(err) && misses > 0 && misses < followTries, comesBack(err) && len(f.known) > 0:
			misses++
		default:
			return err
		}
		if err := pause(ctx, followLook); err != nil {
			return err
		}
	}
}

func (f *runFollower) begin(ctx context.Context, nodes []api.NodeRun, giveUp func()) {
	for _, n := range nodes {
		if n.StartedAt == nil && n.Attempts == 0 || f.known[n.ID] {
			continue
		}
		f.known[n.ID] = true
		f.streams.Go(func() {
			if err := f.one(ctx, n); err != nil && !errors.Is(err, context.Canceled) {
				f.fail(err)
				giveUp()
			}
		})
	}
}

func (f *runFollower) one(ctx context.Context, n api.NodeRun) error {
	select {
	case f.places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-f.places }()
	return f.client.follow(ctx, n.ID, func(l api.LogLine) error { return f.printer.print(n.Node, l) })
}

// fail keeps the first failure.
func (f *runFollower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = err
	}
}

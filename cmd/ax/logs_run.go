package main

import (
	"context"
	"errors"
	"fmt"
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

// look is what nodes there are now, and whether that is all there will be.
type look func(context.Context) (nodes []api.NodeRun, all bool, err error)

// lookAtRun reads a run before its nodes: once it has ended, they show everything there will be.
func (c *client) lookAtRun(id string) look {
	return func(ctx context.Context) ([]api.NodeRun, bool, error) {
		run, err := c.run(ctx, id)
		if err != nil {
			return nil, false, err
		}
		nodes, err := c.nodes(ctx, id)
		return nodes, ended(run.State), err
	}
}

// bodies are the node runs that have logs: what began to run of some nodes, and the shards of those that are split.
func (c *client) bodies(ctx context.Context, nodes []api.NodeRun) ([]api.NodeRun, error) {
	var out []api.NodeRun
	for _, n := range nodes {
		parts := []api.NodeRun{n}
		if n.Shards != nil {
			var err error
			if parts, err = c.shards(ctx, n.ID); err != nil {
				return nil, err
			}
		}
		for _, p := range parts {
			if p.StartedAt != nil || p.Attempts > 0 {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// bodyName is a node's name, or a shard's.
func bodyName(n api.NodeRun) string {
	if n.Shard == nil {
		return n.Node
	}
	return fmt.Sprintf("%s[%d]", n.Node, *n.Shard)
}

// runFollower follows the logs of several nodes.
type runFollower struct {
	client  *client
	printer *logPrinter
	look    look
	places  chan struct{} // one for each log that may be followed now
	known   map[string]bool

	streams sync.WaitGroup
	mu      sync.Mutex
	failed  error
}

func newRunFollower(client *client, printer *logPrinter, look look) *runFollower {
	return &runFollower{client: client, printer: printer, look: look, places: make(chan struct{}, maxFollowed), known: make(map[string]bool)}
}

// follow returns when the nodes and all their logs have ended, or one of them cannot be followed any more.
func (f *runFollower) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
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

// watch begins to follow every node that has begun, until there will be no more.
func (f *runFollower) watch(ctx context.Context, giveUp func()) error {
	for misses := 0; ; {
		nodes, all, err := f.look(ctx)
		if err == nil {
			nodes, err = f.client.bodies(ctx, nodes)
		}
		switch {
		case err == nil:
			misses = 0
			f.begin(ctx, nodes, giveUp)
			if all {
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
		if f.known[n.ID] {
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
	return f.client.follow(ctx, n.ID, func(l api.LogLine) error { return f.printer.print(bodyName(n), l) })
}

// fail keeps the first failure.
func (f *runFollower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = err
	}
}

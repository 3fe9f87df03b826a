package engine

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"github.com/ax-run/ax/internal/batch"
	"github.com/ax-run/ax/internal/store"
)

// factCache keeps the facts of the runs worked on last. They never change, so only the first node of a run
// asks the database, and all that ask at once ask together.
type factCache struct {
	*batch.Batcher[store.RunID, *store.RunFacts]
	outputs *batch.Batcher[outputWish, map[string][]byte]

	mu    sync.Mutex
	known map[store.RunID]*list.Element
	order *list.List
}

const maxKnownRuns = 20_000

// knownRun is a run's facts, and whether this process has seen it leave the fast path for good.
type knownRun struct {
	store.RunFacts
	unclean bool
}

// outputWish asks for the outputs of some nodes of a run.
type outputWish struct {
	run   store.RunID
	nodes []string
}

func newFactCache(s *store.Store) *factCache {
	c := &factCache{known: make(map[store.RunID]*list.Element), order: list.New()}
	c.Batcher = batch.New(batch.Config[store.RunID, *store.RunFacts]{Flush: func(ctx context.Context, runs []store.RunID) ([]*store.RunFacts, error) {
		return readFacts(ctx, s, runs)
	}})
	c.outputs = batch.New(batch.Config[outputWish, map[string][]byte]{Flush: func(ctx context.Context, w []outputWish) ([]map[string][]byte, error) {
		return readOutputs(ctx, s, w)
	}})
	return c
}

// Start implements service.Service.
func (c *factCache) Start(ctx context.Context) error {
	if err := c.Batcher.Start(ctx); err != nil {
		return err
	}
	return c.outputs.Start(ctx)
}

// Stop implements service.Service.
func (c *factCache) Stop(ctx context.Context) error {
	if err := c.outputs.Stop(ctx); err != nil {
		return err
	}
	return c.Batcher.Stop(ctx)
}

// get returns the facts of a run.
func (c *factCache) get(ctx context.Context, run store.RunID) (*store.RunFacts, error) {
	c.mu.Lock()
	if el := c.known[run]; el != nil {
		c.order.MoveToFront(el)
		c.mu.Unlock()
		return &el.Value.(*knownRun).RunFacts, nil
	}
	c.mu.Unlock()
	facts, err := c.Do(ctx, run)
	if err != nil {
		return nil, err
	}
	if facts == nil {
		return nil, fmt.Errorf("run %s: %w", run, store.ErrNotFound)
	}
	c.keep(facts)
	return facts, nil
}

func (c *factCache) keep(f *store.RunFacts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[f.ID] != nil {
		return
	}
	c.known[f.ID] = c.order.PushFront(&knownRun{RunFacts: *f, unclean: f.Unclean})
	if c.order.Len() > maxKnownRuns {
		oldest := c.order.Back()
		c.order.Remove(oldest)
		delete(c.known, oldest.Value.(*knownRun).ID)
	}
}

// leave notes that a run is not clean any more; it never is again, so the fast path need not try it.
func (c *factCache) leave(run store.RunID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.known[run]; el != nil {
		el.Value.(*knownRun).unclean = true
	}
}

// left reports whether a run is known not to be clean.
func (c *factCache) left(run store.RunID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.known[run]
	return el != nil && el.Value.(*knownRun).unclean
}

func readFacts(ctx context.Context, s *store.Store, runs []store.RunID) ([]*store.RunFacts, error) {
	got, err := s.RunFacts(ctx, runs)
	if err != nil {
		return nil, err
	}
	byID := make(map[store.RunID]*store.RunFacts, len(got))
	for i := range got {
		byID[got[i].ID] = &got[i]
	}
	out := make([]*store.RunFacts, len(runs))
	for i, run := range runs {
		out[i] = byID[run]
	}
	return out, nil
}

func readOutputs(ctx context.Context, s *store.Store, wishes []outputWish) ([]map[string][]byte, error) {
	var runs []store.RunID
	var nodes []string
	for _, w := range wishes {
		for _, n := range w.nodes {
			runs, nodes = append(runs, w.run), append(nodes, n)
		}
	}
	got, err := s.Outputs(ctx, runs, nodes)
	if err != nil {
		return nil, err
	}
	type key struct {
		run  store.RunID
		node string
	}
	found := make(map[key][]byte, len(got))
	for _, o := range got {
		found[key{o.Run, o.Node}] = o.Output
	}
	out := make([]map[string][]byte, len(wishes))
	for i, w := range wishes {
		out[i] = make(map[string][]byte, len(w.nodes))
		for _, n := range w.nodes {
			out[i][n] = found[key{w.run, n}]
		}
	}
	return out, nil
}

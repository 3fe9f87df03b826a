package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/ax-run/ax/internal/store"
)

// splits keeps the expansions worked on last: a frozen list is read once, not once a shard.
type splits struct {
	store *store.Store
	mu    sync.Mutex
	known map[splitKey]*split
}

type splitKey struct {
	run        store.RunID
	node       string
	generation int
}

// split is what a node was split into.
type split struct {
	total int
	items []json.RawMessage
}

// maxKnownSplits bounds the memory; beyond it all are forgotten and read again.
const maxKnownSplits = 64

func newSplits(s *store.Store) *splits { return &splits{store: s, known: make(map[splitKey]*split)} }

// get returns the split that a shard's attempt belongs to.
func (s *splits) get(ctx context.Context, a store.Attempt) (*split, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := splitKey{a.Run, a.Node, a.Generation}
	if known := s.known[key]; known != nil {
		return known, nil
	}
	e, err := s.store.Items(ctx, a.Run, a.Node, a.Generation)
	if err != nil {
		return nil, err
	}
	made := &split{total: e.Total}
	if len(e.Items) > 0 {
		if err := json.Unmarshal(e.Items, &made.items); err != nil {
			return nil, fmt.Errorf("read the items of %s: %w", a.Node, err)
		}
	}
	if len(s.known) >= maxKnownSplits {
		clear(s.known)
	}
	s.known[key] = made
	return made, nil
}

package api

import (
	"context"
	"fmt"
	"sync"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// maxGraphs bounds how many graphs are kept; beyond it they are forgotten all at once and read again.
const maxGraphs = 256

// graphs reads and keeps the graphs of stored versions, which never change.
type graphs struct {
	store *store.Store
	mu    sync.Mutex
	known map[int64]*dag.Graph
}

func newGraphs(s *store.Store) *graphs { return &graphs{store: s, known: map[int64]*dag.Graph{}} }

// of returns the graph of a version.
func (g *graphs) of(ctx context.Context, version int64) (*dag.Graph, error) {
	g.mu.Lock()
	known := g.known[version]
	g.mu.Unlock()
	if known != nil {
		return known, nil
	}
	source, err := g.store.VersionSource(ctx, version)
	if err != nil {
		return nil, fmt.Errorf("read graph: %w", err)
	}
	made, err := dag.Rebuild(source.Definition)
	if err != nil {
		return nil, fmt.Errorf("read graph of version %d: %w", version, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= maxGraphs {
		clear(g.known)
	}
	g.known[version] = made
	return made, nil
}

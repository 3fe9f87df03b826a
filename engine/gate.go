package engine

import (
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// gate counts the active runs of limited workflows, key by key, while their rows are locked.
type gate struct {
	limits map[int64]store.Limit
	loads  map[gateKey]*store.Load
}

type gateKey struct {
	workflow int64
	key      string
}

func newGate(limits []store.Limit, loads []store.Load) *gate {
	g := &gate{limits: make(map[int64]store.Limit), loads: make(map[gateKey]*store.Load)}
	for _, l := range limits {
		g.limits[l.Workflow] = l
	}
	for i := range loads {
		g.loads[gateKey{loads[i].Workflow, loads[i].Key}] = &loads[i]
	}
	return g
}

// admit counts one more run and says how it begins: Running, Queued, or Skipped when too many wait
// already. A workflow that has no limit any more admits everything.
func (g *gate) admit(workflow int64, key string) progress.State {
	limit, ok := g.limits[workflow]
	if !ok {
		return progress.Running
	}
	load := g.loads[gateKey{workflow, key}]
	if load == nil {
		load = &store.Load{}
		g.loads[gateKey{workflow, key}] = load
	}
	switch {
	case load.Running < limit.MaxRuns && load.Queued == 0:
		load.Running++
		return progress.Running
	case load.Queued < limit.MaxQueued:
		load.Queued++
		return progress.Queued
	}
	return progress.Skipped
}

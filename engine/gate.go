package engine

import (
	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// gate counts the active runs of limited workflows, key by key, while their rows are locked.
type gate struct {
	limits map[int64]store.Limit
	loads  map[gateKey]*load
	// pressed are the keys whose queue may have become longer than its room, in the order of their first run.
	pressed []gateKey
}

type gateKey struct {
	workflow int64
	key      string
}

// load is what there is of a key: runs that were there before, and those of this launch that are to wait.
type load struct {
	store.Load
	waiting []*prepared
}

func newGate(found store.Limits) *gate {
	g := &gate{limits: make(map[int64]store.Limit), loads: make(map[gateKey]*load)}
	for _, l := range found.Limits {
		g.limits[l.Workflow] = l
	}
	for _, l := range found.Loads {
		g.loads[gateKey{l.Workflow, l.Key}] = &load{Load: l}
	}
	return g
}

// admit counts one more run of a limited workflow and says how it begins: Running, Queued, or Skipped when too many wait already (S22).
func (g *gate) admit(r *prepared) progress.State {
	limit := g.limits[r.run.Workflow]
	at := gateKey{r.run.Workflow, r.run.Key}
	l := g.loads[at]
	if l == nil {
		l = &load{}
		g.loads[at] = l
	}
	switch {
	case l.Running < limit.MaxRuns && l.Ready == 0:
		l.Running++
		return progress.Running
	case r.yields, !newestWins(limit) && l.Queued >= room(limit):
		return progress.Skipped
	}
	l.Queued++
	l.Ready++
	l.waiting = append(l.waiting, r)
	if newestWins(limit) && len(l.waiting) == 1 {
		g.pressed = append(g.pressed, at)
	}
	return progress.Queued
}

// newestWins tells the policies under which the queue is never full: the newest run takes the place of an older one.
func newestWins(l store.Limit) bool {
	return l.Overflow == dag.OverflowQueueLatest || l.Overflow == dag.OverflowCancelRunning
}

// room is how many runs of one key may wait.
func room(l store.Limit) int {
	switch l.Overflow {
	case dag.OverflowQueueLatest:
		return 1
	case dag.OverflowCancelRunning:
		return l.MaxRuns // each of them gets the place of one that runs
	case dag.OverflowSkip:
		return 0
	}
	return l.MaxQueued
}

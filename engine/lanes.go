package engine

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/ax-run/ax/internal/store"
)

// liveLanes knows which pairs of queue and job kind are open: some live worker serves them and their queue is not paused. It may be a second
// behind: a node held in error is released by the next release, and a job queued in error is taken back
// when its worker is found to be gone.
type liveLanes struct {
	store *store.Store
	known atomic.Pointer[laneView]
}

// laneView is what was found at one look.
type laneView struct {
	store.Lanes
	open   map[store.Lane]bool
	paused map[string]bool
}

// refresh looks again, and reports whether some lane is gone, or new, since the last look.
func (l *liveLanes) refresh(ctx context.Context) (gone, fresh bool, err error) {
	lanes, err := l.store.LiveLanes(ctx)
	if err != nil {
		return false, false, fmt.Errorf("refresh live workers: %w", err)
	}
	now := &laneView{Lanes: lanes, open: make(map[store.Lane]bool, len(lanes.Open)), paused: make(map[string]bool, len(lanes.Paused))}
	for _, lane := range lanes.Open {
		now.open[lane] = true
	}
	for _, queue := range lanes.Paused {
		now.paused[queue] = true
	}
	before := l.known.Swap(now)
	if before == nil {
		return true, true, nil
	}
	return lacks(now.open, before.open), lacks(before.open, now.open), nil
}

// lacks reports whether something of all is not among some.
func lacks(some, all map[store.Lane]bool) bool {
	for lane := range all {
		if !some[lane] {
			return true
		}
	}
	return false
}

// now is what was found at the last look.
func (l *liveLanes) now() *laneView {
	if known := l.known.Load(); known != nil {
		return known
	}
	return &laneView{}
}

// mode is how a node that may run at once is begun.
func (l *liveLanes) mode(p store.Place) store.Mode {
	switch known := l.now(); {
	case known.paused[p.Queue]:
		return store.ModeQueue
	case known.open[store.Lane{Queue: p.Queue, Kind: p.Kind}]:
		return store.ModeJob
	}
	return store.ModeWorker
}

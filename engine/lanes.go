package engine

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/ax-run/ax/internal/store"
)

// liveLanes knows which pairs of queue and job kind some live worker serves. It may be a second
// behind: a node held in error is released by the next release, and a job queued in error is taken back
// when its worker is found to be gone.
type liveLanes struct {
	store *store.Store
	known atomic.Pointer[map[store.Lane]bool]
}

// refresh reads the live workers and reports whether some lane is gone since the last look.
func (l *liveLanes) refresh(ctx context.Context) (lanes []store.Lane, gone bool, err error) {
	lanes, err = l.store.LiveLanes(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("refresh live workers: %w", err)
	}
	now := make(map[store.Lane]bool, len(lanes))
	for _, lane := range lanes {
		now[lane] = true
	}
	before := l.known.Swap(&now)
	if before == nil {
		return lanes, true, nil
	}
	for lane := range *before {
		gone = gone || !now[lane]
	}
	return lanes, gone, nil
}

// list is what was live at the last look.
func (l *liveLanes) list() []store.Lane {
	known := l.known.Load()
	if known == nil {
		return nil
	}
	lanes := make([]store.Lane, 0, len(*known))
	for lane := range *known {
		lanes = append(lanes, lane)
	}
	return lanes
}

// mode is how a node that may run at once is begun.
func (l *liveLanes) mode(p store.Place) store.Mode {
	if known := l.known.Load(); known != nil && (*known)[store.Lane{Queue: p.Queue, Kind: p.Kind}] {
		return store.ModeJob
	}
	return store.ModeWorker
}

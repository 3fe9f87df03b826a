package planner

import (
	"context"
	"time"

	"github.com/ax-run/ax/internal/store"
)

const (
	// keep is how long what is over is kept of a workflow whose retention does not say.
	keep = 90 * 24 * time.Hour
	// pruneOwners and pruneRows bound a step.
	pruneOwners, pruneRows = 500, 2000
	// pruneRest is between two steps, so that others come first; pruneEvery between two rounds, and where another process prunes.
	pruneRest  = 50 * time.Millisecond
	pruneEvery = 10 * time.Minute
)

// prunables are what a round goes through, in this order.
var prunables = []store.Prunable{store.PruneFires, store.PruneDelayed, store.PruneSets, store.PruneWatched, store.PruneBackfills}

// pruning is how far a round of pruning is. It is only a hint of where to go on: whoever begins anew does nothing wrong.
type pruning struct {
	what  int
	after int64
}

// prune makes one step of removing what grows with time and is over (S9): rows of the ledger, delayed runs, upstream sets, backfills.
func (p *Planner) prune(ctx context.Context) (time.Duration, error) {
	at := &p.pruning
	got, err := p.store.Prune(ctx, store.PruneStep{What: prunables[at.what], After: at.after, Owners: pruneOwners, Rows: pruneRows, Keep: keep})
	switch {
	case err != nil:
		return 0, err
	case got.Busy:
		*at = pruning{}
		return pruneEvery, nil
	case got.Gone > 0: // there may be more of the same
		return pruneRest, nil
	case got.Last > 0:
		at.after = got.Last
		return pruneRest, nil
	}
	at.what, at.after = at.what+1, 0
	if at.what < len(prunables) {
		return pruneRest, nil
	}
	*at = pruning{}
	return pruneEvery, nil
}

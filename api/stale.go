package api

import (
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
)

// ancestor is a node that was begun anew, and when; the zero value is none.
type ancestor struct {
	node string
	at   time.Time
}

// newestAbove tells of each node, by position, which of those before it was begun anew last.
func newestAbove(g *dag.Graph, begun map[string]time.Time) []ancestor {
	above := make([]ancestor, g.Len())
	if len(begun) == 0 {
		return above
	}
	for i := range above { // in topological order
		for _, p := range g.At(i).Parents {
			own := ancestor{g.At(p).Name, begun[g.At(p).Name]}
			for _, a := range []ancestor{own, above[p]} {
				if a.at.After(above[i].at) {
					above[i] = a
				}
			}
		}
	}
	return above
}

// stale reports whether a node did its work, or does it, with what was there before a node above it was begun anew (S29). What has its
// state because of others is decided again by that, and never stale.
func (f *nodeFacts) stale() bool {
	at := f.worked()
	return at != nil && f.above.at.After(*at)
}

// worked is when a node took up what its newest generation made or makes: the start of its last attempt, of a split node that of its first
// shard, and when a branch chose. Nil is one that did no work.
func (f *nodeFacts) worked() (first *time.Time) {
	if len(f.splits) > 0 {
		for _, s := range f.shardFacts() {
			if at := s.worked(); at != nil && (first == nil || at.Before(*first)) {
				first = at
			}
		}
		return first
	}
	if f.live != nil {
		return f.live.StartedAt
	}
	if len(f.history) == 0 {
		return nil
	}
	switch last := f.history[len(f.history)-1]; {
	case last.State == progress.Canceled, last.Attempt.Number == 0:
		return nil
	case last.StartedAt == nil && last.Reason == string(progress.ReasonBranch):
		return &last.FinishedAt
	default:
		return last.StartedAt
	}
}

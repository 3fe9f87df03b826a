package reference

import (
	"slices"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
)

// Parents are the classes of a node's direct parents, one letter each: S, F, U, C, K as in S14, and P for one that
// has not ended.
type Parents string

// The words of the table of S14.
func (p Parents) all(classes string) bool  { return p.Count(classes) == len(p) }
func (p Parents) none(classes string) bool { return p.Count(classes) == 0 }
func (p Parents) some(classes string) bool { return p.Count(classes) > 0 }

// Count is how many of them are of some classes.
func (p Parents) Count(classes string) (n int) {
	for _, class := range p {
		if slices.Contains([]rune(classes), class) {
			n++
		}
	}
	return n
}

// Trigger is a row of the table of S14. A column that is nil stands for its dash.
type Trigger struct {
	runs, upstreamFailed, skipped func(Parents) bool
	early                         bool
}

// Triggers is the table.
var Triggers = map[dag.Rule]Trigger{
	dag.AllSuccess: {
		runs:           func(p Parents) bool { return p.all("S") },
		upstreamFailed: func(p Parents) bool { return p.some("FUC") },
		skipped:        func(p Parents) bool { return p.some("K") },
	},
	dag.AllFailed: {
		runs:    func(p Parents) bool { return p.all("FUC") },
		skipped: func(p Parents) bool { return p.some("SK") },
	},
	dag.AllDone: {
		runs: func(p Parents) bool { return p.all("SFUCK") },
	},
	dag.OneSuccess: {
		early:          true,
		runs:           func(p Parents) bool { return p.some("S") },
		upstreamFailed: func(p Parents) bool { return p.none("S") && p.some("FUC") },
		skipped:        func(p Parents) bool { return p.all("K") },
	},
	dag.OneFailed: {
		early:   true,
		runs:    func(p Parents) bool { return p.some("FUC") },
		skipped: func(p Parents) bool { return p.none("FUC") },
	},
	dag.OneDone: {
		early:          true,
		runs:           func(p Parents) bool { return p.some("SF") },
		upstreamFailed: func(p Parents) bool { return p.none("SF") && p.some("UC") },
		skipped:        func(p Parents) bool { return p.all("K") },
	},
	dag.NoneFailed: {
		runs:           func(p Parents) bool { return p.none("FUC") },
		upstreamFailed: func(p Parents) bool { return p.some("FUC") },
	},
	dag.NoneFailedMinOneSuccess: {
		runs:           func(p Parents) bool { return p.none("FUC") && p.some("S") },
		upstreamFailed: func(p Parents) bool { return p.some("FUC") },
		skipped:        func(p Parents) bool { return p.all("K") },
	},
	dag.NoneSkipped: {
		runs:    func(p Parents) bool { return p.none("K") },
		skipped: func(p Parents) bool { return p.some("K") },
	},
	dag.Always: {
		early: true,
		runs:  func(Parents) bool { return true },
	},
}

// Decide reads the table of S14.
func (r Trigger) Decide(p Parents) progress.State {
	ended := p.none("P")
	switch {
	case (r.early || ended) && r.runs(p):
		return progress.Queued
	case !ended:
		return progress.Pending
	case r.upstreamFailed != nil && r.upstreamFailed(p):
		return progress.UpstreamFailed
	case r.skipped != nil && r.skipped(p):
		return progress.Skipped
	}
	return "the table has a hole"
}

// early are the rules that may start a node before all of its parents have ended.
func early(r dag.Rule) bool { return Triggers[r].early }

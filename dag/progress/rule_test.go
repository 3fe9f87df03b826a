package progress_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
)

// parents are the classes of a node's direct parents, one letter each: S, F, U, C, K as in S14, and P for one that
// has not ended.
type parents string

// The words of the table of S14.
func (p parents) all(classes string) bool  { return p.count(classes) == len(p) }
func (p parents) none(classes string) bool { return p.count(classes) == 0 }
func (p parents) some(classes string) bool { return p.count(classes) > 0 }

func (p parents) count(classes string) (n int) {
	for _, class := range p {
		if slices.Contains([]rune(classes), class) {
			n++
		}
	}
	return n
}

// trigger is a row of the table of S14. A column that is nil stands for its dash.
type trigger struct {
	runs, upstreamFailed, skipped func(parents) bool
	early                         bool
}

var triggers = map[dag.Rule]trigger{
	dag.AllSuccess: {
		runs:           func(p parents) bool { return p.all("S") },
		upstreamFailed: func(p parents) bool { return p.some("FUC") },
		skipped:        func(p parents) bool { return p.some("K") },
	},
	dag.AllFailed: {
		runs:    func(p parents) bool { return p.all("FUC") },
		skipped: func(p parents) bool { return p.some("SK") },
	},
	dag.AllDone: {
		runs: func(p parents) bool { return p.all("SFUCK") },
	},
	dag.OneSuccess: {
		early:          true,
		runs:           func(p parents) bool { return p.some("S") },
		upstreamFailed: func(p parents) bool { return p.none("S") && p.some("FUC") },
		skipped:        func(p parents) bool { return p.all("K") },
	},
	dag.OneFailed: {
		early:   true,
		runs:    func(p parents) bool { return p.some("FUC") },
		skipped: func(p parents) bool { return p.none("FUC") },
	},
	dag.OneDone: {
		early:          true,
		runs:           func(p parents) bool { return p.some("SF") },
		upstreamFailed: func(p parents) bool { return p.none("SF") && p.some("UC") },
		skipped:        func(p parents) bool { return p.all("K") },
	},
	dag.NoneFailed: {
		runs:           func(p parents) bool { return p.none("FUC") },
		upstreamFailed: func(p parents) bool { return p.some("FUC") },
	},
	dag.NoneFailedMinOneSuccess: {
		runs:           func(p parents) bool { return p.none("FUC") && p.some("S") },
		upstreamFailed: func(p parents) bool { return p.some("FUC") },
		skipped:        func(p parents) bool { return p.all("K") },
	},
	dag.NoneSkipped: {
		runs:    func(p parents) bool { return p.none("K") },
		skipped: func(p parents) bool { return p.some("K") },
	},
	dag.Always: {
		early: true,
		runs:  func(parents) bool { return true },
	},
}

// decide reads the table of S14.
func (r trigger) decide(p parents) progress.State {
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

// families are all the ways in which up to n parents can be, order aside.
func families(n int) []parents {
	all := []parents{""}
	for from := 0; n > 0; n-- {
		grown := all[from:]
		from = len(all)
		for _, p := range grown {
			for _, class := range "SFUCKP" {
				if p == "" || class >= rune(p[len(p)-1]) {
					all = append(all, p+parents(class))
				}
			}
		}
	}
	return all
}

func (p parents) tally() progress.Tally {
	return progress.Tally{S: p.count("S"), F: p.count("F"), U: p.count("U"), C: p.count("C"), K: p.count("K"), Total: len(p)}
}

func TestDecideFollowsTheTable(t *testing.T) {
	all := families(4)
	require.Len(t, all, 1+6+21+56+126, "multisets of six classes")
	require.Len(t, triggers, 10)
	for rule, row := range triggers {
		for _, p := range all {
			require.Equal(t, row.decide(p), progress.Decide(rule, p.tally()), "%s over %q", rule, p)
		}
	}
}

func TestDecisionsAreFinal(t *testing.T) {
	all := families(3)
	for rule := range triggers {
		for _, p := range all {
			if progress.Decide(rule, p.tally()) == progress.Pending {
				continue
			}
			for _, later := range p.futures() {
				require.Equal(t, progress.Decide(rule, p.tally()), progress.Decide(rule, later.tally()), "%s over %q, then %q", rule, p, later)
			}
		}
	}
}

// futures are all that the parents can be later on: any of those that have not ended may end in any way.
func (p parents) futures() []parents {
	for i, class := range p {
		if class != 'P' {
			continue
		}
		var all []parents
		for _, end := range "SFUCK" {
			all = append(all, (p[:i] + parents(end) + p[i+1:]).futures()...)
		}
		return append(all, p)
	}
	return []parents{p}
}

func TestNeedCountsSuccesses(t *testing.T) {
	for rule, row := range triggers {
		for total := 1; total <= 4; total++ {
			t.Run(fmt.Sprintf("%s of %d", rule, total), func(t *testing.T) {
				want := 0
				for n := total; n > 0; n-- {
					if row.decide(successes(n, total)) == progress.Queued {
						want = n
					}
				}
				require.Equal(t, want, progress.Need(rule, total))
			})
		}
	}
}

// successes are n parents that succeeded and others that have not ended.
func successes(n, total int) (p parents) {
	for i := range total {
		if i < n {
			p += "S"
		} else {
			p += "P"
		}
	}
	return p
}

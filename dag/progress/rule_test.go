package progress_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/reference"
)

// families are all the ways in which up to n parents can be, order aside.
func families(n int) []reference.Parents {
	all := []reference.Parents{""}
	for from := 0; n > 0; n-- {
		grown := all[from:]
		from = len(all)
		for _, p := range grown {
			for _, class := range "SFUCKP" {
				if p == "" || class >= rune(p[len(p)-1]) {
					all = append(all, p+reference.Parents(class))
				}
			}
		}
	}
	return all
}

func tally(p reference.Parents) progress.Tally {
	return progress.Tally{S: p.Count("S"), F: p.Count("F"), U: p.Count("U"), C: p.Count("C"), K: p.Count("K"), Total: len(p)}
}

func TestDecideFollowsTheTable(t *testing.T) {
	all := families(4)
	require.Len(t, all, 1+6+21+56+126, "multisets of six classes")
	require.Len(t, reference.Triggers, 10)
	for rule, row := range reference.Triggers {
		for _, p := range all {
			require.Equal(t, row.Decide(p), progress.Decide(rule, tally(p)), "%s over %q", rule, p)
		}
	}
}

func TestDecisionsAreFinal(t *testing.T) {
	all := families(3)
	for rule := range reference.Triggers {
		for _, p := range all {
			if progress.Decide(rule, tally(p)) == progress.Pending {
				continue
			}
			for _, later := range futures(p) {
				require.Equal(t, progress.Decide(rule, tally(p)), progress.Decide(rule, tally(later)), "%s over %q, then %q", rule, p, later)
			}
		}
	}
}

// futures are all that the parents can be later on: any of those that have not ended may end in any way.
func futures(p reference.Parents) []reference.Parents {
	for i, class := range p {
		if class != 'P' {
			continue
		}
		var all []reference.Parents
		for _, end := range "SFUCK" {
			all = append(all, futures(p[:i]+reference.Parents(end)+p[i+1:])...)
		}
		return append(all, p)
	}
	return []reference.Parents{p}
}

func TestNeedCountsSuccesses(t *testing.T) {
	for rule, row := range reference.Triggers {
		for total := 1; total <= 4; total++ {
			t.Run(fmt.Sprintf("%s of %d", rule, total), func(t *testing.T) {
				want := 0
				for n := total; n > 0; n-- {
					if row.Decide(successes(n, total)) == progress.Queued {
						want = n
					}
				}
				require.Equal(t, want, progress.Need(rule, total))
			})
		}
	}
}

// successes are n parents that succeeded and others that have not ended.
func successes(n, total int) (p reference.Parents) {
	for i := range total {
		if i < n {
			p += "S"
		} else {
			p += "P"
		}
	}
	return p
}

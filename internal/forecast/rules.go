package forecast

import (
	"slices"

	"github.com/ax-run/ax/dag"
)

// needs are the nodes that a node waits for. What runs whatever comes waits for all others; a rule that may be decided early is taken to be
// decided by the last parent (S14).
func needs(g *dag.Graph, node int) []int {
	v := g.At(node)
	switch {
	case v.Node.Finally:
		return slices.Compact(slices.Sorted(slices.Values(append(g.Ends(), v.Parents...))))
	case v.Node.TriggerRule == dag.Always:
		return nil
	}
	return slices.Clone(v.Parents)
}

// whenAllGoesWell says which nodes run when nothing fails and every condition holds: not those that wait for a failure, nor what follows only
// from them.
func whenAllGoesWell(g *dag.Graph) []bool {
	runs := make([]bool, g.Len())
	for i := range runs {
		v := g.At(i)
		ran := 0
		for _, p := range v.Parents {
			if runs[p] {
				ran++
			}
		}
		runs[i] = len(v.Parents) == 0 || v.Node.Finally || follows(v.Node.TriggerRule, ran, len(v.Parents))
	}
	return runs
}

// follows says whether a rule lets a node run after parents of which some ran, and succeeded, and the others were skipped.
func follows(rule dag.Rule, ran, parents int) bool {
	switch rule {
	case dag.AllFailed, dag.OneFailed:
		return false
	case dag.OneSuccess, dag.OneDone, dag.NoneFailedMinOneSuccess:
		return ran > 0
	case dag.AllDone, dag.NoneFailed, dag.Always:
		return true
	}
	return ran == parents
}

package progress_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/reference"
)

// TestArrivalsAgreeWithAdvance takes runs of random graphs through every order in which their nodes can succeed,
// two at once included, once by counting and once by Advance.
func TestArrivalsAgreeWithAdvance(t *testing.T) {
	options := reference.Options{Definition: random, MaxNodes: 8, Rules: append(successRules(), reference.AllRules...), Policies: rapid.Just(reference.Policy{OnFailure: dag.AbortChain, Repeatable: true, MaxAttempts: 1})}
	rapid.Check(t, func(t *rapid.T) {
		s := reference.Draw(t, options)
		c := &counted{T: t, Shape: s, arrivals: progress.NewArrivals(s.Graph), seen: map[string]bool{}}
		snap := progress.Fresh(s.Graph, time.Time{}, 1)
		require.Equal(t, progress.Roots(s.Graph), started(progress.Advance(s.Graph, &snap, nil)))
		c.explore(snap, map[int]int{})
	})
}

// successRules are drawn more often, so that most runs stay on the fast path.
func successRules() []dag.Rule {
	return []dag.Rule{dag.AllSuccess, dag.AllSuccess, dag.AllSuccess, dag.OneSuccess, dag.OneDone, dag.NoneFailed, dag.AllDone, dag.Always}
}

// counted explores the orders of one shape.
type counted struct {
	*rapid.T
	reference.Shape
	arrivals *progress.Arrivals
	// seen are the sets of succeeded nodes that were explored: what follows does not depend on the order that led there.
	seen map[string]bool
}

// explore lets every one and every pair of the running nodes succeed next.
func (c *counted) explore(snap progress.Snapshot, counts map[int]int) {
	var running []int
	key := make([]byte, len(snap.Nodes))
	for i, n := range snap.Nodes {
		key[i] = '0'
		if n.State == progress.Succeeded {
			key[i] = '1'
		}
		if n.State == progress.Queued && !c.Nodes[i].Finally {
			running = append(running, i)
		}
	}
	if c.seen[string(key)] {
		return
	}
	c.seen[string(key)] = true
	for i, a := range running {
		c.succeed(*fork(c.Shape, &snap), maps.Clone(counts), a)
		for _, b := range running[i+1:] {
			c.succeed(*fork(c.Shape, &snap), maps.Clone(counts), a, b)
		}
	}
}

// succeed ends some nodes in one batch, compares what follows, and goes on from there. Where a successor is decided by more than a count
// of successes, the fast path leaves the run for good.
func (c *counted) succeed(snap progress.Snapshot, counts map[int]int, nodes ...int) {
	var events []progress.Event
	for _, i := range nodes {
		if _, plain := c.arrivals.Of(i); !plain {
			return
		}
		snap.Nodes[i].State = progress.Running
		events = append(events, progress.Event{Result: &progress.Result{Shard: progress.Whole, Node: i}})
	}
	steps := progress.Advance(c.Graph, &snap, events)
	begun, ended := c.count(counts, nodes)
	settled := slices.ContainsFunc(steps, func(s progress.Step) bool { return s.Run != nil })
	if c.arrivals.Settles {
		settled = slices.ContainsFunc(steps, func(s progress.Step) bool { return s.Start != nil && s.Start.Reason == progress.ReasonFinally })
	}
	require.Equal(c, settled, ended, "the ordinary part ends at the same moment, after %v", nodes)
	if !ended {
		require.Equal(c, started(steps), begun, "the same nodes start, after %v", nodes)
		c.explore(snap, counts)
		return
	}
	require.Empty(c, begun)
	for i, n := range snap.Nodes {
		require.True(c, n.State == progress.Succeeded || c.Nodes[i].Finally)
	}
}

// count adds successes to their targets, as the fast path's statement does, and says what has all its arrivals now.
func (c *counted) count(counts map[int]int, nodes []int) (begun []int, ended bool) {
	need, delta := map[int]int{}, map[int]int{}
	for _, i := range nodes {
		targets, _ := c.arrivals.Of(i)
		for _, t := range targets {
			need[t.Node] = t.Need
			delta[t.Node]++
		}
	}
	for node, d := range delta {
		before := counts[node]
		counts[node] += d
		switch {
		case before >= need[node] || counts[node] < need[node]:
		case node == progress.EndOfRun:
			ended = true
		default:
			begun = append(begun, node)
		}
	}
	slices.Sort(begun)
	return begun, ended
}

// started are the nodes that steps start, in order.
func started(steps []progress.Step) (nodes []int) {
	for _, s := range steps {
		if s.Start != nil {
			nodes = append(nodes, s.Start.Node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

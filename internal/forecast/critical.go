package forecast

import (
	"slices"
	"time"

	"gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"
)

// Critical is the longest way through a workflow: the nodes that decide how long a run takes that waits for nothing, and how long that is.
func Critical(nodes []Node) (way []int, takes time.Duration) {
	if len(nodes) == 0 {
		return nil, 0
	}
	// The shortest path over negated durations, which has no cycle to go round. It begins and ends at nodes of its own.
	first, last := int64(len(nodes)), int64(len(nodes)+1)
	g := simple.NewWeightedDirectedGraph(0, 0)
	edge := func(from, to int64, takes time.Duration) {
		g.SetWeightedEdge(simple.WeightedEdge{F: simple.Node(from), T: simple.Node(to), W: -float64(takes)})
	}
	for i, n := range nodes {
		if len(n.Needs) == 0 {
			edge(first, int64(i), 0)
		}
		for _, parent := range n.Needs {
			edge(int64(parent), int64(i), nodes[parent].Typical)
		}
		edge(int64(i), last, n.Typical)
	}
	found, _ := path.BellmanFordFrom(simple.Node(first), g)
	steps, length := found.To(last)
	for _, s := range steps {
		way = append(way, int(s.ID()))
	}
	way = slices.DeleteFunc(way, func(i int) bool { return i >= len(nodes) })
	return way, time.Duration(-length)
}

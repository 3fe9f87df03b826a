package dag

import (
	"cmp"
	"errors"
	"slices"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// order sorts the nodes topologically, names breaking ties, finally nodes last. Where that is
// impossible it returns the knots: the strongly connected components that hold cycles.
func (e edges) order(finally func(int) bool) (order []int, knots [][]int) {
	g := simple.NewDirectedGraph()
	for i := range e.parents {
		g.AddNode(simple.Node(i))
	}
	for i, parents := range e.parents {
		for _, p := range parents {
			g.SetEdge(simple.Edge{F: simple.Node(p), T: simple.Node(i)})
		}
	}
	sorted, err := topo.SortStabilized(g, byID)
	var knotted topo.Unorderable
	if errors.As(err, &knotted) {
		for _, knot := range knotted {
			knots = append(knots, positions(knot))
		}
		return nil, knots
	}
	order = positions(sorted)
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case finally(a) == finally(b):
			return 0
		case finally(a):
			return 1
		}
		return -1
	})
	return order, nil
}

func byID(nodes []graph.Node) {
	slices.SortFunc(nodes, func(a, b graph.Node) int { return cmp.Compare(a.ID(), b.ID()) })
}

func positions(nodes []graph.Node) []int {
	out := make([]int, len(nodes))
	for i, n := range nodes {
		out[i] = int(n.ID())
	}
	return out
}

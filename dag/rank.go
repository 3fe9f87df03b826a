package dag

import "slices"

// rank orders the vertices within each level so that few edges cross: starting from the topological
// order, each vertex moves to the mean place of its parents, then of its children, in turns
// (the barycenter method). A few turns are nearly as good as many.
func (g *Graph) rank() {
	levels := g.levels()
	const turns = 2
	for range turns {
		for _, level := range levels {
			g.settle(level, func(v *Vertex) []int { return v.Parents })
		}
		for _, level := range slices.Backward(levels) {
			g.settle(level, func(v *Vertex) []int { return v.Children })
		}
	}
}

// levels lists the vertices of each level and gives them their first ranks.
func (g *Graph) levels() [][]int {
	var levels [][]int
	for i := range g.verts {
		v := &g.verts[i]
		for v.Level >= len(levels) {
			levels = append(levels, nil)
		}
		v.Rank = len(levels[v.Level])
		levels[v.Level] = append(levels[v.Level], i)
	}
	return levels
}

// settle sorts one level by the mean rank of each vertex's neighbours on one side; a vertex without any stays put.
func (g *Graph) settle(level []int, side func(*Vertex) []int) {
	mean := make(map[int]float64, len(level))
	for _, i := range level {
		neighbours := side(&g.verts[i])
		sum := float64(g.verts[i].Rank)
		if len(neighbours) > 0 {
			sum = 0
			for _, n := range neighbours {
				sum += float64(g.verts[n].Rank)
			}
			sum /= float64(len(neighbours))
		}
		mean[i] = sum
	}
	slices.SortStableFunc(level, func(a, b int) int {
		switch {
		case mean[a] < mean[b]:
			return -1
		case mean[a] > mean[b]:
			return 1
		}
		return 0
	})
	for rank, i := range level {
		g.verts[i].Rank = rank
	}
}

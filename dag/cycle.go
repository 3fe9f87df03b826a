package dag

import (
	"fmt"
	"slices"
	"strings"
)

// maxSteps bounds the search for shortest cycles over all knots of one definition. Only graphs made
// to resist the search reach it; they get a short cycle, though perhaps not a shortest one.
const maxSteps = 20_000_000

// cycles notes one shortest cycle of every knot.
func (c *checker) cycles(e edges, knots [][]int) {
	s := newCycleSearch(e)
	for _, knot := range knots {
		cycle := s.shortest(knot)
		first := slices.Index(cycle, slices.Min(cycle))
		cycle = slices.Concat(cycle[first:], cycle[:first+1])
		last, start := c.names[cycle[len(cycle)-2]], c.names[cycle[0]]
		k := slices.Index(c.def.Nodes[start].Needs, last)
		c.add(c.needs(start, k), CodeCycle, "these nodes wait for each other: %s", c.path(cycle)).
			hint("remove one of these edges").value(last)
	}
}

// path writes a cycle for people, the middle of a very long one left out.
func (c *checker) path(cycle []int) string {
	const ends = 25
	names := make([]string, 0, 2*ends+1)
	for i, v := range cycle {
		switch left := len(cycle) - i; {
		case i < ends || left <= ends+1:
			names = append(names, clip(c.names[v]))
		case i == ends:
			names = append(names, fmt.Sprintf("… %d more …", len(cycle)-1-2*ends))
		}
	}
	return strings.Join(names, " → ")
}

// cycleSearch finds shortest cycles by breadth-first search from one node after another. A node
// searched from is then taken out, with everything that is on no cycle without it: all cycles through it
// are known. In real graphs little is left after a few rounds.
type cycleSearch struct {
	e     edges
	steps int
	// in is the part of the knot that is left; inward and outward count each node's edges within it.
	in              []bool
	inward, outward []int
	// queue, from and searched are those of the search at hand: a node was reached if its searched is the search's number.
	queue          []int
	from, searched []int
	search         int
}

func newCycleSearch(e edges) *cycleSearch {
	n := len(e.parents)
	return &cycleSearch{
		e: e, steps: maxSteps, in: make([]bool, n), inward: make([]int, n), outward: make([]int, n),
		from: make([]int, n), searched: make([]int, n),
	}
}

// shortest returns a shortest cycle of a strongly connected component in the order of its edges.
func (s *cycleSearch) shortest(knot []int) []int {
	s.enter(knot)
	var best []int
	for _, v := range s.breadthFirst(knot) {
		if !s.in[v] {
			continue
		}
		if cycle := s.through(v, len(best)); cycle != nil {
			best = cycle
		}
		s.remove(v)
		if len(best) == 2 || s.steps <= 0 {
			break
		}
	}
	for _, v := range knot {
		s.in[v] = false
	}
	return best
}

func (s *cycleSearch) enter(knot []int) {
	for _, v := range knot {
		s.in[v] = true
	}
	for _, v := range knot {
		for _, child := range s.e.children[v] {
			if s.in[child] {
				s.inward[child]++
				s.outward[v]++
			}
		}
	}
}

// breadthFirst orders a knot so that neighbours are searched one after another, which takes whole
// regions out early.
func (s *cycleSearch) breadthFirst(knot []int) []int {
	s.begin(slices.Min(knot))
	for i := 0; i < len(s.queue); i++ {
		for _, child := range s.e.children[s.queue[i]] {
			s.reach(child, s.queue[i])
		}
	}
	return slices.Clone(s.queue)
}

// begin starts a search from v.
func (s *cycleSearch) begin(v int) {
	s.search++
	s.queue, s.from[v], s.searched[v] = append(s.queue[:0], v), v, s.search
}

// reach notes that the search got to v, if v counts and it is for the first time.
func (s *cycleSearch) reach(v, from int) {
	if s.in[v] && s.searched[v] != s.search {
		s.from[v], s.searched[v] = from, s.search
		s.queue = append(s.queue, v)
	}
}

// through returns a shortest cycle through v, or nil if there is none shorter than the limit (0 is no limit).
func (s *cycleSearch) through(v, limit int) []int {
	s.begin(v)
	depth, levelEnd := 1, 1
	for i := 0; i < len(s.queue); i++ {
		if i == levelEnd {
			depth, levelEnd = depth+1, len(s.queue)
		}
		if limit > 0 && depth >= limit {
			return nil
		}
		u := s.queue[i]
		for _, child := range s.e.children[u] {
			s.steps--
			if child == v {
				return s.path(u)
			}
			s.reach(child, u)
		}
		if limit > 0 && s.steps <= 0 {
			return nil
		}
	}
	return nil
}

// path walks back to where the search began.
func (s *cycleSearch) path(u int) []int {
	path := []int{u}
	for s.from[u] != u {
		u = s.from[u]
		path = append(path, u)
	}
	slices.Reverse(path)
	return path
}

// remove takes a node out, and then every node that no cycle can pass any more.
func (s *cycleSearch) remove(v int) {
	gone := []int{v}
	for len(gone) > 0 {
		v = gone[len(gone)-1]
		gone = gone[:len(gone)-1]
		if !s.in[v] {
			continue
		}
		s.in[v] = false
		for _, child := range s.e.children[v] {
			gone = s.lose(s.inward, child, gone)
		}
		for _, parent := range s.e.parents[v] {
			gone = s.lose(s.outward, parent, gone)
		}
	}
}

// lose takes one edge off a node's count and appends the node to gone when it was the last.
func (s *cycleSearch) lose(count []int, v int, gone []int) []int {
	if !s.in[v] {
		return gone
	}
	if count[v]--; count[v] == 0 {
		gone = append(gone, v)
	}
	return gone
}

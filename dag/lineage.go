package dag

import "slices"

// lineage answers which nodes come before which. It looks no further than it must: most
// expressions read a direct parent.
type lineage struct {
	parents [][]int
	// seen holds for each node the number of the last search that reached it.
	seen   []int
	search int
	todo   []int
}

// descends reports whether v comes after ancestor.
func (l *lineage) descends(v, ancestor int) bool {
	l.search++
	l.todo = append(l.todo[:0], v)
	for len(l.todo) > 0 {
		last := len(l.todo) - 1
		v, l.todo = l.todo[last], l.todo[:last]
		if _, direct := slices.BinarySearch(l.parents[v], ancestor); direct {
			return true
		}
		for _, p := range l.parents[v] {
			if l.seen[p] != l.search {
				l.seen[p] = l.search
				l.todo = append(l.todo, p)
			}
		}
	}
	return false
}

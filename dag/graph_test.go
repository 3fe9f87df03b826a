package dag_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
)

// shape makes a definition from a map of needs; names that end in "!" are finally nodes.
func shape(needs map[string][]string) *dag.Definition {
	def := &dag.Definition{Meta: dag.Meta{Workflow: "w"}, Nodes: map[string]*dag.Node{}}
	for name, parents := range needs {
		plain, finally := strings.CutSuffix(name, "!")
		def.Nodes[plain] = &dag.Node{Work: dag.Work{Handler: "h"}, Flow: dag.Flow{Needs: parents, Finally: finally}}
	}
	return def
}

func build(t require.TestingT, def *dag.Definition) *dag.Graph {
	g, problems := dag.Build(def, dag.BuildOptions{})
	require.Empty(t, problems)
	return g
}

func names(g *dag.Graph, positions []int) []string {
	out := []string{}
	for _, i := range positions {
		out = append(out, g.At(i).Name)
	}
	return out
}

func TestGraph(t *testing.T) {
	g := build(t, shape(map[string][]string{
		"c": nil, "a": nil, "b": {"a"}, "d": {"b", "c"}, "e": {"a"}, "tidy!": {"d"}, "aa!": nil, "z!": {"aa"},
	}))
	order := []string{}
	for i := range g.Len() {
		order = append(order, g.At(i).Name)
	}
	require.Equal(t, []string{"a", "b", "c", "d", "e", "aa", "tidy", "z"}, order)
	require.Equal(t, 5, g.Ordinary())
	require.Equal(t, []string{"d", "e"}, names(g, g.Ends()))

	d, _ := g.Index("d")
	require.Equal(t, []string{"b", "c"}, names(g, g.At(d).Parents))
	require.Equal(t, []string{"tidy"}, names(g, g.At(d).Children))
	levels := map[string]int{}
	for i := range g.Len() {
		levels[g.At(i).Name] = g.At(i).Level
	}
	require.Equal(t, map[string]int{"a": 0, "c": 0, "b": 1, "e": 1, "d": 2, "aa": 3, "tidy": 3, "z": 4}, levels)
	_, ok := g.Index("nobody")
	require.False(t, ok)
}

// A node is an end unless some ordinary child waits for all its parents.
func TestEnds(t *testing.T) {
	def := shape(map[string][]string{"a": nil, "b": nil, "early": {"a"}, "late": {"b"}, "free": {"late"}})
	def.Nodes["early"].TriggerRule = dag.OneFailed
	def.Nodes["free"].TriggerRule = dag.Always
	g := build(t, def)
	require.ElementsMatch(t, []string{"a", "early", "late", "free"}, names(g, g.Ends()))
}

// Crossing edges are uncrossed: two chains side by side stay side by side.
func TestRanks(t *testing.T) {
	g := build(t, shape(map[string][]string{"a1": nil, "b1": nil, "y": {"a1"}, "x": {"b1"}, "a3": {"y"}, "b3": {"x"}}))
	rank := func(name string) int { i, _ := g.Index(name); return g.At(i).Rank }
	require.Equal(t, rank("a1") < rank("b1"), rank("y") < rank("x"))
	require.Equal(t, rank("y") < rank("x"), rank("a3") < rank("b3"))
}

// randomNeeds draws an acyclic graph: nodes may need those drawn before, under names in no order.
func randomNeeds(t *rapid.T) (map[string][]string, []string) {
	n := rapid.IntRange(2, 30).Draw(t, "nodes")
	needs, drawn := map[string][]string{}, []string{}
	for i := range n {
		name := fmt.Sprintf("n%d", (i*7919)%1009)
		needs[name] = nil
		for _, earlier := range drawn {
			if rapid.IntRange(0, 4).Draw(t, "edge") == 0 {
				needs[name] = append(needs[name], earlier)
			}
		}
		drawn = append(drawn, name)
	}
	return needs, drawn
}

func TestEveryAcyclicGraphBuilds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		needs, _ := randomNeeds(t)
		g := build(t, shape(needs))
		require.Equal(t, len(needs), g.Len())
		ranks := map[[2]int]bool{}
		for i := range g.Len() {
			v := g.At(i)
			require.Equal(t, len(needs[v.Name]), len(v.Parents))
			level := 0
			for _, p := range v.Parents {
				require.Less(t, p, i, "parents come first")
				require.Contains(t, g.At(p).Children, i)
				level = max(level, g.At(p).Level+1)
			}
			require.Equal(t, level, v.Level)
			require.False(t, ranks[[2]int{v.Level, v.Rank}], "ranks are unique in their level")
			ranks[[2]int{v.Level, v.Rank}] = true
		}
		again := build(t, shape(needs))
		for i := range g.Len() {
			require.Equal(t, g.At(i).Name, again.At(i).Name, "the order is always the same")
			require.Equal(t, g.At(i).Rank, again.At(i).Rank)
		}
	})
}

// Any added edges either leave the graph acyclic, or every reported cycle is real, and one as short as
// any through its nodes.
func TestEveryCycleIsNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		needs, drawn := randomNeeds(t)
		back := rapid.IntRange(1, 4).Draw(t, "back edges")
		for range back {
			a := rapid.IntRange(0, len(drawn)-2).Draw(t, "from")
			b := rapid.IntRange(a+1, len(drawn)-1).Draw(t, "to")
			if !slices.Contains(needs[drawn[a]], drawn[b]) {
				needs[drawn[a]] = append(needs[drawn[a]], drawn[b])
			}
		}
		want := shortestCycles(needs)
		_, problems := dag.Build(shape(needs), dag.BuildOptions{})
		require.Len(t, problems, len(want), "one for each knot")
		for _, p := range problems {
			require.Equal(t, dag.CodeCycle, p.Code)
			_, text, _ := strings.Cut(p.Message, ": ")
			cycle := strings.Split(text, " → ")
			require.Equal(t, cycle[0], cycle[len(cycle)-1])
			for i := 1; i < len(cycle); i++ {
				require.Contains(t, needs[cycle[i]], cycle[i-1], "an edge of %s", text)
			}
			require.Equal(t, want[knotOf(needs, cycle[0])], len(cycle)-1, text)
		}
	})
}

// reach lists what can be reached along needs, with the number of steps; the start itself only by a cycle.
func reach(needs map[string][]string, from string) map[string]int {
	steps, queue := map[string]int{}, []string{from}
	at := map[string]int{from: 0}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, p := range needs[v] {
			if _, seen := steps[p]; !seen {
				steps[p] = at[v] + 1
				at[p] = at[v] + 1
				queue = append(queue, p)
			}
		}
	}
	return steps
}

// knotOf names a node's strongly connected component by its least member.
func knotOf(needs map[string][]string, v string) string {
	least := v
	for other := range reach(needs, v) {
		if _, back := reach(needs, other)[v]; back {
			least = min(least, other)
		}
	}
	return least
}

func shortestCycles(needs map[string][]string) map[string]int {
	shortest := map[string]int{}
	for v := range needs {
		if n, cyclic := reach(needs, v)[v]; cyclic {
			knot := knotOf(needs, v)
			if was, ok := shortest[knot]; !ok || n < was {
				shortest[knot] = n
			}
		}
	}
	return shortest
}

// Graphs made to be slow: one ring of all nodes, a thick ring without short cycles, everything joined to
// everything, and many small knots.
func TestCyclesOfHostileGraphs(t *testing.T) {
	node := func(i int) string { return fmt.Sprintf("n%05d", i) }
	ring := func(n, thick int) map[string][]string {
		needs := map[string][]string{}
		for i := range n {
			for k := 1; k <= thick; k++ {
				needs[node(i)] = append(needs[node(i)], node((i+n-k)%n))
			}
		}
		return needs
	}
	knots := map[string][]string{}
	for i := 0; i < 900; i += 3 {
		knots[node(i)], knots[node(i+1)], knots[node(i+2)] = []string{node(i + 2)}, []string{node(i)}, []string{node(i + 1)}
	}
	for name, c := range map[string]struct {
		needs  map[string][]string
		cycles int
		says   string
	}{
		"ring":       {ring(3_000, 1), 1, "→ n00024 → … 2950 more … → n02975 →"},
		"thick ring": {ring(3_000, 5), 1, "→ … 550 more … →"},
		"complete":   {ring(120, 119), 1, ": n00000 → n00001 → n00000"},
		"many knots": {knots, 300, ": n00000 → n00001 → n00002 → n00000"},
	} {
		_, problems := dag.Build(shape(c.needs), dag.BuildOptions{})
		require.Len(t, problems, c.cycles, name)
		require.Contains(t, problems[0].Message, c.says, name)
	}
}

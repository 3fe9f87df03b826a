package dag

import (
	"slices"

	"github.com/ax-run/ax/internal/expr"
)

// Graph is a definition that was found sound: defaults resolved, nodes in topological
// order, ordinary nodes before finally nodes. It is immutable and safe to share between
// goroutines; processes cache it by version.
type Graph struct {
	def       *Definition
	verts     []Vertex
	index     map[string]int
	ordinary  int
	key       key
	output    *expr.Program
	canonical []byte
	digest    Digest
	zone      string
}

// Vertex is one node of a Graph with its edges, as positions in topological order.
type Vertex struct {
	Name string
	Node *Node
	// Parents and Children are sorted.
	Parents  []int
	Children []int
	// Level is the length of the longest path from a root, but finally nodes are below all others; Rank
	// orders the vertices of one level for drawing.
	Level, Rank int
	// Reads names the nodes whose outputs the vertex's expressions use, sorted.
	Reads []string
	Compiled
}

// Digest identifies a definition's content after all defaults except the zone (contract §1).
type Digest [32]byte

// Definition returns the definition with every default written out. It must not be changed.
func (g *Graph) Definition() *Definition { return g.def }

// Digest returns the content digest: the SHA-256 of Canonical.
func (g *Graph) Digest() Digest { return g.digest }

// Canonical returns the definition as the JSON that the digest is taken of: every default written out
// except the zone, keys sorted. It must not be changed.
func (g *Graph) Canonical() []byte { return g.canonical }

// DefaultZone returns the zone that was written into schedules which name none, or "" when there are
// none such. It is kept beside the definition, so that another default is no other version.
func (g *Graph) DefaultZone() string { return g.zone }

// Output returns the expression for what a parent run sees, or nil.
func (g *Graph) Output() *expr.Program { return g.output }

// Len is the number of nodes.
func (g *Graph) Len() int { return len(g.verts) }

// Ordinary is the number of nodes that are not finally; they come first in the order.
func (g *Graph) Ordinary() int { return g.ordinary }

// At returns the vertex at position i of the topological order. It must not be changed.
func (g *Graph) At(i int) *Vertex { return &g.verts[i] }

// Index returns the position of a node by name.
func (g *Graph) Index(name string) (int, bool) {
	i, ok := g.index[name]
	return i, ok
}

// Ends returns the ordinary nodes that no ordinary node waits for: sinks, and nodes all of whose children
// may start before all their parents are terminal. When all of Ends are terminal, so is every ordinary node
// that is not itself started early.
func (g *Graph) Ends() []int {
	var ends []int
	for i := range g.ordinary {
		if !slices.ContainsFunc(g.verts[i].Children, g.waits) {
			ends = append(ends, i)
		}
	}
	return ends
}

func (g *Graph) waits(child int) bool {
	n := g.verts[child].Node
	return !n.Finally && !n.TriggerRule.Early()
}

// Early reports whether a rule may start a node before all of its parents are terminal (S14).
func (r Rule) Early() bool {
	switch r {
	case OneSuccess, OneFailed, OneDone, Always:
		return true
	}
	return false
}

// layout is the shape of a graph: names, edges between positions in them, and the positions in topological order.
type layout struct {
	names []string
	edges
	order []int
}

// assemble makes the graph of a resolved definition.
func assemble(def *Definition, l layout, x expressions) *Graph {
	g := &Graph{def: def, verts: make([]Vertex, len(l.order)), index: make(map[string]int, len(l.order)), key: x.key, output: x.output}
	place := make([]int, len(l.order))
	for i, v := range l.order {
		place[v] = i
	}
	for i, v := range l.order {
		name := l.names[v]
		g.index[name] = i
		g.verts[i] = Vertex{
			Name: name, Node: def.Nodes[name], Reads: x.reads[v], Compiled: x.nodes[v],
			Parents: placed(l.parents[v], place), Children: placed(l.children[v], place),
		}
		if !g.verts[i].Node.Finally {
			g.ordinary++
		}
	}
	g.level()
	g.rank()
	return g
}

func placed(nodes, place []int) []int {
	out := make([]int, len(nodes))
	for i, v := range nodes {
		out[i] = place[v]
	}
	slices.Sort(out)
	return out
}

// level sets every vertex's Level.
func (g *Graph) level() {
	lowest := 0
	for i := range g.verts {
		v := &g.verts[i]
		if v.Node.Finally {
			v.Level = lowest + 1
		}
		for _, p := range v.Parents {
			v.Level = max(v.Level, g.verts[p].Level+1)
		}
		if !v.Node.Finally {
			lowest = max(lowest, v.Level)
		}
	}
}

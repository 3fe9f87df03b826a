package dag

// Graph is a definition that was found sound: defaults resolved, nodes in topological
// order. It is immutable and safe to share between goroutines; processes cache it by version.
type Graph struct {
	def    *Definition
	verts  []Vertex
	index  map[string]int
	digest Digest
}

// Vertex is one node of a Graph with its edges, as positions in topological order.
type Vertex struct {
	Name     string
	Node     *Node
	Parents  []int
	Children []int
	// Level is the length of the longest path from a root; Rank orders the vertices of one level for drawing.
	Level, Rank int
	// Reads names the nodes whose outputs the vertex's expressions use, sorted.
	Reads []string
}

// Digest identifies a definition's content after all defaults except the zone (contract §1).
type Digest [32]byte

// Definition returns the definition with every default written out. It must not be changed.
func (g *Graph) Definition() *Definition { return g.def }

// Digest returns the content digest.
func (g *Graph) Digest() Digest { return g.digest }

// Len is the number of nodes.
func (g *Graph) Len() int { return len(g.verts) }

// At returns the vertex at position i of the topological order. It must not be changed.
func (g *Graph) At(i int) *Vertex { return &g.verts[i] }

// Index returns the position of a node by name.
func (g *Graph) Index(name string) (int, bool) {
	i, ok := g.index[name]
	return i, ok
}

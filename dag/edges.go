package dag

import "slices"

// edges are the edges of a definition by position in its sorted names: known names only, each once.
type edges struct {
	parents, children [][]int
}

// edges reads and checks every node's needs.
func (c *checker) edges() edges {
	e := edges{make([][]int, len(c.names)), make([][]int, len(c.names))}
	for i, name := range c.names {
		n := c.def.Nodes[name]
		if n == nil {
			continue
		}
		seen := make(map[string]bool, len(n.Needs))
		for k, parent := range n.Needs {
			p, ok := c.index[parent]
			if seen[parent] {
				c.add(c.needs(name, k), CodeDuplicateName, "%q stands here twice", clip(parent)).hint("remove one").value(parent)
				continue
			}
			seen[parent] = true
			if c.edge(name, k, parent, ok) {
				e.parents[i] = append(e.parents[i], p)
				e.children[p] = append(e.children[p], i)
			}
		}
		slices.Sort(e.parents[i])
	}
	return e
}

// edge checks one entry of needs.
func (c *checker) edge(name string, k int, parent string, known bool) bool {
	switch {
	case !known:
		c.unknownNode(c.needs(name, k), parent)
		return false
	case parent == name:
		c.add(c.needs(name, k), CodeSelfDependency, "the node needs itself").hint("remove it from needs").value(parent)
		return false
	}
	if p := c.def.Nodes[parent]; p != nil && p.Finally && !c.def.Nodes[name].Finally {
		c.add(c.needs(name, k), CodeFinally, "an ordinary node cannot need %s, which is a finally node and starts after all ordinary ones", clip(parent)).
			hint("make this node finally too, or remove it from needs").value(parent)
		return false
	}
	return true
}

func (c *checker) needs(name string, k int) *place { return c.at(name).key("needs").at(k) }

// at is the place of a node.
func (c *checker) at(name string) *place {
	var root *place
	return root.under("nodes", name)
}

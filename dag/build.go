package dag

import (
	"slices"

	"github.com/ax-run/ax/internal/expr"
)

// BuildOptions is what Build knows beside the definition. The zero value is useful.
type BuildOptions struct {
	// DefaultTimezone is the zone of schedules that name none (S6); empty means DefaultTimezone.
	DefaultTimezone string
}

// Build checks a definition and returns its graph, or everything wrong with it. The graph is nil when
// Problems.Failed; otherwise the problems are warnings. The definition is not changed.
func Build(def *Definition, opt BuildOptions) (*Graph, Problems) {
	c := newChecker(def, opt)
	c.workflow()
	if !c.size() {
		return nil, c.problems()
	}
	for _, name := range c.names {
		c.node(c.at(name), name, def.Nodes[name])
	}
	e := c.edges()
	order, knots := e.order(c.finally)
	c.cycles(e, knots)
	c.branches(e, order)
	compiled := c.compileAll(e)
	if problems := c.problems(); problems.Failed() {
		return nil, problems
	}
	g := assemble(resolve(def), layout{names: c.names, edges: e, order: order}, compiled)
	if err := g.seal(or(opt.DefaultTimezone, DefaultTimezone)); err != nil {
		c.add(nil, CodeInvalidText, "the definition cannot be stored: %v", err)
		return nil, c.problems()
	}
	return g, c.problems()
}

// size refuses too few nodes and too many.
func (c *checker) size() bool {
	var root *place
	at := root.key("nodes")
	if n := len(c.names); n > MaxNodes {
		c.add(at, CodeTooManyNodes, "the workflow has %d nodes; at most %d are possible", n, MaxNodes).
			hint("split it into several workflows, or use shards")
		return false
	}
	ordinary := func(name string) bool { n := c.def.Nodes[name]; return n == nil || !n.Finally }
	switch {
	case len(c.names) == 0:
		c.add(at, CodeMissing, "the workflow has no nodes")
	case !slices.ContainsFunc(c.names, ordinary):
		c.add(at, CodeFinally, "every node is finally, so there is nothing for them to come after").
			hint("make at least one node ordinary")
	}
	return len(c.names) > 0
}

func (c *checker) finally(i int) bool {
	n := c.def.Nodes[c.names[i]]
	return n != nil && n.Finally
}

// expressions is everything compiled from one definition, by position in its sorted names.
type expressions struct {
	nodes  []Compiled
	reads  [][]string
	key    key
	output *expr.Program
}

func (c *checker) compileAll(e edges) expressions {
	out := expressions{nodes: make([]Compiled, len(c.names)), reads: make([][]string, len(c.names))}
	x := c.compiler(e.parents)
	for i, name := range c.names {
		if c.def.Nodes[name] != nil {
			out.nodes[i], out.reads[i] = x.compile(i)
		}
	}
	out.key, out.output = x.workflow()
	return out
}

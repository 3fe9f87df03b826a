package dag

import (
	"slices"
	"strconv"

	"github.com/ax-run/ax/internal/expr"
)

// Compiled is what a vertex's expressions became; what is nil has none.
type Compiled struct {
	// Inputs gives the node's inputs as a JSON object.
	Inputs *expr.Value
	// Work gives the templated fields of the node's kind as a JSON object with the kind's own keys: url, headers
	// and body of http, run and env of command, params of workflow, message of approval.
	Work *expr.Value
	// When is the node's condition (S15).
	When *expr.Program
	// Cases are the conditions of a branch, in order.
	Cases []*expr.Program
	// ForEach, RouteKey and Until give the list to split over, the value to hash, and the instant to wait for.
	ForEach, RouteKey, Until *expr.Program
}

// compiler compiles the expressions of one definition. All of them see the same names, so that the
// same text is compiled once; that an expression names only ancestors is checked afterwards.
type compiler struct {
	*checker
	scope    expr.Scope
	programs map[string]*expr.Program
	lineage  lineage
	// node is the one at hand, -1 outside of nodes; reads are the nodes it reads.
	node  int
	reads []string
}

func (c *checker) compiler(parents [][]int) *compiler {
	types := make(map[string]string, len(c.def.Params))
	for name, p := range c.def.Params {
		types[name] = p.Type
	}
	return &compiler{
		checker: c, scope: expr.Scope{Params: types, Nodes: c.names},
		programs: map[string]*expr.Program{}, lineage: lineage{parents: parents, seen: make([]int, len(parents))},
	}
}

// compile compiles all expressions of the node at position i of the names, and returns them with the
// nodes whose outputs they read, sorted.
func (c *compiler) compile(i int) (Compiled, []string) {
	name := c.names[i]
	n, at := c.def.Nodes[name], c.at(name)
	c.node, c.reads = i, nil
	out := Compiled{
		When:    c.condition(at.key("when"), n.When),
		ForEach: c.program(at.key("for_each"), n.ForEach),
	}
	if n.Route != nil {
		out.RouteKey = c.program(at.under("route", "consistent_hash"), n.Route.Key)
	}
	if n.Wait != nil {
		out.Until = c.program(at.under("wait", "until"), n.Wait.Until)
	}
	if n.Branch != nil {
		for k, arm := range n.Branch.Cases {
			out.Cases = append(out.Cases, c.condition(at.under("branch", "cases").at(k).key("when"), arm.When))
		}
	}
	if len(n.Inputs) > 0 {
		out.Inputs = c.value(at.key("inputs"), n.Inputs, n)
	}
	if key, fields := n.templated(); templateIn(fields) {
		out.Work = c.value(at.key(key), fields, n)
	}
	slices.Sort(c.reads)
	return out, slices.Compact(c.reads)
}

// templated returns the key of the node's kind and those of its fields that may hold ${{ }}.
func (n *Node) templated() (string, map[string]any) {
	fields := map[string]any{}
	key := ""
	switch {
	case n.HTTP != nil:
		key = "http"
		fields["url"], fields["headers"], fields["body"] = n.HTTP.URL, n.HTTP.Headers, n.HTTP.Body
	case n.Command != nil:
		key = "command"
		fields["run"], fields["env"] = n.Command.Run, n.Command.Env
	case n.Child != nil && len(n.Child.Params) > 0:
		key = "workflow"
		fields["params"] = n.Child.Params
	case n.Approval != nil:
		key = "approval"
		fields["message"] = n.Approval.Message
	default:
		return "", nil
	}
	return key, fields
}

// value compiles a tree of templates and constants; nil when something in it is wrong.
func (c *compiler) value(at *place, fields map[string]any, n *Node) *expr.Value {
	if c.full() {
		return nil
	}
	scope := c.scope
	if n.sharded() {
		scope.Extra = []string{"shard", "item"}
	}
	v, problems := expr.CompileValue(fields, scope)
	for _, p := range problems {
		c.invalid(at.follow(p.Path, c.text), p.Err)
	}
	if len(problems) > 0 {
		return nil
	}
	c.ancestors(at, v.Nodes())
	return v
}

// follow goes on along the path of a value, whose list positions are decimal text.
func (p *place) follow(path []string, text *tree) *place {
	for _, step := range path {
		i, err := strconv.Atoi(step)
		if t, _ := text.walk(p); err == nil && (t == nil || t.kind == kindList) {
			p = p.at(i)
			continue
		}
		p = p.key(step)
	}
	return p
}

// templateIn reports whether some string in a tree has an expression.
func templateIn(v any) bool {
	switch v := v.(type) {
	case string:
		return expr.HasTemplate(v)
	case []string:
		return slices.ContainsFunc(v, expr.HasTemplate)
	case map[string]string:
		for _, s := range v {
			if expr.HasTemplate(s) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, templateIn)
	case map[string]any:
		for _, inner := range v {
			if templateIn(inner) {
				return true
			}
		}
	}
	return false
}

// program compiles a bare expression; nil when it is empty or wrong.
func (c *compiler) program(at *place, src string) *expr.Program {
	if src == "" || c.full() {
		return nil
	}
	p, ok := c.programs[src]
	if !ok {
		var err error
		if p, err = expr.Compile(src, c.scope); err != nil {
			c.invalid(at, err)
			return nil
		}
		c.programs[src] = p
	}
	c.ancestors(at, p.Nodes())
	return p
}

// condition is program for an expression that must be true or false.
func (c *compiler) condition(at *place, src string) *expr.Program {
	p := c.program(at, src)
	if p != nil && !p.Bool() {
		c.add(at, CodeInvalidExpression, "the condition is never true or false").hint("compare it with something, as in … > 0").value(src)
		return nil
	}
	return p
}

// invalid notes each reason why an expression does not compile.
func (c *compiler) invalid(at *place, err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			c.invalid(at, one)
		}
		return
	}
	c.add(at, CodeInvalidExpression, "%v", err)
}

// ancestors notes what an expression reads, and refuses nodes that need not have ended by then (S15).
func (c *compiler) ancestors(at *place, nodes []string) {
	if c.node < 0 {
		return
	}
	for _, name := range nodes {
		if !c.lineage.descends(c.node, c.index[name]) {
			c.add(at, CodeNotAncestor, "the expression reads %s, which need not have ended before %s starts", clip(name), clip(c.names[c.node])).
				hint("add %s to needs", clip(name)).value(name)
			continue
		}
		c.reads = append(c.reads, name)
	}
}

// workflow compiles the expressions outside of nodes: the key that limits runs, and what the run gives its parent.
func (c *compiler) workflow() (key, *expr.Program) {
	c.node = -1
	var root *place
	var limits key
	if k := c.def.Concurrency; k != nil && k.Key != "" {
		limits = c.key(root.under("concurrency", "key"), k.Key)
	}
	return limits, c.program(root.key("output"), c.def.Output)
}

package expr

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// reads are the values that an expression names, each list sorted.
type reads struct {
	nodes, params, extra []string
}

// merge adds what another expression reads.
func (r *reads) merge(other reads) {
	r.nodes = union(r.nodes, other.nodes)
	r.params = union(r.params, other.params)
	r.extra = union(r.extra, other.extra)
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// walker goes through a checked expression, notes what it reads, and finds what
// CEL's types do not: names that the scope lacks.
type walker struct {
	scope                Scope
	info                 *ast.SourceInfo
	at                   place
	nodes, params, extra map[string]bool
	problems             []*Error
}

func newWalker(sc Scope, info *ast.SourceInfo, at place) *walker {
	return &walker{
		scope: sc, info: info, at: at,
		nodes: map[string]bool{}, params: map[string]bool{}, extra: map[string]bool{},
	}
}

func (w *walker) reads() reads {
	sorted := func(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
	return reads{nodes: sorted(w.nodes), params: sorted(w.params), extra: sorted(w.extra)}
}

// report notes a problem at an expression, some characters to its right.
func (w *walker) report(e ast.Expr, right int, format string, args ...any) {
	loc := w.info.GetStartLocation(e.ID())
	w.problems = append(w.problems, w.at.locate(loc.Line(), max(loc.Column(), 0)+right, fmt.Sprintf(format, args...)))
}

func (w *walker) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.IdentKind:
		w.ident(e)
	case ast.SelectKind, ast.CallKind:
		if !w.reference(e) {
			w.visitParts(e)
		}
	case ast.ListKind:
		w.visitAll(e.AsList().Elements())
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			w.visit(entry.AsMapEntry().Key())
			w.visit(entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		w.report(e, 0, "objects are written {\"name\": value}")
	case ast.ComprehensionKind:
		w.comprehension(e)
	}
}

func (w *walker) visitAll(parts []ast.Expr) {
	for _, part := range parts {
		w.visit(part)
	}
}

func (w *walker) visitParts(e ast.Expr) {
	if e.Kind() == ast.SelectKind {
		w.visit(e.AsSelect().Operand())
		return
	}
	call := e.AsCall()
	if call.IsMemberFunction() {
		w.visit(call.Target())
	}
	w.visitAll(call.Args())
}

func (w *walker) comprehension(e ast.Expr) {
	c := e.AsComprehension()
	for _, name := range []string{c.IterVar(), c.IterVar2()} {
		if name == rootParams || name == rootNodes || name == rootSecrets {
			w.report(e, 0, "%s cannot be the name of an element; choose another", name)
			return
		}
	}
	w.visitAll([]ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()})
}

// ident notes a variable. A name that an enclosing comprehension gives to its
// elements is noted too; that such a variable is then decoded in vain does no harm.
func (w *walker) ident(e ast.Expr) {
	name := strings.TrimPrefix(e.AsIdent(), ".")
	param, isParam := strings.CutPrefix(name, rootParams+".")
	switch {
	case isParam:
		w.params[param] = true
	case name == rootParams:
		for p := range w.scope.Params {
			w.params[p] = true
		}
	case name == rootNodes:
		w.report(e, 0, "nodes needs the name of a node, as in %s", outputOf("NAME"))
	case name == rootSecrets:
		w.report(e, 0, "secrets is a reserved name; expressions cannot read secrets")
	case slices.Contains(w.scope.Extra, name):
		w.extra[name] = true
	}
}

// reference handles what is selected from params and nodes: params.x that has
// no type of its own, nodes.x and nodes.x.output.
func (w *walker) reference(e ast.Expr) bool {
	m, ok := memberOf(e)
	if !ok {
		return false
	}
	switch root := rootName(m.of); root {
	case rootParams:
		return w.param(e, m)
	case rootNodes:
		if w.node(e, m) {
			w.report(e, 1, "a node has only its output: %s", outputOf(m.name))
		}
		return true
	}
	inner, ok := memberOf(m.of)
	if !ok || rootName(inner.of) != rootNodes {
		return false
	}
	if w.node(m.of, inner) && m.name != "output" {
		w.report(e, 1, "a node has only its output, not %q: %s", m.name, outputOf(inner.name))
	}
	return true
}

// param notes params.x or params["x"]; any other index reads all of params.
func (w *walker) param(e ast.Expr, m member) bool {
	if !m.literal {
		return false
	}
	if _, ok := w.scope.Params[m.name]; !ok {
		known := slices.Collect(maps.Keys(w.scope.Params))
		w.report(e, 1, "unknown parameter %q%s", m.name, suggest(m.name, known))
		return true
	}
	w.params[m.name] = true
	return true
}

// node notes nodes.x, and tells whether the scope has it.
func (w *walker) node(e ast.Expr, m member) bool {
	switch {
	case !m.literal:
		w.report(e, 1, "a node is named in full, as in nodes[\"NAME\"].output")
		return false
	case !slices.Contains(w.scope.Nodes, m.name):
		w.report(e, 1, "%q is not a node that comes before%s", m.name, suggest(m.name, w.scope.Nodes))
		return false
	}
	w.nodes[m.name] = true
	return true
}

// member is x of a.x or a["x"]. literal is false for a[i].
type member struct {
	of      ast.Expr
	name    string
	literal bool
}

func memberOf(e ast.Expr) (member, bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return member{e.AsSelect().Operand(), e.AsSelect().FieldName(), true}, true
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index {
			return member{}, false
		}
		name, literal := literalOf(call.Args()[1]).(types.String)
		return member{call.Args()[0], string(name), literal}, true
	}
	return member{}, false
}

func rootName(e ast.Expr) string {
	if e.Kind() != ast.IdentKind {
		return ""
	}
	return strings.TrimPrefix(e.AsIdent(), ".")
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// outputOf is how a node's output is written.
func outputOf(node string) string {
	if plainName.MatchString(node) {
		return "nodes." + node + ".output"
	}
	return fmt.Sprintf("nodes[%q].output", node)
}

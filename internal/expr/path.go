package expr

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// path is an expression that only names a value: nodes.a.output.rows[0]. It is
// answered from the JSON text, so that the value keeps every digit.
type path struct {
	root  string // nodes, params or an extra variable
	steps []step
}

// step goes to a member of an object, or to an element of a list.
type step struct {
	name  string
	index int
	list  bool
}

// plainPath gives the path that a checked expression is, or nil if it is more.
func plainPath(e ast.Expr, sc Scope) *path {
	var steps []step
	for {
		if e.Kind() == ast.IdentKind {
			return rooted(strings.TrimPrefix(e.AsIdent(), "."), steps, sc)
		}
		of, s := stepOf(e)
		if of == nil {
			return nil
		}
		e, steps = of, append([]step{s}, steps...)
	}
}

func rooted(name string, steps []step, sc Scope) *path {
	if param, ok := strings.CutPrefix(name, rootParams+"."); ok {
		return &path{rootParams, append([]step{{name: param}}, steps...)}
	}
	if name == rootParams || name == rootNodes || slices.Contains(sc.Extra, name) {
		return &path{name, steps}
	}
	return nil
}

// stepOf takes off an expression's last step; of is nil when it is none.
func stepOf(e ast.Expr) (of ast.Expr, s step) {
	switch e.Kind() {
	case ast.SelectKind:
		if sel := e.AsSelect(); !sel.IsTestOnly() {
			return sel.Operand(), step{name: sel.FieldName()}
		}
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index {
			return nil, step{}
		}
		switch i := literalOf(call.Args()[1]).(type) {
		case types.String:
			return call.Args()[0], step{name: string(i)}
		case types.Int:
			return call.Args()[0], step{index: int(i), list: true}
		}
	}
	return nil, step{}
}

// literalOf gives the value of a literal, or nil.
func literalOf(e ast.Expr) ref.Val {
	if e.Kind() != ast.LiteralKind {
		return nil
	}
	return e.AsLiteral()
}

// find gives the JSON text of the value that the path names.
func (p *path) find(v Vars) (json.RawMessage, error) {
	raw, trail, steps := v.Params, rootParams, p.steps
	switch p.root {
	case rootParams:
		if len(raw) == 0 {
			raw = json.RawMessage("{}")
		}
	case rootNodes:
		raw, trail, steps = v.Nodes[steps[0].name], outputOf(steps[0].name), steps[2:]
	default:
		raw, trail = v.Extra[p.root], p.root
	}
	for _, s := range steps {
		var err error
		if raw, err = s.take(orNull(raw), trail); err != nil {
			return nil, err
		}
		trail += s.String()
	}
	return orNull(raw), nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

func (s step) take(raw json.RawMessage, trail string) (json.RawMessage, error) {
	if s.list {
		return s.element(raw, trail)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("%s is not an object, so it has no %q", trail, s.name)
	}
	if object == nil {
		return nil, fmt.Errorf("%s is null, so it has no %q", trail, s.name)
	}
	value, ok := object[s.name]
	if !ok {
		return nil, fmt.Errorf("%s has no %q", trail, s.name)
	}
	return value, nil
}

func (s step) element(raw json.RawMessage, trail string) (json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("%s is not a list, so it has no [%d]", trail, s.index)
	}
	if s.index < 0 || s.index >= len(list) {
		return nil, fmt.Errorf("%s has %d elements, so it has no [%d]", trail, len(list), s.index)
	}
	return list[s.index], nil
}

// String is the step as it is written.
func (s step) String() string {
	switch {
	case s.list:
		return "[" + strconv.Itoa(s.index) + "]"
	case plainName.MatchString(s.name):
		return "." + s.name
	}
	return "[" + strconv.Quote(s.name) + "]"
}

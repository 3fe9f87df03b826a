package sdk

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ax-run/ax/dag"
)

// Inputs says where each input of NodeIn comes from, by the JSON name of the field that takes it.
type Inputs map[string]Source

// Source is where an input comes from: an Output, or an Expr.
type Source interface{ source() source }

// source is one input: the template that gives it and the type it has.
type source struct {
	template string
	typ      reflect.Type
	// output tells that it is a node's output; parent is that node, nil if it was never declared.
	output bool
	parent *node
}

// Expr is an input that an expression gives, such as logical_date or params.folder. That it is a T is checked when
// the node runs; a value that is none fails the node for good.
func Expr[T any](expression string) Source { return expr{expression, reflect.TypeFor[T]()} }

type expr struct {
	text string
	typ  reflect.Type
}

func (e expr) source() source { return source{template: "${{ " + e.text + " }}", typ: e.typ} }

// NodeIn declares a node whose inputs are the fields of a struct. Every field must be given, unless its JSON tag says
// omitempty or omitzero. An output of type T fits a field of type T or *T; the latter takes null as nil.
func NodeIn[In, T any](wf *Workflow, name string, fn func(context.Context, In) (T, error), inputs Inputs, options ...NodeOption) Output[T] {
	n := wf.declare(name, options)
	n.takeFields(reflect.TypeFor[In](), inputs)
	return body(n, decodeInputs[In], fn)
}

// takeFields checks the inputs against the struct and makes them the node's.
func (n *node) takeFields(in reflect.Type, inputs Inputs) {
	if in.Kind() != reflect.Struct {
		n.wrong("inputs", dag.CodeWrongType, "the function of NodeIn takes a struct, not %s", in)
		return
	}
	fields := fieldsOf(in)
	for _, key := range slices.Sorted(maps.Keys(inputs)) {
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == key })
		switch {
		case at < 0:
			n.wrong("inputs."+key, dag.CodeUnknownKey, "%s has no such field; it has %s", in, namesOf(fields))
		case inputs[key] == nil:
			n.wrong("inputs."+key, dag.CodeMissing, "the input has no source")
		default:
			n.takeField(fields[at], inputs[key].source())
		}
	}
	for _, f := range fields {
		if _, given := inputs[f.name]; !given && !f.optional {
			n.wrong("inputs."+f.name, dag.CodeMissing, "the field %s of %s is given nothing", f.name, in)
		}
	}
}

func (n *node) takeField(f field, s source) {
	if s.typ != f.typ && !(f.typ.Kind() == reflect.Pointer && f.typ.Elem() == s.typ) {
		n.wrong("inputs."+f.name, dag.CodeWrongType, "the field is a %s and cannot take a %s", f.typ, s.typ)
		return
	}
	s.typ = f.typ
	n.take(f.name, s)
}

func namesOf(fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

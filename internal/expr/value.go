package expr

import (
	"context"
	"encoding/json"
	"slices"
)

// Value is a JSON-like tree whose strings may be templates. It is immutable and
// safe for concurrent use.
type Value struct {
	root  tree
	reads reads
}

// Problem is one reason why a tree cannot be compiled. Path leads to it from the
// root: names of members, and indexes of elements in decimal. Err is mostly an *Error.
type Problem struct {
	Path []string
	Err  error
}

// CompileValue compiles every string with ${{ }} in a tree of map[string]any,
// map[string]string, []any, []string and anything that encodes as JSON. It gives
// the Value, or all problems.
func CompileValue(v any, sc Scope) (*Value, []Problem) {
	b := &builder{compiler: &compiler{scope: sc}}
	root := b.build(v, nil)
	if len(b.problems) > 0 {
		return nil, b.problems
	}
	return &Value{root: root, reads: b.reads}, nil
}

// Nodes are the nodes whose output the value reads, sorted.
func (v *Value) Nodes() []string { return slices.Clone(v.reads.nodes) }

// Params are the parameters the value reads, sorted.
func (v *Value) Params() []string { return slices.Clone(v.reads.params) }

// Eval gives the tree as JSON, each template replaced by its value. Errors are
// Program.Eval's.
func (v *Value) Eval(ctx context.Context, vars Vars) (json.RawMessage, error) {
	var e encoder
	if err := v.root.write(ctx, vars, &e); err != nil {
		return nil, err
	}
	return e.buf.Bytes(), nil
}

// tree is a part of a Value: constant, *Template, object or array.
type tree interface {
	write(ctx context.Context, v Vars, e *encoder) error
}

type (
	constant json.RawMessage
	object   []field
	array    []tree
)

type field struct {
	name  string
	value tree
}

func (c constant) write(_ context.Context, _ Vars, e *encoder) error {
	return e.write(string(c))
}

func (t *Template) write(ctx context.Context, v Vars, e *encoder) error {
	raw, err := t.Eval(ctx, v)
	if err != nil {
		return err
	}
	if err := e.write(string(raw)); err != nil {
		return &EvalError{Source: t.source, Err: err}
	}
	return nil
}

func (o object) write(ctx context.Context, v Vars, e *encoder) error {
	if err := e.write("{"); err != nil {
		return err
	}
	for i, f := range o {
		if err := e.key(i, f.name); err != nil {
			return err
		}
		if err := f.value.write(ctx, v, e); err != nil {
			return err
		}
	}
	return e.write("}")
}

func (a array) write(ctx context.Context, v Vars, e *encoder) error {
	separator := "["
	for _, element := range a {
		if err := e.write(separator); err != nil {
			return err
		}
		if err := element.write(ctx, v, e); err != nil {
			return err
		}
		separator = ","
	}
	if len(a) == 0 {
		return e.write("[]")
	}
	return e.write("]")
}

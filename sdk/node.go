package sdk

import (
	"context"
	"reflect"

	"github.com/ax-run/ax/dag"
)

// Node declares a node without inputs: fn takes the run's parameters, a struct whose fields are declared as the
// workflow's parameters (see WithParams), or struct{} for none.
func Node[P, T any](wf *Workflow, name string, fn func(context.Context, P) (T, error), options ...NodeOption) Output[T] {
	n := wf.declare(name, options)
	wf.declareParams(reflect.TypeFor[P]())
	return body(n, decodeParams[P], fn)
}

// Node1 declares a node that takes the output of one parent.
func Node1[A, T any](wf *Workflow, name string, fn func(context.Context, A) (T, error), a Output[A], options ...NodeOption) Output[T] {
	n := wf.declare(name, options)
	n.takeAll(a)
	return body(n, func(c Call) (in A, err error) {
		return in, c.input(a.name(), &in)
	}, fn)
}

// two and three are inputs on their way to a function of several parameters.
type (
	two[A, B any] struct {
		a A
		b B
	}
	three[A, B, C any] struct {
		a A
		b B
		c C
	}
)

// Node2 declares a node that takes the outputs of two parents.
func Node2[A, B, T any](wf *Workflow, name string, fn func(context.Context, A, B) (T, error), a Output[A], b Output[B], options ...NodeOption) Output[T] {
	n := wf.declare(name, options)
	n.takeAll(a, b)
	var call func(context.Context, two[A, B]) (T, error)
	if fn != nil {
		call = func(ctx context.Context, in two[A, B]) (T, error) { return fn(ctx, in.a, in.b) }
	}
	return body(n, func(c Call) (in two[A, B], err error) {
		return in, firstOf(c.input(a.name(), &in.a), c.input(b.name(), &in.b))
	}, call)
}

// Node3 declares a node that takes the outputs of three parents. For more, or to name the inputs, see NodeIn.
func Node3[A, B, C, T any](wf *Workflow, name string, fn func(context.Context, A, B, C) (T, error), a Output[A], b Output[B], c Output[C], options ...NodeOption) Output[T] {
	n := wf.declare(name, options)
	n.takeAll(a, b, c)
	var call func(context.Context, three[A, B, C]) (T, error)
	if fn != nil {
		call = func(ctx context.Context, in three[A, B, C]) (T, error) { return fn(ctx, in.a, in.b, in.c) }
	}
	return body(n, func(given Call) (in three[A, B, C], err error) {
		return in, firstOf(given.input(a.name(), &in.a), given.input(b.name(), &in.b), given.input(c.name(), &in.c))
	}, call)
}

// body makes fn the handler of a declared node.
func body[In, T any](n *node, decode func(Call) (In, error), fn func(context.Context, In) (T, error)) Output[T] {
	if fn == nil {
		n.wrong("", dag.CodeMissing, "the node has no function")
	} else {
		n.serve(handle(decode, fn))
	}
	return Output[T]{n}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

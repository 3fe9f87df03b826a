package sdk

import (
	"reflect"
	"regexp"
	"strconv"
)

// Output is a declared node, as the source of a value of type T. The zero value is no node; taking it is a problem.
type Output[T any] struct{ node *node }

// Declared is any declared node: an Output of whatever type.
type Declared interface{ declared() *node }

// Name returns the node's name.
func (o Output[T]) Name() string { return o.name() }

func (o Output[T]) declared() *node { return o.node }

func (o Output[T]) name() string {
	if o.node == nil {
		return ""
	}
	return o.node.name
}

func (o Output[T]) source() source {
	return source{template: "${{ " + reference(o.name()) + " }}", typ: reflect.TypeFor[T](), output: true, parent: o.node}
}

// Maybe takes a node's output where there may be none: null is nil. An output may be null when its node's failure is
// skipped, or when the node that takes it runs whatever became of it.
func Maybe[T any](o Output[T]) Output[*T] { return Output[*T](o) }

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reference is the expression for a node's output.
func reference(node string) string {
	if plainName.MatchString(node) {
		return "nodes." + node + ".output"
	}
	return "nodes[" + strconv.Quote(node) + "].output"
}

package sdk

import (
	"reflect"
	"slices"

	"github.com/ax-run/ax/dag"
)

// node is one declared node. Its definition is complete once declare and the takes have been called.
type node struct {
	dag.Node
	wf   *Workflow
	name string
}

// declare adds a node. One whose name is taken is checked all the same, but left out.
func (w *Workflow) declare(name string, options []NodeOption) *node {
	n := &node{wf: w, name: name}
	n.apply(options)
	if n.Handler == "" {
		n.Handler = w.Code() + "." + name
	}
	if w.nodes[name] != nil {
		n.wrong("", dag.CodeDuplicateName, "another node has this name")
		return n
	}
	w.nodes[name] = n
	return n
}

func (n *node) apply(options []NodeOption) {
	for _, o := range options {
		if o != nil {
			o.applyNode(n)
		}
	}
}

// serve makes a function the node's handler.
func (n *node) serve(h Handler) {
	if n.wf.nodes[n.name] != n {
		return
	}
	if n.wf.handlers[n.Handler] != nil {
		n.wrong("handler", dag.CodeDuplicateName, "another node has the handler %q", n.Handler)
	}
	n.wf.handlers[n.Handler] = h
}

// takeAll makes the outputs of parents the node's inputs, each under its parent's name.
func (n *node) takeAll(parents ...Source) {
	for _, p := range parents {
		s := p.source()
		if s.parent == nil {
			n.need(nil)
			continue
		}
		if _, twice := n.Inputs[s.parent.name]; twice {
			n.wrong("inputs."+s.parent.name, dag.CodeDuplicateKey, "the node takes the output of %s twice", s.parent.name)
			continue
		}
		n.take(s.parent.name, s)
	}
}

// take makes a source an input of the node, to be held in a value of the source's type.
func (n *node) take(key string, s source) {
	if n.Inputs == nil {
		n.Inputs = make(map[string]any)
	}
	n.Inputs[key] = s.template
	if !s.output {
		return
	}
	n.need(s.parent)
	if s.parent != nil && n.mayMiss(s.parent) && !nullable(s.typ) {
		n.wrong("inputs."+key, dag.CodeWrongType, "the output of %s may be null, and %s cannot hold null; take it with sdk.Maybe", s.parent.name, s.typ)
	}
}

// mayMiss reports whether the node may start when a parent has given no output.
func (n *node) mayMiss(parent *node) bool {
	return parent.OnFailure == SkipNode || n.Finally || n.TriggerRule != "" && n.TriggerRule != AllSuccess
}

// need makes the node wait for a parent.
func (n *node) need(parent *node) {
	switch {
	case parent == nil:
		n.wrong("needs", dag.CodeUnknownNode, "the node depends on one that was never declared")
	case parent.wf != n.wf:
		n.wrong("needs", dag.CodeUnknownNode, "the node depends on %s of another workflow, %s", parent.name, parent.wf.Code())
	case !slices.Contains(n.Needs, parent.name):
		n.Needs = append(n.Needs, parent.name)
	}
}

func (n *node) wrong(at, code, format string, args ...any) {
	path := "nodes." + n.name
	if at != "" {
		path += "." + at
	}
	n.wf.wrong(path, code, format, args...)
}

// nullable reports whether a Go value of the type can tell null from all else.
func nullable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return true
	case reflect.Struct:
		return t.NumField() == 0
	}
	return false
}

package sdk

import (
	"fmt"
	"maps"

	"github.com/ax-run/ax/dag"
)

// Workflow is a workflow declared in Go. NewWorkflow makes one; Node and its kin add to it.
type Workflow struct {
	def      dag.Definition
	nodes    map[string]*node
	handlers map[string]Handler
	problems dag.Problems
}

// NewWorkflow begins a workflow; code is its name among all of a namespace.
func NewWorkflow(code string, options ...WorkflowOption) *Workflow {
	w := &Workflow{nodes: make(map[string]*node), handlers: make(map[string]Handler)}
	w.def.Workflow = code
	for _, o := range options {
		if o != nil {
			o.applyWorkflow(w)
		}
	}
	return w
}

// Code returns the workflow's name.
func (w *Workflow) Code() string { return w.def.Workflow }

// Definition returns what was declared, or everything wrong with the declarations, as dag.Problems. Whether the
// definition itself is sound is for dag.Build to say.
func (w *Workflow) Definition() (*dag.Definition, error) {
	if err := w.problems.Err(); err != nil {
		return nil, fmt.Errorf("declare workflow %q: %w", w.Code(), err)
	}
	def := w.def
	def.Params = maps.Clone(w.def.Params)
	def.Nodes = make(map[string]*dag.Node, len(w.nodes))
	for name, n := range w.nodes {
		def.Nodes[name] = new(n.Node)
	}
	return &def, nil
}

// Handlers returns the functions of the nodes by handler name.
func (w *Workflow) Handlers() map[string]Handler { return maps.Clone(w.handlers) }

// wrong notes a problem of the declarations.
func (w *Workflow) wrong(path, code, format string, args ...any) {
	w.problems = append(w.problems, dag.Problem{
		Path: path, Severity: dag.SeverityError, Code: code, Message: fmt.Sprintf(format, args...),
	})
}

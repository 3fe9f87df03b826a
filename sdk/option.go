package sdk

import (
	"time"

	"github.com/ax-run/ax/dag"
)

// WorkflowOption says something about a workflow.
type WorkflowOption interface{ applyWorkflow(*Workflow) }

// NodeOption says something about a node.
type NodeOption interface{ applyNode(*node) }

// Option can be said of a workflow and of a node.
type Option interface {
	WorkflowOption
	NodeOption
}

type workflowOption func(*Workflow)

func (o workflowOption) applyWorkflow(w *Workflow) { o(w) }

type nodeOption func(*node)

func (o nodeOption) applyNode(n *node) { o(n) }

type bothOption struct {
	workflowOption
	nodeOption
}

// Title is the name that people see.
func Title(title string) Option {
	return bothOption{func(w *Workflow) { w.def.Title = title }, func(n *node) { n.Title = title }}
}

// Timeout is how long one attempt of a node, or a whole run of a workflow, may take (S17).
func Timeout(d time.Duration) Option {
	return bothOption{
		func(w *Workflow) { w.def.Timeout = dag.Duration(d) },
		func(n *node) { n.Timeout = dag.Duration(d) },
	}
}

// Priority is 1 to 4, 1 first (S24). A node without one has its workflow's.
func Priority(p int) Option {
	return bothOption{func(w *Workflow) { w.def.Priority = p }, func(n *node) { n.Priority = p }}
}

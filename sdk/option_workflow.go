package sdk

import (
	"reflect"
	"slices"

	"github.com/ax-run/ax/dag"
)

// Description tells people what the workflow is for.
func Description(text string) WorkflowOption {
	return workflowOption(func(w *Workflow) { w.def.Description = text })
}

// Owner names who answers for the workflow.
func Owner(owner string) WorkflowOption {
	return workflowOption(func(w *Workflow) { w.def.Owner = owner })
}

// Tags are words to find the workflow by.
func Tags(tags ...string) WorkflowOption {
	return workflowOption(func(w *Workflow) { w.def.Tags = slices.Clone(tags) })
}

// MaxRuns bounds how many runs go at once; more of them queue (S22). A workflow with a recurring schedule has 1
// unless this says otherwise.
func MaxRuns(n int) WorkflowOption {
	return workflowOption(func(w *Workflow) { w.def.Concurrency = &dag.Concurrency{MaxRuns: n} })
}

// WithParams declares the fields of the struct P as parameters of the workflow, for functions that read them with
// Params. Node declares those of its function by itself.
//
// A field is a parameter under its JSON name. The tag default is its default, as text or else as JSON; without one
// the parameter is required. The tag doc describes it.
func WithParams[P any]() WorkflowOption {
	return workflowOption(func(w *Workflow) { w.declareParams(reflect.TypeFor[P]()) })
}

// Defaults are for every node that does not say otherwise. Only Timeout, QueueTimeout, Queue and the options of
// retries can be defaults.
func Defaults(options ...NodeOption) WorkflowOption {
	return workflowOption(func(w *Workflow) {
		n := &node{wf: w}
		n.apply(options)
		w.def.Defaults = &dag.Defaults{Timeout: n.Timeout, QueueTimeout: n.QueueTimeout, Retry: n.Retry, Queue: n.Queue}
		n.Timeout, n.QueueTimeout, n.Retry, n.Queue = 0, 0, nil, ""
		if !reflect.DeepEqual(n.Node, dag.Node{}) {
			w.wrong("defaults", dag.CodeConflict, "only timeouts, retries and the queue can be defaults of all nodes")
		}
	})
}

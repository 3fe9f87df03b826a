// Package sdk declares workflows in Go, with values: a node is a function, an edge is the variable that an
// earlier declaration returned. A misspelt dependency does not compile, and data keeps its type along the edges.
//
// A Workflow becomes an ordinary dag.Definition of handler nodes, so that the same workflow written in YAML is
// the same version. What a function is handed decides the inputs of its node:
//
//	Node                     no inputs; the function takes the run's parameters
//	Node1, Node2, Node3      one input for each parent, under the parent's name: {extract: "${{ nodes.extract.output }}"}
//	NodeIn                   the inputs that Inputs names, one for each field of a struct
//
// A handler is named workflow.node unless HandlerName says otherwise.
//
// Declaring never panics, except on a nil Workflow, and never fails in the middle: what is wrong is gathered, and Definition tells all of
// it at once. A Workflow must be declared by one goroutine; afterwards it is safe for many.
package sdk

package reference

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ax-run/ax/dag"
)

// Shape is a workflow: the graph, and beside it what the reference reads, which nothing of the product made.
type Shape struct {
	Graph *dag.Graph
	// Nodes stand at their positions in the graph.
	Nodes []Node
}

// Node is one node of a shape.
type Node struct {
	Name    string
	Needs   []int
	Rule    dag.Rule
	Finally bool
	// Conditional nodes have a condition; a node branches, splits, or does neither.
	Conditional, Branches, Splits bool
	Success                       Success
	FailFast                      bool
	// Answers are what its expressions say, generation by generation and then again.
	Answers []Answer
	Policy
	// Inputs are handed to its body.
	Inputs map[string]any
	// Work is what it does instead of the handler "act", which gets its inputs; nil for that.
	Work *dag.Work
	// Pools are those it uses.
	Pools []dag.PoolUse
}

// Answer is what the expressions of a node say.
type Answer struct {
	When, Work Verdict
	// Taken are the children that a branch takes, Total is how many shards a node is split into.
	Taken []int
	Total int
}

// Verdict is what a condition says; for the work of a node, Breaks is the only one that matters.
type Verdict string

// The verdicts. IfOutput holds when the node's first parent has an output.
const (
	Holds    Verdict = "holds"
	Not      Verdict = "does not hold"
	Breaks   Verdict = "cannot be evaluated"
	IfOutput Verdict = "if the first parent has an output"
)

// Success is how many shards must succeed: any, so many, a percentage, or else all.
type Success struct {
	Any              bool
	AtLeast, Percent int
}

func (s Success) text() dag.Success {
	switch {
	case s.Any:
		return "any"
	case s.AtLeast > 0:
		return dag.Success(fmt.Sprintf("at_least %d", s.AtLeast))
	case s.Percent > 0:
		return dag.Success(fmt.Sprintf("at_least %d%%", s.Percent))
	}
	return "all"
}

// needed is the number of shards of total that must succeed.
func (s Success) needed(total int) int {
	switch {
	case s.Any:
		return 1
	case s.AtLeast > 0:
		return min(s.AtLeast, total)
	case s.Percent > 0:
		return (s.Percent*total + 99) / 100
	}
	return total
}

// Policy is what a node does about failures.
type Policy struct {
	OnFailure            dag.OnFailure
	Repeatable           bool
	MaxAttempts, MaxLost int
	Delay                time.Duration
	// Only and Except refine by error code what may be repeated.
	Only, Except []string
}

// New builds the graph of some nodes, in a workflow that is so far only named and limited, and puts them where it has them.
func New(def dag.Definition, nodes []Node) (Shape, error) {
	def.Nodes = map[string]*dag.Node{}
	for i, n := range nodes {
		def.Nodes[n.Name] = n.define(nodes, ordinaryChildren(nodes, i))
	}
	graph, problems := dag.Build(&def, dag.BuildOptions{DefaultTimezone: "UTC"})
	if problems.Failed() {
		return Shape{}, problems.Err()
	}
	place := make([]int, len(nodes))
	for i, n := range nodes {
		place[i], _ = graph.Index(n.Name)
	}
	s := Shape{Graph: graph, Nodes: make([]Node, len(nodes))}
	for i, n := range nodes {
		n.Needs = placed(n.Needs, place)
		n.Answers = slices.Clone(n.Answers)
		for g := range n.Answers {
			n.Answers[g].Taken = placed(n.Answers[g].Taken, place)
		}
		s.Nodes[place[i]] = n
	}
	return s, nil
}

func placed(nodes, place []int) []int {
	out := make([]int, len(nodes))
	for i, n := range nodes {
		out[i] = place[n]
	}
	return out
}

func ordinaryChildren(nodes []Node, i int) (children []int) {
	for c := range nodes {
		if !nodes[c].Finally && slices.Contains(nodes[c].Needs, i) {
			children = append(children, c)
		}
	}
	return children
}

// define writes a node with expressions that say its first answer.
func (n Node) define(nodes []Node, children []int) *dag.Node {
	delay, exact := dag.Duration(n.Delay), 0.0
	out := &dag.Node{
		Work: dag.Work{Handler: "act"}, Inputs: n.Inputs,
		Flow: dag.Flow{TriggerRule: n.Rule, Finally: n.Finally}, Placement: dag.Placement{Pools: n.Pools},
		Policy: dag.Policy{OnFailure: n.OnFailure, Idempotent: &n.Repeatable, Retry: &dag.Retry{
			MaxAttempts: n.MaxAttempts, MaxLost: &n.MaxLost, Backoff: dag.BackoffFixed, Delay: &delay, Jitter: &exact,
		}},
	}
	if n.Only != nil || n.Except != nil {
		out.Retry.On = &dag.RetryOn{Codes: n.Only, Except: n.Except}
	}
	for _, p := range n.Needs {
		out.Needs = append(out.Needs, nodes[p].Name)
	}
	if n.Conditional {
		out.When = n.condition(nodes)
	}
	switch {
	case n.Branches:
		out.Work, out.Inputs = dag.Work{Branch: n.branch(nodes, children)}, nil
	case n.Splits:
		out.ForEach, out.Success, out.FailFast = n.list(), n.Success.text(), n.FailFast
	case n.Work != nil:
		out.Work, out.Inputs = *n.Work, nil
	}
	return out
}

// broken is a number that a date is not.
const broken = "int(logical_date)"

func (n Node) condition(nodes []Node) string {
	switch n.Answers[0].When {
	case Holds:
		return "1 == 1"
	case Not:
		return "1 == 2"
	case IfOutput:
		return fmt.Sprintf("nodes.%s.output != null", nodes[n.Needs[0]].Name)
	}
	return broken + " == 1"
}

// branch has a case that leads where the answer does, if anywhere, and one that is never taken for all children.
func (n Node) branch(nodes []Node, children []int) *dag.Branch {
	names := func(of []int) (out []string) {
		for _, c := range of {
			out = append(out, nodes[c].Name)
		}
		return out
	}
	never := dag.Case{When: "1 == 2", To: names(children)}
	a := n.Answers[0]
	switch {
	case a.Work == Breaks:
		return &dag.Branch{Cases: []dag.Case{{When: broken + " == 1", To: names(children)}}}
	case len(a.Taken) == 0:
		return &dag.Branch{Cases: []dag.Case{never}}
	}
	return &dag.Branch{Cases: []dag.Case{{When: "1 == 1", To: names(a.Taken)}, never}}
}

func (n Node) list() string {
	if n.Answers[0].Work == Breaks {
		return "[" + broken + "]"
	}
	return "[" + strings.TrimSuffix(strings.Repeat("1, ", n.Answers[0].Total), ", ") + "]"
}

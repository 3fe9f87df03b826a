package progress_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
)

// shape is a random workflow: the graph, and beside it what the reference reads, which nothing of the product made.
type shape struct {
	graph *dag.Graph
	// nodes stand at their positions in the graph.
	nodes []spec
}

// spec is one node of a shape.
type spec struct {
	name    string
	needs   []int
	rule    dag.Rule
	finally bool
	// conditional nodes have a condition; a node branches, splits, or does neither.
	conditional, branches, splits bool
	success                       success
	failFast                      bool
	// answers are what its expressions say, generation by generation and then again.
	answers []answer
	policy
}

// answer is what the expressions of a node say.
type answer struct {
	when, work verdict
	// taken are the children that a branch takes, total is how many shards a node is split into.
	taken []int
	total int
}

// verdict is what a condition says; for the work of a node, fails is the only one that matters.
type verdict string

const (
	holds verdict = "holds"
	not   verdict = "does not hold"
	fails verdict = "cannot be evaluated"
)

// success is how many shards must succeed: any, so many, a percentage, or else all.
type success struct {
	any              bool
	atLeast, percent int
}

func (s success) text() dag.Success {
	switch {
	case s.any:
		return "any"
	case s.atLeast > 0:
		return dag.Success(fmt.Sprintf("at_least %d", s.atLeast))
	case s.percent > 0:
		return dag.Success(fmt.Sprintf("at_least %d%%", s.percent))
	}
	return "all"
}

// needed is the number of shards of total that must succeed.
func (s success) needed(total int) int {
	switch {
	case s.any:
		return 1
	case s.atLeast > 0:
		return min(s.atLeast, total)
	case s.percent > 0:
		return (s.percent*total + 99) / 100
	}
	return total
}

// policy is what a node does about failures.
type policy struct {
	onFailure            dag.OnFailure
	repeatable           bool
	maxAttempts, maxLost int
	delay                time.Duration
	// only and except refine by error code what may be repeated.
	only, except []string
}

// shapeOptions says what a random shape may have.
type shapeOptions struct {
	maxNodes int
	rules    []dag.Rule
	policies *rapid.Generator[policy]
	// rich shapes have conditions, branches and shards.
	rich bool
}

var anyPolicy = rapid.Custom(func(t *rapid.T) policy {
	return policy{
		onFailure:   rapid.SampledFrom([]dag.OnFailure{dag.AbortChain, dag.AbortChain, dag.SkipNode, dag.AbortRun}).Draw(t, "on_failure"),
		repeatable:  rapid.IntRange(0, 3).Draw(t, "repeatable") > 0,
		maxAttempts: rapid.IntRange(1, 3).Draw(t, "max_attempts"),
		maxLost:     rapid.IntRange(0, 2).Draw(t, "max_lost"),
		delay:       rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "delay"),
		only:        rapid.SampledFrom([][]string{nil, nil, {"busy"}}).Draw(t, "only"),
		except:      rapid.SampledFrom([][]string{nil, nil, {"full"}}).Draw(t, "except"),
	}
})

// drawShape draws a workflow. Node i may need the ordinary nodes before it; the finally nodes come last.
func drawShape(t *rapid.T, o shapeOptions) shape {
	ordinary := rapid.IntRange(1, o.maxNodes-2).Draw(t, "nodes")
	total := ordinary + rapid.IntRange(0, 2).Draw(t, "finally nodes")
	nodes := make([]spec, total)
	for i := range nodes {
		n := &nodes[i]
		n.name, n.finally, n.policy = fmt.Sprintf("n%d", i), i >= ordinary, o.policies.Draw(t, "policy")
		for p := range i {
			if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
				n.needs = append(n.needs, p)
			}
		}
		if !n.finally {
			n.rule = rapid.SampledFrom(fitting(o.rules, len(n.needs))).Draw(t, "rule")
		}
	}
	for i := range nodes {
		if o.rich {
			drawExpressions(t, nodes, i)
		}
	}
	return newShape(t, nodes)
}

// fitting are the rules that a node with so many parents may have.
func fitting(rules []dag.Rule, needs int) []dag.Rule {
	if needs > 0 {
		return rules
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r dag.Rule) bool {
		return slices.Contains([]dag.Rule{dag.OneSuccess, dag.OneFailed, dag.OneDone, dag.NoneFailedMinOneSuccess}, r)
	})
}

// drawExpressions gives some nodes a condition, and makes some branch or split.
func drawExpressions(t *rapid.T, nodes []spec, i int) {
	n := &nodes[i]
	children := ordinaryChildren(nodes, i)
	n.conditional = rapid.IntRange(0, 3).Draw(t, "conditional") == 0
	switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
	case kind == 0:
		n.splits, n.failFast = true, rapid.Bool().Draw(t, "fail_fast")
		n.success = rapid.SampledFrom([]success{{}, {}, {any: true}, {atLeast: 2}, {percent: 50}, {percent: 34}}).Draw(t, "success")
	case kind == 1 && !n.finally:
		n.branches = len(children) > 0
	}
	n.answers = make([]answer, rapid.IntRange(1, 3).Draw(t, "generations"))
	broken := fails
	if n.onFailure == dag.AbortRun {
		broken = holds // what else is decided at the very moment at which it aborts the run is left open
	}
	for g := range n.answers {
		n.answers[g] = answer{
			when:  rapid.SampledFrom([]verdict{holds, holds, holds, not, not, broken}).Draw(t, "condition"),
			work:  rapid.SampledFrom([]verdict{holds, holds, holds, holds, broken}).Draw(t, "work"),
			total: rapid.IntRange(0, 4).Draw(t, "shards"),
		}
		for _, c := range children {
			if n.branches && rapid.Bool().Draw(t, "taken") {
				n.answers[g].taken = append(n.answers[g].taken, c)
			}
		}
	}
}

func ordinaryChildren(nodes []spec, i int) (children []int) {
	for c := range nodes {
		if !nodes[c].finally && slices.Contains(nodes[c].needs, i) {
			children = append(children, c)
		}
	}
	return children
}

// newShape builds the graph of some nodes and puts them where it has them.
func newShape(t require.TestingT, nodes []spec) shape {
	def := &dag.Definition{Meta: dag.Meta{Workflow: "random"}, Nodes: map[string]*dag.Node{}}
	for i, n := range nodes {
		def.Nodes[n.name] = n.node(nodes, ordinaryChildren(nodes, i))
	}
	graph, problems := dag.Build(def, dag.BuildOptions{AllowUnsupported: true})
	require.False(t, problems.Failed(), "%v", problems)
	place := make([]int, len(nodes))
	for i, n := range nodes {
		at, found := graph.Index(n.name)
		require.True(t, found)
		place[i] = at
	}
	s := shape{graph: graph, nodes: make([]spec, len(nodes))}
	for i, n := range nodes {
		n.needs = placed(n.needs, place)
		n.answers = slices.Clone(n.answers)
		for g := range n.answers {
			n.answers[g].taken = placed(n.answers[g].taken, place)
		}
		s.nodes[place[i]] = n
	}
	return s
}

func placed(nodes, place []int) []int {
	out := make([]int, len(nodes))
	for i, n := range nodes {
		out[i] = place[n]
	}
	return out
}

// node is the definition of a spec. Its expressions are only there to be asked: what they say are the spec's answers.
func (n spec) node(nodes []spec, children []int) *dag.Node {
	delay, exact := dag.Duration(n.delay), 0.0
	out := &dag.Node{
		Work: dag.Work{Handler: "work"},
		Flow: dag.Flow{TriggerRule: n.rule, Finally: n.finally},
		Policy: dag.Policy{OnFailure: n.onFailure, Idempotent: &n.repeatable, Retry: &dag.Retry{
			MaxAttempts: n.maxAttempts, MaxLost: &n.maxLost, Backoff: dag.BackoffFixed, Delay: &delay, Jitter: &exact,
		}},
	}
	if n.only != nil || n.except != nil {
		out.Retry.On = &dag.RetryOn{Codes: n.only, Except: n.except}
	}
	for _, p := range n.needs {
		out.Needs = append(out.Needs, nodes[p].name)
	}
	if n.conditional {
		out.When = "true"
	}
	switch {
	case n.branches:
		out.Work = dag.Work{Branch: &dag.Branch{}}
		for _, c := range children {
			out.Branch.Cases = append(out.Branch.Cases, dag.Case{When: "true", To: []string{nodes[c].name}})
		}
	case n.splits:
		out.Shards, out.Success, out.FailFast = "2", n.success.text(), n.failFast
	}
	return out
}

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
	policy
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

// newShape builds the graph of some nodes and puts them where it has them.
func newShape(t require.TestingT, nodes []spec) shape {
	def := &dag.Definition{Meta: dag.Meta{Workflow: "random"}, Nodes: map[string]*dag.Node{}}
	for _, n := range nodes {
		def.Nodes[n.name] = n.node(nodes)
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
		needs := make([]int, len(n.needs))
		for j, p := range n.needs {
			needs[j] = place[p]
		}
		n.needs = needs
		s.nodes[place[i]] = n
	}
	return s
}

// node is the definition of a spec.
func (n spec) node(nodes []spec) *dag.Node {
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
	return out
}

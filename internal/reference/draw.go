package reference

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
)

// Options says what a random shape may have.
type Options struct {
	// Definition is the workflow but for its nodes.
	Definition dag.Definition
	MaxNodes   int
	Rules      []dag.Rule
	Policies   *rapid.Generator[Policy]
	// Rich shapes have conditions, branches and shards, with at most so many answers each.
	Rich    bool
	Answers int
	// FailFast lets shards stop each other.
	FailFast bool
	// Inputs are handed to the bodies.
	Inputs *rapid.Generator[map[string]any]
	// Works are what nodes do that neither branch nor split; nil ones have bodies.
	Works *rapid.Generator[*dag.Work]
	// Pools are those that nodes with bodies may use.
	Pools []string
}

// AllRules are the trigger rules.
var AllRules = []dag.Rule{
	dag.AllSuccess, dag.AllFailed, dag.AllDone, dag.OneSuccess, dag.OneFailed, dag.OneDone, dag.NoneFailed,
	dag.NoneFailedMinOneSuccess, dag.NoneSkipped, dag.Always,
}

// Policies draws from all that a node can do about failures.
func Policies(failures []dag.OnFailure, delays []time.Duration) *rapid.Generator[Policy] {
	return rapid.Custom(func(t *rapid.T) Policy {
		return Policy{
			OnFailure:   rapid.SampledFrom(failures).Draw(t, "on_failure"),
			Repeatable:  rapid.IntRange(0, 3).Draw(t, "repeatable") > 0,
			MaxAttempts: rapid.IntRange(1, 3).Draw(t, "max_attempts"),
			MaxLost:     rapid.IntRange(0, 2).Draw(t, "max_lost"),
			Delay:       rapid.SampledFrom(delays).Draw(t, "delay"),
			Only:        rapid.SampledFrom([][]string{nil, nil, {"busy"}}).Draw(t, "only"),
			Except:      rapid.SampledFrom([][]string{nil, nil, {"full"}}).Draw(t, "except"),
		}
	})
}

// Draw draws a workflow. Node i may need the ordinary nodes before it; the finally nodes come last.
func Draw(t *rapid.T, o Options) Shape {
	ordinary := rapid.IntRange(1, o.MaxNodes-2).Draw(t, "nodes")
	total := ordinary + rapid.IntRange(0, 2).Draw(t, "finally nodes")
	nodes := make([]Node, total)
	for i := range nodes {
		n := &nodes[i]
		n.Name, n.Finally, n.Policy = fmt.Sprintf("n%d", i), i >= ordinary, o.Policies.Draw(t, "policy")
		for p := range i {
			if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
				n.Needs = append(n.Needs, p)
			}
		}
		if !n.Finally {
			n.Rule = rapid.SampledFrom(fitting(o.Rules, len(n.Needs))).Draw(t, "rule")
		}
		if o.Inputs != nil {
			n.Inputs = o.Inputs.Draw(t, "inputs")
		}
	}
	for i := range nodes {
		if o.Rich {
			o.expressions(t, nodes, i)
		}
		o.work(t, &nodes[i])
	}
	s, err := New(o.Definition, nodes)
	if err != nil {
		t.Fatalf("a drawn workflow is not sound: %v", err)
	}
	return s
}

// work draws what a node does that does nothing special yet, and the pools of one with a body.
func (o Options) work(t *rapid.T, n *Node) {
	if o.Works != nil && !n.Branches && !n.Splits {
		n.Work = o.Works.Draw(t, "work")
	}
	for _, name := range o.Pools {
		if n.Work == nil && !n.Branches && rapid.IntRange(0, 4).Draw(t, "pool") == 0 {
			n.Pools = append(n.Pools, dag.PoolUse{Pool: name, Weight: rapid.IntRange(1, 2).Draw(t, "weight")})
		}
	}
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

// expressions gives some nodes a condition, and makes some branch or split.
func (o Options) expressions(t *rapid.T, nodes []Node, i int) {
	n := &nodes[i]
	children := ordinaryChildren(nodes, i)
	n.Conditional = rapid.IntRange(0, 3).Draw(t, "conditional") == 0
	switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
	case kind == 0:
		n.Splits, n.FailFast = true, o.FailFast && rapid.Bool().Draw(t, "fail_fast")
		n.Success = rapid.SampledFrom([]Success{{}, {}, {Any: true}, {AtLeast: 2}, {Percent: 50}, {Percent: 34}}).Draw(t, "success")
	case kind == 1 && !n.Finally:
		n.Branches = len(children) > 0
	}
	n.Answers = make([]Answer, rapid.IntRange(1, o.Answers).Draw(t, "generations"))
	breaks, depends := Breaks, Holds
	if n.OnFailure == dag.AbortRun {
		breaks = Holds // what else is decided at the very moment at which it aborts the run is left open
	}
	if len(n.Needs) > 0 && !n.Finally && !early(n.Rule) {
		depends = IfOutput
	}
	for g := range n.Answers {
		n.Answers[g] = Answer{
			When:  rapid.SampledFrom([]Verdict{Holds, Holds, depends, depends, Not, breaks}).Draw(t, "condition"),
			Work:  rapid.SampledFrom([]Verdict{Holds, Holds, Holds, Holds, breaks}).Draw(t, "work"),
			Total: rapid.IntRange(0, 4).Draw(t, "shards"),
		}
		for _, c := range children {
			if n.Branches && rapid.Bool().Draw(t, "taken") {
				n.Answers[g].Taken = append(n.Answers[g].Taken, c)
			}
		}
	}
}

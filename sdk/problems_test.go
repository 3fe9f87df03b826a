package sdk_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/sdk"
)

// Everything that can be wrong with a declaration is told at once, and nothing panics.
func TestDefinitionTellsEveryProblem(t *testing.T) {
	other := sdk.NewWorkflow("other")
	foreign := sdk.Node(other, "foreign", extract)
	var never sdk.Output[orders]

	wf := sdk.NewWorkflow("bad", nil, sdk.Defaults(sdk.Title("all alike")), sdk.WithParams[int](),
		sdk.WithParams[struct {
			Any  any            `json:"any"`
			Top  int            `json:"top" default:"ten"`
			Once map[string]int `json:"region"`
		}]())
	got := sdk.Node(wf, "extract", extract, nil)
	sdk.Node(wf, "extract", extract)
	sdk.Node[none, none](wf, "empty", nil)
	sdk.Node1(wf, "orphan", clean, never)
	sdk.Node1(wf, "stranger", clean, foreign, sdk.After(nil, never))
	same := func(context.Context, orders, orders) (none, error) { return none{}, nil }
	sdk.Node2(wf, "twice", same, got, got)
	risky := sdk.Node1(wf, "risky", clean, got, sdk.OnFailure(sdk.SkipNode), sdk.HandlerName("shared"))
	total := func(context.Context, cleaned) (none, error) { return none{}, nil }
	sdk.Node1(wf, "blind", total, risky, sdk.HandlerName("shared"))
	sdk.Node1(wf, "last", clean, got, sdk.Finally())
	sdk.Node1(wf, "done", clean, got, sdk.TriggerRule(sdk.AllDone))
	sdk.NodeIn(wf, "push", push, sdk.Inputs{"orders": risky, "clean": nil, "dayy": got})
	scalar := func(context.Context, int) (none, error) { return none{}, nil }
	sdk.NodeIn(wf, "scalar", scalar, nil)

	_, err := wf.Definition()
	require.ErrorContains(t, err, `declare workflow "bad"`)
	var problems dag.Problems
	require.True(t, errors.As(err, &problems))
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.Code+" "+p.String())
	}
	require.Equal(t, []string{
		`conflict defaults: only timeouts, retries and the queue can be defaults of all nodes`,
		`wrong_type params: parameters are the fields of a struct, and int is none`,
		`wrong_type params.any: interface {} is no type of a parameter: use a string, number, boolean, struct, map, slice or array`,
		`wrong_type params.top: the default "ten" is no JSON`,
		`duplicate_name params.region: the parameter is declared twice, and differently: as object and as string with default cn (which market)`,
		`duplicate_name nodes.extract: another node has this name`,
		`duplicate_name params.region: the parameter is declared twice, and differently: as object and as string with default cn (which market)`,
		`missing nodes.empty: the node has no function`,
		`unknown_node nodes.orphan.needs: the node depends on one that was never declared`,
		`unknown_node nodes.stranger.needs: After names a node that was never declared`,
		`unknown_node nodes.stranger.needs: the node depends on one that was never declared`,
		`unknown_node nodes.stranger.needs: the node depends on foreign of another workflow, other`,
		`duplicate_key nodes.twice.inputs.extract: the node takes the output of extract twice`,
		`wrong_type nodes.blind.inputs.risky: the output of risky may be null, and sdk_test.cleaned cannot hold null; take it with sdk.Maybe`,
		`duplicate_name nodes.blind.handler: another node has the handler "shared"`,
		`wrong_type nodes.last.inputs.extract: the output of extract may be null, and sdk_test.orders cannot hold null; take it with sdk.Maybe`,
		`wrong_type nodes.done.inputs.extract: the output of extract may be null, and sdk_test.orders cannot hold null; take it with sdk.Maybe`,
		`missing nodes.push.inputs.clean: the input has no source`,
		`unknown_key nodes.push.inputs.dayy: sdk_test.both has no such field; it has orders, clean, day, note`,
		`wrong_type nodes.push.inputs.orders: the field is a sdk_test.orders and cannot take a sdk_test.cleaned`,
		`missing nodes.push.inputs.day: the field day of sdk_test.both is given nothing`,
		`wrong_type nodes.scalar.inputs: the function of NodeIn takes a struct, not int`,
	}, lines)
}

package sdk_test

import (
	"context"
	"fmt"

	"github.com/ax-run/ax/sdk"
)

// Branches that may fail without failing the run, and a node that takes what they delivered. A branch that failed
// is nil.
func Example_join() {
	type Totals struct{ Sum int }
	type Regions struct {
		North *Totals `json:"north"`
		South *Totals `json:"south"`
		Day   string  `json:"day"`
	}
	totals := func(context.Context, struct{}) (Totals, error) { return Totals{}, nil }
	rank := func(context.Context, Regions) (string, error) { return "", nil }

	wf := sdk.NewWorkflow("report.regions")
	north := sdk.Node(wf, "north", totals, sdk.OnFailure(sdk.SkipNode))
	south := sdk.Node(wf, "south", totals, sdk.OnFailure(sdk.SkipNode))
	sdk.NodeIn(wf, "rank", rank, sdk.Inputs{"north": north, "south": south, "day": sdk.Expr[string]("logical_date")})

	def, err := wf.Definition()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"north", "south", "day"} {
		fmt.Println(name, "=", def.Nodes["rank"].Inputs[name])
	}
	// Output:
	// north = ${{ nodes.north.output }}
	// south = ${{ nodes.south.output }}
	// day = ${{ logical_date }}
}

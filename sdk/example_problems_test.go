package sdk_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/sdk"
)

// What the compiler cannot see is told by Definition, all of it at once.
func ExampleWorkflow_Definition_problems() {
	load := func(context.Context, struct{}) (int, error) { return 1, nil }
	double := func(_ context.Context, n int) (int, error) { return 2 * n, nil }

	wf := sdk.NewWorkflow("numbers")
	risky := sdk.Node(wf, "load", load, sdk.OnFailure(sdk.SkipNode))
	sdk.Node1(wf, "double", double, risky)
	sdk.Node(wf, "load", load)

	_, err := wf.Definition()
	var problems dag.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			fmt.Println(p)
		}
	}
	// Output:
	// nodes.double.inputs.load: the output of load may be null, and int cannot hold null; take it with sdk.Maybe
	// nodes.load: another node has this name
}

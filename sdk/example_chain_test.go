package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ax-run/ax/sdk"
)

// A chain of two functions. The variable extract is the edge: misspelt it does not compile, and clean must take what
// extract gives.
func Example_chain() {
	type Params struct {
		Region string `json:"region" default:"cn" doc:"which market"`
	}
	type Orders struct {
		Rows []string `json:"rows"`
	}
	extractOrders := func(_ context.Context, p Params) (Orders, error) {
		return Orders{Rows: []string{p.Region + "-1", p.Region + "-2"}}, nil
	}
	countOrders := func(_ context.Context, in Orders) (int, error) { return len(in.Rows), nil }

	wf := sdk.NewWorkflow("report.daily", sdk.Cron("0 30 2 * * ?", "Asia/Shanghai"))
	extract := sdk.Node(wf, "extract", extractOrders, sdk.Timeout(30*time.Minute))
	sdk.Node1(wf, "count", countOrders, extract)

	def, err := wf.Definition()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("count needs", def.Nodes["count"].Needs, "and takes", def.Nodes["count"].Inputs)
	fmt.Println("region is a", def.Params["region"].Type, "and by default", def.Params["region"].Default)

	// Handlers are ordinary functions over JSON: a test may call them without a database.
	out, err := wf.Handlers()["report.daily.extract"](context.Background(), sdk.Call{Params: json.RawMessage(`{"region": "us"}`)})
	fmt.Println(string(out), err)
	// Output:
	// count needs [extract] and takes map[extract:${{ nodes.extract.output }}]
	// region is a string and by default cn
	// {"rows":["us-1","us-2"]} <nil>
}

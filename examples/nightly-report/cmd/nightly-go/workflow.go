package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/examples/nightly-report/report"
	"github.com/ax-run/ax/sdk"
)

const (
	code     = "report.nightly_flights_go"
	timezone = "Asia/Shanghai"
	// startsAt is the time of day of the schedule.
	startsAt = 2*time.Hour + 30*time.Minute
)

// params are the parameters of a run.
type params struct {
	Folder string `json:"folder" default:"reports" doc:"where the page is published"`
}

// The inputs of steps that take more than their parent's output.
type (
	publishInput struct {
		Page   report.Page `json:"page"`
		Folder string      `json:"folder"`
	}
	cleanupInput struct {
		report.Request
		Folder string `json:"folder"`
	}
)

// workflow is the chain of workflow.yaml, in Go.
func workflow() *sdk.Workflow {
	wf := sdk.NewWorkflow(code, sdk.WithParams[params](),
		sdk.Title("Nightly flight delays"),
		sdk.Description("For a business date, sums up flight delays by state of origin and publishes a page."),
		sdk.Owner("data-team"), sdk.Tags("report", "nightly"), sdk.Timeout(30*time.Minute),
		sdk.Schedule(dag.Schedule{Name: "nightly", Cron: "0 30 2 * * ?", Timezone: timezone}),
		sdk.Defaults(sdk.Timeout(time.Minute), sdk.MaxAttempts(3), sdk.Exponential(time.Second, 2, 30*time.Second)))
	date, folder := sdk.Expr[string]("logical_date"), sdk.Expr[string]("params.folder")

	extract := sdk.NodeIn(wf, "extract", step(report.Extract), sdk.Inputs{"date": date}, sdk.Title("Pick the flights of the date"))
	validate := sdk.Node1(wf, "validate", step(report.Validate), extract, sdk.Title("Check the flights"))

	// A branch that meets a dirty record fails for good and is skipped: its Totals are nil.
	branch := func(r report.Region) sdk.Output[report.Totals] {
		return sdk.Node1(wf, string(r), step(report.Aggregate(r)), validate, sdk.OnFailure(sdk.SkipNode))
	}
	worst := sdk.NodeIn(wf, "worst", step(report.WorstDelays), sdk.Inputs{
		"northeast":   branch(report.Northeast),
		"midwest":     branch(report.Midwest),
		"south":       branch(report.South),
		"west":        branch(report.West),
		"territories": branch(report.Territories),
	}, sdk.Title("Rank the worst delays"))

	page := sdk.NodeIn(wf, "render", step(report.Render), sdk.Inputs{"day": validate, "ranking": worst}, sdk.Title("Draw the page"))
	published := sdk.NodeIn(wf, "publish", step(func(ctx context.Context, in publishInput) (report.Published, error) {
		return report.Publish(in.Folder)(ctx, in.Page)
	}), sdk.Inputs{"page": page, "folder": folder}, sdk.Title("Publish the page"))
	sdk.NodeIn(wf, "cleanup", step(func(ctx context.Context, in cleanupInput) (report.Cleaned, error) {
		return report.Cleanup(in.Folder)(ctx, in.Request)
	}), sdk.Inputs{"date": date, "folder": folder}, sdk.After(published), sdk.Finally(), sdk.Title("Remove what a killed publish left"))
	return wf
}

// step logs what a step of the report has done, and makes wrong data final: trying again cannot help.
func step[In any, Out fmt.Stringer](body func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		out, err := body(ctx, in)
		var wrong *report.DataError
		if errors.As(err, &wrong) {
			return out, sdk.PermanentCode("wrong_data", err)
		}
		if err == nil {
			sdk.Logger(ctx).Info(out.String())
		}
		return out, err
	}
}

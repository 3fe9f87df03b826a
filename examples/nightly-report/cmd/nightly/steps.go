package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ax-run/ax/examples/nightly-report/report"
)

// step is one step over JSON.
type step func(ctx context.Context, input []byte) (fmt.Stringer, error)

// The inputs of steps, under the names that workflow.yaml gives them.
type (
	flightsInput struct {
		Flights report.Day `json:"flights"`
	}
	dayInput struct {
		Day report.Checked `json:"day"`
	}
	publishInput struct {
		Page   report.Page `json:"page"`
		Folder string      `json:"folder"`
	}
	cleanupInput struct {
		report.Request
		Folder string `json:"folder"`
	}
)

// find returns the step that the arguments name.
func find(args []string) (step, error) {
	if len(args) == 2 && args[0] == "aggregate" {
		return aggregate(report.Region(args[1]))
	}
	if len(args) != 1 {
		return nil, usageError(usage)
	}
	switch args[0] {
	case "extract":
		return over(report.Extract), nil
	case "validate":
		return over(func(ctx context.Context, in flightsInput) (report.Checked, error) {
			return report.Validate(ctx, in.Flights)
		}), nil
	case "worst":
		return over(report.WorstDelays), nil
	case "render":
		return over(report.Render), nil
	case "publish":
		return over(publish), nil
	case "cleanup":
		return over(func(ctx context.Context, in cleanupInput) (report.Cleaned, error) {
			return report.Cleanup(in.Folder)(ctx, in.Request)
		}), nil
	}
	return nil, usageError(fmt.Sprintf("there is no step %q\n%s", args[0], usage))
}

func aggregate(region report.Region) (step, error) {
	if !slices.Contains(report.Regions(), region) {
		return nil, usageError(fmt.Sprintf("there is no region %q, only %v", region, report.Regions()))
	}
	return over(func(ctx context.Context, in dayInput) (report.Totals, error) {
		return report.Aggregate(region)(ctx, in.Day)
	}), nil
}

// publish wants an absolute folder: a command's own folder is removed when it ends, with all that is in it.
func publish(ctx context.Context, in publishInput) (report.Published, error) {
	if in.Folder != "" && !filepath.IsAbs(in.Folder) {
		return report.Published{}, &report.DataError{Subject: in.Page.Date, Problems: []string{
			fmt.Sprintf("the folder %q is relative to a folder that is removed when this step ends: name an absolute one", in.Folder)}}
	}
	return report.Publish(in.Folder)(ctx, in.Page)
}

// over turns a typed step into one over JSON. Inputs that do not fit are a *report.DataError.
func over[In any, Out fmt.Stringer](body func(context.Context, In) (Out, error)) step {
	return func(ctx context.Context, input []byte) (fmt.Stringer, error) {
		var in In
		d := json.NewDecoder(bytes.NewReader(input))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			return nil, &report.DataError{Subject: "inputs", Problems: []string{err.Error()}}
		}
		return body(ctx, in)
	}
}

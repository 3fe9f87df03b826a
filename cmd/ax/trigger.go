package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

// triggerFlags are what a run is to be started with.
type triggerFlags struct {
	params                  []string
	paramsFile, logicalTime string
	runAt                   string
	version                 int
	only                    []string
	inputsFile              string
	wait, quiet             bool
	timeout                 time.Duration
}

func newTrigger(c *call) *cobra.Command {
	var f triggerFlags
	cmd := &cobra.Command{
		Use:   "trigger WORKFLOW",
		Short: "Start a run",
		Long:  "Starts a run of a workflow's newest version, or of another one, or a test run of some nodes. With --wait it waits for the end, and exits by it: 0 succeeded, 9 not, 8 still running.",
		Args:  cobra.ExactArgs(1),
		Example: "  ax trigger report.daily_sales --param region=cn --wait\n" +
			"  ax trigger report.daily_sales --logical-time 2026-11-30T02:30:00+08:00\n" +
			"  ax trigger report.daily_sales --run-at 2h\n" +
			"  ax trigger report.daily_sales --only clean --wait",
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			body, err := c.triggerBody(cmd.Context(), client, args[0], f)
			if err != nil {
				return err
			}
			run, err := client.trigger(cmd.Context(), args[0], body)
			if err != nil {
				return err
			}
			return c.triggered(cmd.Context(), client, run, f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.params, "param", "p", nil, "a parameter, as NAME=VALUE; may be said several times")
	flags.StringVar(&f.paramsFile, "params-file", "", "a YAML or JSON file with parameters; - is standard input")
	flags.StringVar(&f.logicalTime, "logical-time", "", "the time the run is for (RFC 3339); now when left out")
	flags.StringVar(&f.runAt, "run-at", "", "start at this instant (RFC 3339, or 2h from now) instead of now")
	versionFlag(cmd, &f.version, "another version than the newest")
	flags.StringArrayVar(&f.only, "only", nil, "a test run: only this node runs, the others count as succeeded; may be said several times")
	flags.StringVar(&f.inputsFile, "inputs-file", "", "in a test run, a YAML or JSON file with the outputs of nodes that do not run, by their names")
	flags.BoolVar(&f.wait, "wait", false, "wait until the run has ended, and show it")
	timeoutFlag(cmd, &f.timeout)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "write only the run's id")
	return cmd
}

func (c *call) triggerBody(ctx context.Context, client *client, workflow string, f triggerFlags) (api.TriggerBody, error) {
	var body api.TriggerBody
	if f.logicalTime != "" {
		at, err := c.instant("logical-time", f.logicalTime)
		if err != nil {
			return body, err
		}
		body.LogicalTime = &at
	}
	if f.runAt != "" {
		at, err := c.instant("run-at", f.runAt)
		if err != nil {
			return body, err
		}
		body.RunAt = &at
	}
	if f.version != 0 {
		body.Version = &f.version
	}
	body.OnlyNodes = f.only
	if f.inputsFile != "" {
		outputs, err := c.readParams(ctx, f.inputsFile)
		if err != nil {
			return body, err
		}
		body.Inputs = outputs
	}
	var err error
	body.Params, err = c.givenParams(ctx, client, workflow, f.params, f.paramsFile)
	return body, err
}

// givenParams are the parameters of a file and those said; nil for none.
func (c *call) givenParams(ctx context.Context, client *client, workflow string, said []string, file string) (api.Object, error) {
	if len(said) == 0 && file == "" {
		return nil, nil
	}
	values, err := c.readParams(ctx, file)
	if err != nil {
		return nil, err
	}
	if len(said) > 0 {
		w, err := client.workflow(ctx, workflow)
		if err != nil {
			return nil, err
		}
		if err := setParams(values, said, w.Definition); err != nil {
			return nil, err
		}
	}
	return paramsObject(values)
}

// triggered tells of the run that was started, and waits for it if that is wanted.
func (c *call) triggered(ctx context.Context, client *client, run api.RunDetail, f triggerFlags) error {
	switch {
	case f.quiet:
		if _, err := fmt.Fprintln(c.out, run.ID); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		if !f.wait {
			return nil
		}
		state, err := c.wait(ctx, client, run.ID, f.timeout)
		if err == nil && state != "succeeded" {
			return silent(exitUnsuccess)
		}
		return err
	case f.wait:
		if c.output == outputTable {
			c.sayf("started run %s", run.ID)
		}
		return c.waitAndShow(ctx, client, run.ID, f.timeout)
	}
	return c.show(run, func() string {
		if run.RunAt != nil {
			return fmt.Sprintf("run %s of %s starts at %s: `ax cancel %s` calls it off\n", run.ID, run.Workflow, c.timeIn(run.RunAt, run.Timezone), run.ID)
		}
		return fmt.Sprintf("started run %s of %s: look at it with `ax run %s`\n", run.ID, run.Workflow, run.ID)
	})
}

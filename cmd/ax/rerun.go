package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

// rerunFlags are what is to run again.
type rerunFlags struct {
	plannedFlags
	scope   string
	version int
	wait    bool
	timeout time.Duration
}

func newRerun(c *call) *cobra.Command {
	return rerunCommand(c, "rerun", &cobra.Command{
		Use:   "rerun RUN [NODE...]",
		Short: "Run nodes of a run again",
		Long: "Runs nodes of a run again, in the same run: those named and all that comes after them, or without names everything that failed and\n" +
			"what that blocked. What was derived from them is decided again. " + plannedHelp,
		Example: "  ax rerun 38hcj0w3c0002\n  ax rerun 38hcj0w3c0002 clean --scope node --yes --wait",
	})
}

func newReplay(c *call) *cobra.Command {
	return rerunCommand(c, "replay", &cobra.Command{
		Use:   "replay RUN [NODE...]",
		Short: "Repeat an ended run as a new one",
		Long: "Makes a new run of an ended one, for the same time with the same parameters. What succeeded is taken over with its outputs; what is\n" +
			"named, what failed, and what another version has changed runs again. " + plannedHelp,
		Example: "  ax replay 38hcj0w3c0002\n  ax replay 38hcj0w3c0002 --version 4 --wait",
	})
}

func rerunCommand(c *call, verb string, cmd *cobra.Command) *cobra.Command {
	var f rerunFlags
	cmd.Args = cobra.MinimumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.rerun(cmd.Context(), verb, args, f)
	}
	flags := cmd.Flags()
	flags.StringVar(&f.scope, "scope", "", "how far it reaches: node, downstream, failed, all or failed_shards; downstream with names, else failed")
	versionFlag(cmd, &f.version, "the version to run with, which makes a new run")
	flags.BoolVar(&f.wait, "wait", false, "wait until the run has ended, and show it")
	timeoutFlag(cmd, &f.timeout)
	f.add(cmd)
	return cmd
}

func (c *call) rerun(ctx context.Context, verb string, args []string, f rerunFlags) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	body := api.RerunBody{Scope: f.scope, Nodes: args[1:], Reason: f.reason}
	if f.version != 0 {
		body.Version = &f.version
	}
	var run api.RunDetail
	done, err := c.perform(ctx, client, f.plannedFlags, deed{client.path("runs", args[0], verb), func(token api.PlanToken) any {
		body.PlanToken = token
		return body
	}}, &run)
	switch {
	case err != nil || !done:
		return err
	case f.wait:
		return c.waitAndShow(ctx, client, run.ID, f.timeout)
	}
	return c.show(run, func() string {
		return fmt.Sprintf("run %s is %s: look at it with `ax run %s`\n", run.ID, run.State, run.ID)
	})
}

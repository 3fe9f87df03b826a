package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

func newHold(c *call) *cobra.Command {
	return holdCommand(c, "hold", "nothing new of it starts until `ax release %s`", &cobra.Command{
		Use:   "hold RUN",
		Short: "Let nothing new of a run start",
		Long:  "Lets nothing new of a run start until `ax release`. What runs of it goes on to its end.",
	})
}

func newRelease(c *call) *cobra.Command {
	return holdCommand(c, "release", "look at it with `ax run %s`", &cobra.Command{
		Use:   "release RUN",
		Short: "Let a held run go on",
	})
}

func holdCommand(c *call, verb, next string, cmd *cobra.Command) *cobra.Command {
	f := plannedFlags{yes: true}
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.hold(cmd.Context(), verb, next, args[0], f) }
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the record")
	return cmd
}

func (c *call) hold(ctx context.Context, verb, next, id string, f plannedFlags) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	var run api.RunDetail
	_, err = c.perform(ctx, client, f, deed{client.path("runs", id, verb), func(token api.PlanToken) any {
		return api.ActBody{Reason: f.reason, PlanToken: token}
	}}, &run)
	if err != nil {
		return err
	}
	return c.show(run, func() string {
		return fmt.Sprintf("run %s: "+next+"\n", run.ID, run.ID)
	})
}

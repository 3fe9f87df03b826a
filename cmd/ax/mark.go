package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

func newMark(c *call) *cobra.Command {
	var f plannedFlags
	cmd := &cobra.Command{
		Use:   "mark RUN:NODE succeeded|failed|skipped",
		Short: "Give a stuck or ended node a state by hand",
		Long:  "Gives a node a state by hand, and decides again what follows from it: what it had blocked may run. " + plannedHelp,
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.onNode(cmd.Context(), args[0], "mark", f, func(token api.PlanToken) any {
				return api.MarkBody{State: args[1], Reason: f.reason, PlanToken: token}
			})
		},
	}
	f.add(cmd)
	return cmd
}

func newApprove(c *call) *cobra.Command {
	f := plannedFlags{yes: true}
	var refuse bool
	cmd := &cobra.Command{
		Use:   "approve RUN:NODE",
		Short: "Approve what waits for a person, or refuse it",
		Long:  "Approves a node that waits for a person, so that what follows it goes on. With --refuse the node fails for good.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.onNode(cmd.Context(), args[0], "approve", f, func(token api.PlanToken) any {
				return api.ApproveBody{Approved: new(!refuse), Reason: f.reason, PlanToken: token}
			})
		},
	}
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the record and for the nodes that follow")
	cmd.Flags().BoolVar(&refuse, "refuse", false, "refuse instead")
	return cmd
}

// onNode does something to one node run, and says what it is then.
func (c *call) onNode(ctx context.Context, id, verb string, f plannedFlags, body func(api.PlanToken) any) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	var node api.NodeRunDetail
	done, err := c.perform(ctx, client, f, deed{client.path("node-runs", id, verb), body}, &node)
	if err != nil || !done {
		return err
	}
	return c.show(node, func() string { return fmt.Sprintf("%s of run %s is %s\n", node.Node, node.Run, node.State) })
}

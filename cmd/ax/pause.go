package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newPause(c *call) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "pause WORKFLOW",
		Short: "Let a workflow's schedules start nothing",
		Long: "Lets a workflow's schedules start nothing until `ax resume`. What runs goes on, and runs can still be started by hand.\n" +
			"Fires in the meantime are recorded as skipped.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			w, err := client.pauseWorkflow(cmd.Context(), args[0], reason)
			if err != nil {
				return err
			}
			return c.show(w, func() string {
				return fmt.Sprintf("%s is paused: its schedules start nothing until `ax resume %s`\n", w.Workflow.Workflow, w.Workflow.Workflow)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

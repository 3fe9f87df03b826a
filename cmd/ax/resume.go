package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newResume(c *call) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "resume WORKFLOW",
		Short: "Let a paused workflow's schedules start runs again",
		Long:  "Lets a paused workflow's schedules start runs again, from now on: fires of the time in between are not made up.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			w, err := client.resumeWorkflow(cmd.Context(), args[0], reason)
			if err != nil {
				return err
			}
			return c.show(w, func() string {
				next := ""
				if w.NextFireAt != nil {
					next = "; its next fire is " + c.timeText(w.NextFireAt)
				}
				return fmt.Sprintf("%s is resumed%s\n", w.Workflow.Workflow, next)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

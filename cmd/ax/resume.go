package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

func newResume(c *call) *cobra.Command {
	var body api.ResumeBody
	cmd := &cobra.Command{
		Use:   "resume WORKFLOW",
		Short: "Let a paused workflow's schedules start runs again",
		Long: "Lets a paused workflow's schedules start runs again, from now on. Fires of the time in between are not made up, unless\n" +
			"--catchup says so: the latest of each schedule, or all up to its catchup_limit. Delayed runs whose time has come start.",
		Example: "  ax resume report.daily_sales --catchup latest",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			w, err := client.resumeWorkflow(cmd.Context(), args[0], body)
			if err != nil {
				return err
			}
			return c.show(w, func() string {
				next := ""
				if w.NextFireAt != nil {
					next = "; its next fire is " + c.timeText(w.NextFireAt)
				}
				made := ""
				if len(w.Filled) > 0 {
					made = "; " + counted(len(w.Filled), "run") + " made up"
				}
				return fmt.Sprintf("%s is resumed%s%s\n", w.Workflow.Workflow, made, next)
			})
		},
	}
	cmd.Flags().StringVar(&body.Reason, "reason", "", "why, for the record")
	cmd.Flags().StringVar(&body.Catchup, "catchup", "", "what to make up: none, latest or all; none when left out")
	return cmd
}

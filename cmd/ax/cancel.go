package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newCancel(c *call) *cobra.Command {
	var reason string
	var yes bool
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "Cancel a run",
		Long: "Stops what runs of a run, and cancels what has not begun. Its `finally` nodes still run; cancelling once more stops them too.\n" +
			"It asks first; --yes does it without.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			run, err := client.run(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			what := fmt.Sprintf("cancel run %s of %s for %s, which is %s", run.ID, run.Workflow, run.LogicalDate, run.State)
			if !ended(run.State) { // the server says why an ended one cannot be
				if err := c.confirm(cmd.Context(), yes, what); err != nil {
					return err
				}
			}
			if run, err = client.cancel(cmd.Context(), run.ID, reason); err != nil {
				return err
			}
			return c.show(run, func() string {
				if ended(run.State) {
					return fmt.Sprintf("run %s will not start\n", run.ID)
				}
				return fmt.Sprintf("run %s is being canceled: wait for its end with `ax run %s --wait`\n", run.ID, run.ID)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

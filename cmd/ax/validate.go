package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/dag"
)

func newValidate(c *call) *cobra.Command {
	var opt dag.BuildOptions
	cmd := &cobra.Command{
		Use:   "validate FILE|FOLDER...",
		Short: "Check definitions without a server",
		Long: "Checks definitions without a server and lists everything that is wrong with them, each problem with its file, line and column,\n" +
			"its code and a hint. It exits with 2 when one is refused. - reads standard input.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := c.readDefinitions(cmd.Context(), args, opt)
			if err != nil {
				return err
			}
			files := struct {
				Files []*definition `json:"files"`
			}{all}
			if err := c.show(files, func() string { return validationText(all, c.colour) }); err != nil {
				return err
			}
			return invalid(all, "")
		},
	}
	timezoneFlag(cmd, &opt.DefaultTimezone)
	return cmd
}

func timezoneFlag(cmd *cobra.Command, zone *string) {
	cmd.Flags().StringVar(zone, "default-timezone", dag.DefaultTimezone, "the zone of schedules that name none")
}

func validationText(all []*definition, colours bool) string {
	var b strings.Builder
	for _, d := range all {
		b.WriteString(problemsText(d.File, d.Problems, colours))
		if d.Valid {
			fmt.Fprintf(&b, "%s: %s: workflow %s, %s\n", printable(d.File), green.paint("ok", colours), d.Workflow, counted(d.Nodes, "node"))
		}
	}
	return b.String()
}

package main

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

func newFires(c *call) *cobra.Command {
	var from, to string
	var limit int
	cmd := &cobra.Command{
		Use:     "fires WORKFLOW",
		Short:   "List what became of a workflow's fires, and those to come",
		Long:    "Lists the fires of a workflow's schedules, newest first: what became of each, and with --to in the future those to come.",
		Example: "  ax fires report.daily_sales --from -48h --to 24h",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := url.Values{}
			if err := c.setSpan(query, from, to); err != nil {
				return err
			}
			if err := checkLimit(limit); err != nil {
				return err
			}
			client, err := c.client()
			if err != nil {
				return err
			}
			page, err := client.fires(cmd.Context(), args[0], query, limit)
			if err != nil {
				return err
			}
			return c.show(page, func() string { return c.firesTable(page) })
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "only fires scheduled at this instant or later (RFC 3339, or -48h)")
	cmd.Flags().StringVar(&to, "to", "", "only fires scheduled before this instant; now when left out")
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "how many at most")
	return cmd
}

func (c *call) firesTable(page api.FirePage) string {
	t := table{header: []string{"SCHEDULED", "SCHEDULE", "RESULT", "COUNT", "RUN", "REASON"}}
	for _, f := range page.Items {
		at := c.timeIn(&f.ScheduledAt, f.Timezone)
		if f.Until != nil {
			at += " – " + c.timeIn(f.Until, f.Timezone)
		}
		result := stateCell(f.Result)
		if f.Kind == "fill" {
			result.text += " (made up)"
		}
		t.add(plain(at), plain(f.Schedule), result, plain(strconv.Itoa(f.Count)), plain(f.Run), plain(shorten(f.Reason)))
	}
	text := t.render(c.colour)
	if page.NextCursor != "" {
		text += "… there are more: ask for them with --limit\n"
	}
	if page.PrunedUntil != nil {
		text += fmt.Sprintf("… what was up to %s is not kept any more\n", c.timeText(page.PrunedUntil))
	}
	return text
}

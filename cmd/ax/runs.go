package main

import (
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

// runsFlags are what `ax runs` may be asked.
type runsFlags struct {
	state, from, to, logicalDate string
	limit                        int
	delayed                      bool
}

func newRuns(c *call) *cobra.Command {
	var f runsFlags
	cmd := &cobra.Command{
		Use:   "runs [WORKFLOW]",
		Short: "List runs, newest first",
		Args:  cobra.MaximumNArgs(1),
		Example: "  ax runs report.daily_sales --state failed\n" +
			"  ax runs --from -24h",
		RunE: func(cmd *cobra.Command, args []string) error {
			query, err := c.runsQuery(f, args)
			if err != nil {
				return err
			}
			client, err := c.client()
			if err != nil {
				return err
			}
			if f.delayed {
				return c.showDelayed(cmd.Context(), client, query, f.limit)
			}
			page, err := client.runs(cmd.Context(), query, f.limit)
			if err != nil {
				return err
			}
			return c.show(page, func() string { return c.runsTable(page) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.state, "state", "", "only runs in this state: queued, running, succeeded, failed, canceled or skipped")
	flags.StringVar(&f.from, "from", "", "only runs created at this instant or later (RFC 3339, or -2h)")
	flags.StringVar(&f.to, "to", "", "only runs created before this instant")
	flags.StringVar(&f.logicalDate, "logical-date", "", "only runs for this date, such as 2026-11-30")
	flags.BoolVar(&f.delayed, "delayed", false, "runs asked for in advance that wait to start")
	flags.IntVarP(&f.limit, "limit", "n", 50, "how many at most")
	return cmd
}

func (c *call) runsQuery(f runsFlags, args []string) (url.Values, error) {
	query := url.Values{}
	if len(args) > 0 {
		query.Set("workflow", args[0])
	}
	if f.state != "" {
		query.Set("state", f.state)
	}
	if f.logicalDate != "" {
		query.Set("logical_date", f.logicalDate)
	}
	if err := c.setSpan(query, f.from, f.to); err != nil {
		return nil, err
	}
	return query, checkLimit(f.limit)
}

// setSpan puts the bounds of time into a query.
func (c *call) setSpan(query url.Values, from, to string) error {
	for _, bound := range []struct{ name, text string }{{"from", from}, {"to", to}} {
		at, err := c.instant(bound.name, bound.text)
		if err != nil {
			return err
		}
		if !at.IsZero() {
			query.Set(bound.name, at.Format(time.RFC3339Nano))
		}
	}
	return nil
}

func checkLimit(limit int) error {
	if limit < 1 {
		return failure(exitUsage, "--limit %d is too small: ask for one or more", limit)
	}
	return nil
}

func (c *call) runsTable(page api.Page[api.Run]) string {
	t := table{header: []string{"RUN", "WORKFLOW", "VERSION", "STATE", "DATE", "TRIGGER", "CREATED", "TOOK", "NOTE"}}
	for _, r := range page.Items {
		t.add(plain(r.ID), plain(r.Workflow), plain(strconv.Itoa(r.Version)), stateCell(r.State), plain(r.LogicalDate), plain(r.Trigger),
			plain(c.timeIn(&r.CreatedAt, r.Timezone)), plain(millisText(r.DurationMS)), plain(runNote(r)))
	}
	text := t.render(c.colour)
	if page.NextCursor != "" {
		text += "… there are more: ask for them with --limit\n"
	}
	return text
}

// runNote is what else is to know of a run.
func runNote(r api.Run) string {
	switch {
	case r.Canceling:
		return "is being canceled"
	case r.TimedOut:
		return "timed out"
	case r.Warnings > 0:
		return counted(r.Warnings, "warning")
	case r.State == "failed" || r.State == "skipped" || r.State == "canceled":
		return shorten(r.Reason)
	}
	return ""
}

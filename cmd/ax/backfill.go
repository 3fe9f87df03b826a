package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

func (c *client) backfill(ctx context.Context, id string) (b api.Backfill, err error) {
	return b, c.get(ctx, c.path("backfills", id), nil, &b)
}

func newBackfill(c *call) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backfill",
		Short: "Make the runs that a stretch of the past lacks, or make them anew",
		Long: "Makes the runs of a stretch of the past: for instants of a workflow's schedules that have none, and if wanted for others too. Runs are\n" +
			"made a few at a time, give way to all others of the workflow, and survive restarts of any process.",
		RunE: needVerb,
	}
	cmd.AddCommand(newBackfillCreate(c), newBackfillList(c), newBackfillShow(c),
		backfillAct(c, "pause", &cobra.Command{Use: "pause BACKFILL", Short: "Let a backfill make no more runs for now", Example: "  ax backfill pause 38hcj0w3c0002 --reason \"month end\""}),
		backfillAct(c, "resume", &cobra.Command{Use: "resume BACKFILL", Short: "Let a paused backfill go on", Example: "  ax backfill resume 38hcj0w3c0002"}),
		backfillAct(c, "cancel", &cobra.Command{Use: "cancel BACKFILL", Short: "End a backfill, and cancel its runs that go on", Example: "  ax backfill cancel 38hcj0w3c0002"}),
		backfillAct(c, "retry_failed", &cobra.Command{Use: "retry BACKFILL", Aliases: []string{"retry-failed"}, Short: "Try again what has failed of a backfill",
			Example: "  ax backfill retry 38hcj0w3c0002 --wait"}))
	return cmd
}

func newBackfillList(c *call) *cobra.Command {
	var workflow, state string
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List backfills, newest first", Args: cobra.NoArgs, Example: "  ax backfill list --state running",
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{}
			for name, value := range map[string]string{"workflow": workflow, "state": state} {
				if value != "" {
					query.Set(name, value)
				}
			}
			if err := checkLimit(limit); err != nil {
				return err
			}
			client, err := c.client()
			if err != nil {
				return err
			}
			page, err := pages[api.Backfill](cmd.Context(), client, client.path("backfills"), query, limit)
			if err != nil {
				return err
			}
			return c.show(page, func() string { return c.backfillTable(page) })
		},
	}
	cmd.Flags().StringVar(&workflow, "workflow", "", "only those of this workflow")
	cmd.Flags().StringVar(&state, "state", "", "only those in this state: running, paused, completed, completed_with_failures or canceled")
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "how many at most")
	return cmd
}

func (c *call) backfillTable(page api.Page[api.Backfill]) string {
	t := table{header: []string{"BACKFILL", "WORKFLOW", "FROM", "TO", "STATE", "PROGRESS", "FAILED", "MADE"}}
	for _, b := range page.Items {
		t.add(plain(b.ID), plain(b.Workflow), plain(b.From), plain(b.To), stateCell(b.State), plain(progressOf(b)), plain(fmt.Sprint(b.Progress.Failed)), plain(c.timeText(&b.CreatedAt)))
	}
	text := t.render(c.colour)
	if page.NextCursor != "" {
		text += "… there are more: ask for them with --limit\n"
	}
	return text
}

// progressOf is how many of a backfill's instants are done, and how many there are.
func progressOf(b api.Backfill) string {
	p := b.Progress
	return fmt.Sprintf("%d/%d", p.Passed+p.Succeeded+p.Failed, p.Total)
}

func newBackfillShow(c *call) *cobra.Command {
	var wait backfillWait
	cmd := &cobra.Command{
		Use: "show BACKFILL", Aliases: []string{"get"}, Short: "Show a backfill, how far it is and what failed", Args: cobra.ExactArgs(1),
		Example: "  ax backfill show 38hcj0w3c0002 --wait",
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			b, err := client.backfill(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.backfillEnd(cmd.Context(), client, b, wait)
		},
	}
	wait.add(cmd)
	return cmd
}

// maxFailedSlots is how many failed instants are shown to a person.
const maxFailedSlots = 20

func (c *call) showBackfill(ctx context.Context, client *client, b api.Backfill) error {
	var failed api.Page[api.BackfillSlot]
	if b.Progress.Failed > 0 && c.output == outputTable {
		var err error
		query := url.Values{"state": {"failed"}}
		if failed, err = pages[api.BackfillSlot](ctx, client, client.path("backfills", b.ID, "slots"), query, maxFailedSlots); err != nil {
			return err
		}
	}
	return c.show(b, func() string { return c.backfillText(b, failed) })
}

func (c *call) backfillText(b api.Backfill, failed api.Page[api.BackfillSlot]) string {
	p := b.Progress
	to := b.To
	if to == "" {
		to = "when it was made"
	}
	version := "the newest"
	if b.Version != nil {
		version = fmt.Sprint(*b.Version)
	}
	text := fields(c.colour, field("backfill", b.ID), field("workflow", b.Workflow), field("schedules", strings.Join(b.Schedules, ", ")),
		field("from", b.From), field("to", to), field("reprocess", b.Reprocess), field("order", b.Order+" first"), field("at once", fmt.Sprint(b.MaxRuns)),
		field("version", version), [2]cell{{"state", faint}, stateCell(b.State)}, field("problem", shorten(b.Problem)), field("reason", shorten(b.Reason)), field("made by", b.Actor), field("changed by", b.ChangedBy),
		field("done", fmt.Sprintf("%s: %d succeeded, %d failed, %d had nothing to do", progressOf(b), p.Succeeded, p.Failed, p.Passed)),
		field("now", fmt.Sprintf("%d active, %d waiting, %d left", p.Active, p.Waiting, p.Left)),
		field("made", c.timeText(&b.CreatedAt)), field("ended", c.timeText(b.EndedAt)))
	if len(failed.Items) == 0 {
		return text
	}
	t := table{header: []string{"SCHEDULED", "SCHEDULE", "RUN", "FAILED WITH"}}
	for _, s := range failed.Items {
		t.add(plain(c.timeText(&s.ScheduledAt)), plain(s.Schedule), plain(s.Run), plain(shorten(s.Reason)))
	}
	text += "\n" + t.render(c.colour)
	if more := p.Failed - len(failed.Items); more > 0 {
		text += fmt.Sprintf("… and %d more\n", more)
	}
	return text
}

// backfillAct makes the command of something that is done to a backfill.
func backfillAct(c *call, verb string, cmd *cobra.Command) *cobra.Command {
	var planned plannedFlags
	var wait backfillWait
	cmd.Long = cmd.Short + ". " + plannedHelp
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := c.client()
		if err != nil {
			return err
		}
		var b api.Backfill
		done, err := c.perform(cmd.Context(), client, planned, deed{client.path("backfills", args[0], verb), func(token api.PlanToken) any {
			return api.ActBody{Reason: planned.reason, PlanToken: token}
		}}, &b)
		if err != nil || !done {
			return err
		}
		return c.backfillEnd(cmd.Context(), client, b, wait)
	}
	planned.add(cmd)
	if verb == "resume" || verb == "retry_failed" {
		wait.add(cmd)
	}
	return cmd
}

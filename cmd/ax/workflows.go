package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

func newWorkflows(c *call) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "workflows [WORKFLOW]",
		Short: "List workflows, or show one with its schedules",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLimit(limit); err != nil {
				return err
			}
			client, err := c.client()
			if err != nil {
				return err
			}
			if len(args) > 0 {
				w, err := client.workflow(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return c.show(w, func() string { return c.workflowText(w) })
			}
			page, err := client.workflows(cmd.Context(), limit)
			if err != nil {
				return err
			}
			return c.show(page, func() string { return c.workflowsTable(page) })
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "how many at most")
	return cmd
}

func (c *call) workflowsTable(page api.Page[api.Workflow]) string {
	t := table{header: []string{"WORKFLOW", "VERSION", "LAST RUN", "STATE", "NEXT FIRE", "NOTE"}}
	for _, w := range page.Items {
		var last api.LastRun
		if w.LastRun != nil {
			last = *w.LastRun
		}
		t.add(plain(w.Workflow), plain(strconv.Itoa(w.Version)), plain(last.ID), stateCell(last.State), plain(c.timeText(w.NextFireAt)),
			cell{pausedText(w.Paused), yellow})
	}
	text := t.render(c.colour)
	if page.NextCursor != "" {
		text += "… there are more: ask for them with --limit\n"
	}
	return text
}

// pausedText says by whom and why a workflow is paused; "" for one that is not.
func pausedText(p *api.Pause) string {
	switch {
	case p == nil:
		return ""
	case p.Reason == "":
		return "paused by " + p.By
	}
	return fmt.Sprintf("paused by %s: %s", p.By, shorten(p.Reason))
}

// workflowText is a workflow and its schedules for people.
func (c *call) workflowText(w api.WorkflowDetail) string {
	last := ""
	if w.LastRun != nil {
		last = w.LastRun.ID + ", " + w.LastRun.State
	}
	text := fields(c.colour,
		field("workflow", w.Workflow.Workflow),
		field("title", w.Title),
		field("owner", w.Owner),
		field("tags", strings.Join(w.Tags, ", ")),
		field("version", strconv.Itoa(w.Version)),
		[2]cell{{"state", faint}, {pausedText(w.Paused), yellow}},
		field("last run", last))
	if len(w.Schedules) == 0 {
		return text
	}
	t := table{header: []string{"SCHEDULE", "FIRES", "NEXT FIRE"}}
	for _, s := range w.Schedules {
		when, zone := scheduleText(s)
		next := "none: it is over"
		if s.NextFireAt != nil {
			next = c.timeIn(s.NextFireAt, zone)
		}
		t.add(plain(s.Name), plain(when), plain(next))
	}
	return text + "\n" + t.render(c.colour)
}

// scheduleText is when a schedule fires, and its zone.
func scheduleText(s api.Schedule) (when, zone string) {
	var spec struct{ Cron, Every, Delay, At, Timezone string }
	if err := json.Unmarshal([]byte(s.Spec), &spec); err != nil {
		return string(s.Spec), ""
	}
	for _, kind := range []struct{ name, value string }{{"cron", spec.Cron}, {"every", spec.Every}, {"delay", spec.Delay}, {"at", spec.At}} {
		if kind.value != "" {
			return kind.name + " " + kind.value, spec.Timezone
		}
	}
	return string(s.Spec), spec.Timezone
}

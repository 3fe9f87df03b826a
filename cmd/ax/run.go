package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

// runView is a run with its nodes, as `ax run` writes it.
type runView struct {
	api.RunDetail
	Nodes []api.NodeRun `json:"nodes"`
}

func newRun(c *call) *cobra.Command {
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "run RUN",
		Short: "Show a run and its nodes",
		Long:  "Shows a run and its nodes. With --wait it first waits for the end, and exits by it: 0 succeeded, 9 not, 8 still running.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			if wait {
				return c.waitAndShow(cmd.Context(), client, args[0], timeout)
			}
			return c.showRun(cmd.Context(), client, args[0])
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the run has ended")
	timeoutFlag(cmd, &timeout)
	return cmd
}

func (c *call) showRun(ctx context.Context, client *client, id string) error {
	run, err := client.run(ctx, id)
	if err != nil {
		return err
	}
	nodes, err := client.nodes(ctx, id)
	if err != nil {
		return err
	}
	return c.show(runView{run, nodes}, func() string { return c.runText(run) + "\n" + c.nodeTable(nodes) })
}

// waitAndShow waits for a run's end, shows it, and exits by its outcome.
func (c *call) waitAndShow(ctx context.Context, client *client, id string, timeout time.Duration) error {
	state, waited := c.wait(ctx, client, id, timeout)
	if waited != nil && exitCode(waited) != exitStillRuns {
		return waited
	}
	if err := c.showRun(ctx, client, id); err != nil {
		return err
	}
	if waited == nil && state != "succeeded" {
		return failure(exitUnsuccess, "run %s did not succeed: it is %s", id, state)
	}
	return waited
}

// runText is a run for people.
func (c *call) runText(r api.RunDetail) string {
	state := stateCell(r.State)
	if note := runNote(r.Run); note != "" {
		state.text += ", " + note
	}
	params := string(r.Params)
	if params == "{}" {
		params = ""
	}
	blocked := ""
	if r.BlockedBy != nil {
		blocked = r.BlockedBy.Message
		if len(r.BlockedBy.Runs) > 0 {
			blocked += ": " + strings.Join(r.BlockedBy.Runs, ", ")
		}
	}
	return fields(c.colour,
		field("run", r.ID),
		field("workflow", fmt.Sprintf("%s, version %d", r.Workflow, r.Version)),
		[2]cell{{"state", faint}, state},
		field("canceled", canceledText(r.Run)),
		field("waits for", blocked),
		field("date", fmt.Sprintf("%s (%s)", r.LogicalDate, c.timeIn(&r.ScheduledAt, r.Timezone))),
		field("trigger", strings.TrimSpace(r.Trigger+" "+r.Schedule)+" by "+r.Actor),
		field("params", shorten(params)),
		field("started", c.timeIn(r.StartedAt, r.Timezone)),
		field("took", millisText(r.DurationMS)))
}

// canceledText tells who canceled a run and why; "" for nobody.
func canceledText(r api.Run) string {
	switch {
	case r.CanceledBy == "":
		return ""
	case r.CancelReason == "":
		return "by " + r.CanceledBy
	}
	return fmt.Sprintf("by %s: %s", r.CanceledBy, shorten(r.CancelReason))
}

func (c *call) nodeTable(nodes []api.NodeRun) string {
	t := table{header: []string{"NODE", "STATE", "ATTEMPTS", "WAITED", "TOOK", "NOTE"}}
	for _, n := range nodes {
		state := stateCell(n.State)
		if n.Tolerated {
			state.colour = yellow
		}
		t.add(plain(n.Node), state, plain(attemptsText(n.Attempts)), plain(millisText(n.WaitMS)), plain(millisText(n.TotalMS)), plain(nodeNote(n)))
	}
	return t.render(c.colour)
}

func attemptsText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// nodeNote is why a node is as it is.
func nodeNote(n api.NodeRun) string {
	note := ""
	switch {
	case n.BlockedBy != nil:
		note = n.BlockedBy.Message
		if n.Error != nil {
			note += "; the attempt before: " + n.Error.Message
		}
	case n.Error != nil && n.State != "succeeded":
		note = n.Error.Message
	case n.State == "skipped" || n.State == "canceled" || n.State == "upstream_failed":
		note = n.Reason
	}
	if n.Tolerated {
		note = "tolerated: " + note
	}
	if n.Stale {
		note = strings.TrimSuffix("stale: "+n.StaleBy+" was begun anew since; "+note, "; ")
	}
	if n.Shards != nil {
		note = strings.TrimSuffix(shardsText(n.Shards)+"; "+note, "; ")
	}
	return shorten(note)
}

// shardsText counts a split node's shards, and names the first that failed.
func shardsText(s *api.Shards) string {
	text := fmt.Sprintf("%d of %s succeeded", s.Succeeded, counted(s.Total, "shard"))
	for _, part := range []struct {
		count int
		word  string
	}{{s.Running, "running"}, {s.Waiting, "waiting"}, {s.Skipped, "skipped"}, {s.Canceled, "canceled"}, {s.Failed, "failed"}} {
		if part.count > 0 {
			text += fmt.Sprintf(", %d %s", part.count, part.word)
		}
	}
	if len(s.Failures) > 0 {
		first := s.Failures[0]
		text += fmt.Sprintf(" (%d", first.Shard)
		if first.Error != nil {
			text += ": " + first.Error.Message
		}
		text += ")"
	}
	return text
}

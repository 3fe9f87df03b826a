package main

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/internal/store"
)

func newWhy(c *call) *cobra.Command {
	var at, zone string
	var exitStatus bool
	cmd := &cobra.Command{
		Use:   "why WORKFLOW | RUN [NODE]",
		Short: "Answer why something ran or did not",
		Long: "Answers in a sentence why a workflow did or did not run at a time, or why a run or one of its nodes is as it is, and shows the six links of\n" +
			"the chain: schedule, fired, run, node, worker, log. Without --at it is about the workflow's newest fire.\n\n" +
			"A time is RFC 3339, or what the clocks of the schedule's zone show: 2026-11-30T02:30, 02:30 (the last one that has come), yesterday 02:30, or\n" +
			"2026-11-30 (the first fire of the date); or a time from now such as -2h. Where the clocks skipped it or showed it twice, the answer says so.",
		Example: "  ax why report.daily_sales --at 02:30\n  ax why report.daily_sales --at 2026-11-30T02:30:00+08:00\n  ax why 38hcj0w3c0002\n  ax why 38hcj0w3c0002 clean",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			query, err := whyQuery(args, at, zone)
			if err != nil {
				return err
			}
			client, err := c.client()
			if err != nil {
				return err
			}
			w, err := client.why(cmd.Context(), query)
			if err != nil {
				return err
			}
			if err := c.show(w, func() string { return c.whyText(w) }); err != nil || !exitStatus {
				return err
			}
			if w.Reason != api.RunSucceeded && w.Reason != api.WithWarnings {
				return silent(exitUnsuccess)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "the time that is asked about")
	cmd.Flags().StringVar(&zone, "tz", "", "the zone of a time without one, instead of the schedule's")
	cmd.Flags().BoolVar(&exitStatus, "exit-status", false, "exit with 9 unless it ran and succeeded")
	return cmd
}

// whyQuery is what is asked. A name that may be a run's is taken as one, unless a time is said.
func whyQuery(args []string, at, zone string) (url.Values, error) {
	_, err := store.ParseRunID(args[0])
	isNode := strings.Contains(args[0], ":")
	switch {
	case at == "" && zone != "":
		return nil, failure(exitUsage, "--tz is the zone of --at, which says a time")
	case at != "" && (isNode || len(args) > 1):
		return nil, failure(exitUsage, "--at asks about a workflow; a run and its nodes have their own times")
	case len(args) > 1 && (isNode || err != nil):
		return nil, failure(exitUsage, "%q is no run: write `ax why RUN NODE`, or `ax why WORKFLOW --at TIME`", args[0])
	case len(args) > 1:
		return url.Values{"node_run": {args[0] + ":" + args[1]}}, nil
	case isNode:
		return url.Values{"node_run": {args[0]}}, nil
	case at == "" && err == nil:
		return url.Values{"run": {args[0]}}, nil
	}
	query := url.Values{"workflow": {args[0]}}
	if zone != "" {
		at += "[" + zone + "]"
	}
	if at != "" {
		query.Set("at", at)
	}
	return query, nil
}

// why asks the server. A name that looks like a run's and is none may be a workflow's.
func (c *client) why(ctx context.Context, query url.Values) (w api.Why, err error) {
	err = c.get(ctx, c.path("why"), query, &w)
	if run := query.Get("run"); run != "" && exitCode(err) == codeOfStatus(http.StatusNotFound) {
		if c.get(ctx, c.path("why"), url.Values{"workflow": {run}}, &w) == nil {
			return w, nil
		}
	}
	return w, err
}

// whyText is an answer for people: the sentence, the chain, and what may help.
func (c *call) whyText(w api.Why) string {
	var b strings.Builder
	b.WriteString(stepColour(w.State).paint(printable(w.Verdict), c.colour) + "\n")
	t := table{header: []string{"", "", "", "", ""}}
	for i, s := range w.Steps {
		t.add(cell{}, cell{strconv.Itoa(i + 1), faint}, plain(s.Step), cell{strings.ReplaceAll(s.State, "_", " "), stepColour(s.State)}, plain(shorten(s.Message)))
	}
	_, rows, _ := strings.Cut(t.render(c.colour), "\n")
	b.WriteString(rows)
	for _, s := range w.Steps {
		if s.Evidence != nil && len(s.Evidence.Lines) > 0 {
			b.WriteString("\n")
			for _, l := range s.Evidence.Lines {
				b.WriteString("    " + faint.paint("| "+shorten(l.Text), c.colour) + "\n")
			}
		}
	}
	for i, d := range w.Do {
		head := "next: "
		if i > 0 {
			head = "  or: "
		}
		b.WriteString("\n" + head + printable(d))
	}
	if len(w.Do) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// stepColour is the colour of a step's word.
func stepColour(state string) colour {
	switch state {
	case "ok":
		return green
	case "waiting":
		return yellow
	case "problem":
		return red
	}
	return faint
}

package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

func newDeadLetters(c *call) *cobra.Command {
	cmd := &cobra.Command{Use: "deadletters", Short: "List what failed for good, run it again, or close it", RunE: needVerb}
	cmd.AddCommand(newDeadLettersList(c), newDeadLettersReplay(c), newDeadLettersDismiss(c))
	return cmd
}

// letterFlags choose dead letters.
type letterFlags struct {
	workflow, code, from, to string
}

func (f *letterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.workflow, "workflow", "", "only those of this workflow")
	flags.StringVar(&f.code, "code", "", "only errors of this code")
	flags.StringVar(&f.from, "from", "", "only those that failed at this instant or later (RFC 3339, or -2h)")
	flags.StringVar(&f.to, "to", "", "only those that failed before this instant")
}

func newDeadLettersList(c *call) *cobra.Command {
	var f letterFlags
	var resolved bool
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List node runs that failed for good, newest first",
		Example: "  ax deadletters list --workflow report.daily_sales --from -24h",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{}
			for name, value := range map[string]string{"workflow": f.workflow, "code": f.code} {
				if value != "" {
					query.Set(name, value)
				}
			}
			if resolved {
				query.Set("resolved", "true")
			}
			if err := c.setSpan(query, f.from, f.to); err != nil {
				return err
			}
			if err := checkLimit(limit); err != nil {
				return err
			}
			client, err := c.client()
			if err != nil {
				return err
			}
			page, err := pages[api.DeadLetter](cmd.Context(), client, client.path("dead-letters"), query, limit)
			if err != nil {
				return err
			}
			return c.show(page, func() string { return c.lettersTable(page) })
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&resolved, "resolved", false, "those too that were answered")
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "how many at most")
	return cmd
}

func (c *call) lettersTable(page api.Page[api.DeadLetter]) string {
	t := table{header: []string{"ID", "WORKFLOW", "DATE", "ATTEMPTS", "CODE", "FAILED", "ANSWER", "ERROR"}}
	for _, d := range page.Items {
		code, message := "", ""
		if d.Error != nil {
			code, message = d.Error.Code, shorten(d.Error.Message)
		}
		t.add(plain(d.ID), plain(d.Workflow), plain(d.LogicalDate), plain(strconv.Itoa(d.Attempts)), plain(code), plain(c.timeText(&d.CreatedAt)),
			plain(d.Resolution), plain(message))
	}
	text := t.render(c.colour)
	if page.NextCursor != "" {
		text += "… there are more: ask for them with --limit\n"
	}
	return text
}

func newDeadLettersReplay(c *call) *cobra.Command {
	return lettersCommand(c, "replay", &cobra.Command{
		Use:   "replay [ID...]",
		Short: "Run what failed again, each in its run",
		Long: "Runs the nodes of dead letters again, each in its run and through its pools: those named, or with --all every open one that the flags\n" +
			"fit, 500 at a time. " + plannedHelp,
		Example: "  ax deadletters replay 38hcj0w3c0002:clean:1\n  ax deadletters replay --all --code http_503 --from -2h",
	})
}

func newDeadLettersDismiss(c *call) *cobra.Command {
	return lettersCommand(c, "dismiss", &cobra.Command{
		Use:   "dismiss [ID...] --reason WHY",
		Short: "Close dead letters without running anything",
		Long: "Closes dead letters without running anything: those named, or with --all every open one that the flags fit, 500 at a time.\n" +
			plannedHelp,
		Example: "  ax deadletters dismiss 38hcj0w3c0002:clean:1 --reason \"known outage\"",
	})
}

func lettersCommand(c *call, verb string, cmd *cobra.Command) *cobra.Command {
	var planned plannedFlags
	var f letterFlags
	var all bool
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body, err := c.lettersBody(f, args, all)
		if err != nil {
			return err
		}
		body.Reason = planned.reason
		return c.onLetters(cmd.Context(), verb, planned, body)
	}
	cmd.Flags().BoolVar(&all, "all", false, "every open one that the other flags fit")
	f.add(cmd)
	planned.add(cmd)
	return cmd
}

func (c *call) lettersBody(f letterFlags, ids []string, all bool) (api.LettersBody, error) {
	if (len(ids) > 0) == all {
		return api.LettersBody{}, failure(exitUsage, "name dead letters, or choose them with --all and the flags beside it")
	}
	if len(ids) > 0 {
		if f != (letterFlags{}) {
			return api.LettersBody{}, failure(exitUsage, "flags that choose dead letters go with --all, not with names")
		}
		return api.LettersBody{IDs: ids}, nil
	}
	filter := &api.LetterFilter{Workflow: f.workflow, Code: f.code}
	for _, bound := range []struct {
		name, text string
		into       **time.Time
	}{{"from", f.from, &filter.From}, {"to", f.to, &filter.To}} {
		at, err := c.instant(bound.name, bound.text)
		if err != nil {
			return api.LettersBody{}, err
		}
		if !at.IsZero() {
			*bound.into = &at
		}
	}
	return api.LettersBody{Filter: filter}, nil
}

func (c *call) onLetters(ctx context.Context, verb string, f plannedFlags, body api.LettersBody) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	var got api.LettersDone
	done, err := c.perform(ctx, client, f, deed{client.path("dead-letters", verb), func(token api.PlanToken) any {
		body.PlanToken = token
		return body
	}}, &got)
	if err != nil || !done {
		return err
	}
	if err := c.show(got, func() string { return lettersText(got) }); err != nil {
		return err
	}
	switch {
	case got.Failed > 0 && got.Done > 0:
		return failure(exitPartly, "%d of %s done", got.Done, counted(len(got.Items), "dead letter"))
	case got.Failed > 0:
		return failure(exitFailed, "nothing was done")
	}
	return nil
}

func lettersText(d api.LettersDone) string {
	t := table{header: []string{"ID", "RESULT", "ERROR"}}
	for _, i := range d.Items {
		t.add(plain(i.ID), plain(i.Result), plain(shorten(i.Error)))
	}
	text := t.render(false)
	if d.More {
		text += fmt.Sprintf("… there are more: repeat the call for the next %d\n", len(d.Items))
	}
	return text
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag"
)

// applied is what registering one file came to: an answer or an error.
type applied struct {
	File string `json:"file"`
	*api.Registered
	Error string `json:"error,omitempty"`

	err error
}

func newApply(c *call) *cobra.Command {
	var files []string
	var dryRun, paused bool
	cmd := &cobra.Command{
		Use:   "apply -f FILE|FOLDER...",
		Short: "Register definitions",
		Long: "Checks all definitions first, and registers them when all are valid. The same content is the same version, so applying twice\n" +
			"changes nothing.",
		Example: "  ax apply -f workflows/",
		RunE: func(cmd *cobra.Command, args []string) error {
			places := append(files, args...)
			if len(places) == 0 {
				return failure(exitUsage, "there is nothing to apply: name a file or a folder with -f")
			}
			query := url.Values{}
			for name, set := range map[string]bool{"dry_run": dryRun, "paused": paused} {
				if set {
					query.Set(name, "true")
				}
			}
			return c.apply(cmd.Context(), places, query)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "a file or a folder; - is standard input; may be said several times")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only check, and say what it would come to")
	cmd.Flags().BoolVar(&paused, "paused", false, "register new workflows paused")
	return cmd
}

func (c *call) apply(ctx context.Context, places []string, query url.Values) error {
	// The server's own default zone is written into the version; here it only matters that there is one.
	all, err := c.readDefinitions(ctx, places, dag.BuildOptions{})
	if err != nil {
		return err
	}
	for _, d := range all {
		fmt.Fprint(c.err, problemsText(d.File, d.Problems, false))
	}
	if err := invalid(all, ": nothing was registered"); err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	done := register(ctx, client, all, query)
	for _, a := range done {
		c.warn(a)
	}
	list := struct {
		Items []applied `json:"items"`
	}{done}
	if err := c.show(list, func() string { return c.appliedText(done) }); err != nil {
		return err
	}
	return c.applyError(done, len(all))
}

// warn tells what only the server could find.
func (c *call) warn(a applied) {
	if a.Registered == nil {
		return
	}
	for _, w := range a.Warnings {
		if w.Code == dag.CodeUnknownWorkflow {
			c.sayf("%s: warning: %s", a.File, detailLine(w))
		}
	}
}

// register registers one definition after the other, those that others need first. It ends early when the server does not answer, which the next would meet too.
func register(ctx context.Context, client *client, all []*definition, query url.Values) []applied {
	var done []applied
	for _, d := range inOrder(all) {
		answer, err := client.register(ctx, d.Workflow, d.text, query)
		if err != nil {
			done = append(done, applied{File: d.File, Error: explain(err), err: err})
			var refused *api.Problem
			if !errors.As(err, &refused) {
				break
			}
			continue
		}
		done = append(done, applied{File: d.File, Registered: &answer})
	}
	return done
}

// applyError is the worst of what happened; when some were registered and some not, it is partly done.
func (c *call) applyError(done []applied, wanted int) error {
	good := 0
	var first error
	for _, a := range done {
		if a.err == nil {
			good++
			continue
		}
		c.sayf("%s: %s", a.File, a.Error)
		if first == nil {
			first = a.err
		}
	}
	switch {
	case first == nil:
		return nil
	case good == 0:
		return silent(exitCode(first))
	}
	return failure(exitPartly, "%d of %s registered", good, counted(wanted, "definition"))
}

func (c *call) appliedText(done []applied) string {
	t := table{header: []string{"WORKFLOW", "VERSION", "CHANGE", "FILE"}}
	var next strings.Builder
	for _, a := range done {
		if a.err != nil {
			continue
		}
		version := "new"
		if a.Version > 0 {
			version = fmt.Sprint(a.Version)
		}
		t.add(plain(a.Workflow), plain(version), changeCell(a.Registered), plain(a.File))
		next.WriteString(c.upcomingText(a.Registered))
		if a.Paused != nil {
			fmt.Fprintf(&next, "\n%s is %s: its schedules start nothing until `ax resume %s`\n", a.Workflow, pausedText(a.Paused), a.Workflow)
		}
	}
	if len(t.rows) == 0 {
		return ""
	}
	return t.render(c.colour) + next.String()
}

func changeCell(r *api.Registered) cell {
	switch {
	case r.Restored && r.DryRun:
		return cell{"would be current again", yellow}
	case r.Restored:
		return cell{"current again", yellow}
	case !r.Created:
		return cell{"unchanged", faint}
	case r.DryRun:
		return cell{"would be created", yellow}
	}
	return cell{"created", green}
}

// upcomingText lists the next fires of each schedule, in its own zone.
func (c *call) upcomingText(r *api.Registered) string {
	var b strings.Builder
	for _, u := range r.Upcoming {
		fmt.Fprintf(&b, "\nnext fires of %s, schedule %s (%s):\n", r.Workflow, u.Schedule, u.Timezone)
		for _, at := range u.Fires {
			fmt.Fprintf(&b, "  %s\n", at.Local.Format(shownTime))
		}
		if len(u.Fires) == 0 {
			b.WriteString("  none: it is over\n")
		}
	}
	return b.String()
}

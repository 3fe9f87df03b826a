package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

// plannedFlags are those of verbs that say what they will do before they do it.
type plannedFlags struct {
	yes, dryRun  bool
	plan, reason string
}

func (f *plannedFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.reason, "reason", "", "why, for the record")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what would be done, with the token of the plan")
	flags.StringVar(&f.plan, "plan", "", "do exactly what a dry run said, by its token")
}

// plannedHelp is what such a verb says of itself.
const plannedHelp = "It says what it will do and asks; --yes does it without. When things have changed meanwhile it does nothing, and exits with 5."

// deed is something that the server can be asked to do, and to plan.
type deed struct {
	path string
	body func(api.PlanToken) any
}

// perform does something by its plan: it is shown and asked for first, unless --yes was given. False means that only the plan was wanted.
func (c *call) perform(ctx context.Context, client *client, f plannedFlags, d deed, into any) (bool, error) {
	token := f.plan
	if f.dryRun || token == "" && !f.yes {
		plan, err := client.plan(ctx, d)
		if err != nil {
			return false, err
		}
		if f.dryRun {
			return false, c.show(plan, func() string { return c.planText(plan) + "plan: " + plan.Token + "\n" })
		}
		fmt.Fprint(c.err, c.planText(plan)) // nobody is left to tell when it fails
		if err := c.confirm(ctx, false, plan.Title); err != nil {
			return false, err
		}
		token = plan.Token
	}
	return true, client.post(ctx, d.path, d.body(api.PlanToken{Plan: token}), into)
}

// plan asks what would be done.
func (c *client) plan(ctx context.Context, d deed) (p api.Plan, err error) {
	text, err := encode(outputJSON, d.body(api.PlanToken{}))
	if err != nil {
		return p, err
	}
	return p, c.do(ctx, request{method: http.MethodPost, path: d.path, query: url.Values{"dry_run": {"true"}}, body: []byte(text), contentType: "application/json"}, &p)
}

// maxPlanItems is how many items of a plan are shown to a person.
const maxPlanItems = 50

func (c *call) planText(p api.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", printable(p.Title))
	shown := p.Items[:min(len(p.Items), maxPlanItems)]
	t := table{header: []string{"RUN", "NODE", "STATE", "ACTION"}}
	if len(shown) > 0 && shown[0].ScheduledAt != "" {
		t.header = []string{"SCHEDULED", "SCHEDULE", "RUN", "STATE", "ACTION", "REASON"}
	}
	for _, i := range shown {
		action := plain(strings.ReplaceAll(i.Action, "_", " "))
		if i.ScheduledAt != "" {
			t.add(plain(i.ScheduledAt), plain(i.Schedule), plain(i.Run), stateCell(i.State), action, plain(shorten(i.Reason)))
		} else {
			t.add(plain(i.Run), plain(i.Node), stateCell(i.State), action)
		}
	}
	if len(t.rows) > 0 {
		b.WriteString(t.render(c.colour))
	}
	if more := len(p.Items) - maxPlanItems; more > 0 {
		fmt.Fprintf(&b, "… and %d more\n", more)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "%s %s\n", yellow.paint("note:", c.colour), printable(w))
	}
	return b.String()
}

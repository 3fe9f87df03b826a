package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag"
)

func newDiff(c *call) *cobra.Command {
	var from, to int
	cmd := &cobra.Command{
		Use:   "diff FILE | diff WORKFLOW --from VERSION [--to VERSION]",
		Short: "Tell a file, or a version, apart from what is registered",
		Long: "Shows what registering a file would change: the differences to the version that the server has, place by place. With --from it tells\n" +
			"two versions of a workflow apart.",
		Example: "  ax diff workflows/daily.yaml\n  ax diff report.daily_sales --from 3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			var diff api.Diff
			if from == 0 {
				diff, err = c.diffFile(cmd.Context(), client, args[0])
			} else {
				diff, err = client.diff(cmd.Context(), args[0], from, to)
			}
			if err != nil {
				return err
			}
			return c.show(diff, func() string { return c.diffText(diff) })
		},
	}
	cmd.Flags().IntVar(&from, "from", 0, "the older version")
	cmd.Flags().IntVar(&to, "to", 0, "the newer version; the newest when left out")
	return cmd
}

func (c *client) diff(ctx context.Context, workflow string, from, to int) (d api.Diff, err error) {
	query := url.Values{"from": {strconv.Itoa(from)}}
	if to != 0 {
		query.Set("to", strconv.Itoa(to))
	}
	return d, c.get(ctx, c.path("workflows", workflow, "diff"), query, &d)
}

// diffFile compares a file with the newest version of its workflow. A schedule that names no zone has the one that it got when it was
// registered.
func (c *call) diffFile(ctx context.Context, client *client, file string) (api.Diff, error) {
	var diff api.Diff
	all, err := c.readDefinitions(ctx, []string{file}, dag.BuildOptions{})
	if err != nil {
		return diff, err
	}
	if len(all) != 1 {
		return diff, failure(exitUsage, "%s has %s: name one file", file, counted(len(all), "definition"))
	}
	fmt.Fprint(c.err, problemsText(all[0].File, all[0].Problems, false))
	if err := invalid(all, ""); err != nil {
		return diff, err
	}
	w, err := client.workflow(ctx, all[0].Workflow)
	if err != nil {
		return diff, err
	}
	registered, err := dag.DecodeDefinition(w.Definition)
	if err != nil {
		return diff, err
	}
	graph, problems := dag.Load(all[0].text, dag.BuildOptions{DefaultTimezone: zoneOf(registered)})
	if graph == nil {
		return diff, problems.Err()
	}
	changes, err := dag.Diff(registered, graph.Definition())
	return api.Diff{Workflow: w.Workflow.Workflow, From: w.Version, Changes: api.DiffChanges(changes)}, err
}

func zoneOf(def *dag.Definition) string {
	for _, s := range def.Schedules {
		if s.Timezone != "" {
			return s.Timezone
		}
	}
	return ""
}

func (c *call) diffText(d api.Diff) string {
	if len(d.Changes) == 0 {
		return fmt.Sprintf("%s: no difference\n", d.Workflow)
	}
	t := table{header: []string{"", "PLACE", "OLD", "NEW"}}
	for _, change := range d.Changes {
		sign := cell{"~", yellow}
		switch dag.ChangeKind(change.Kind) {
		case dag.Added:
			sign = cell{"+", green}
		case dag.Removed:
			sign = cell{"-", red}
		}
		t.add(sign, plain(change.Path), plain(valueText(change.Old)), plain(valueText(change.New)))
	}
	return t.render(c.colour)
}

// maxValue is how much of a value is shown in a table.
const maxValue = 60

func valueText(v json.RawMessage) string {
	text := []rune(string(v))
	if len(text) > maxValue {
		return string(text[:maxValue-1]) + "…"
	}
	return string(text)
}

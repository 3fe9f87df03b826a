package main

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag"
)

func (c *client) forecast(ctx context.Context, query url.Values, whatIf []byte) (f api.Forecast, err error) {
	if whatIf == nil {
		return f, c.get(ctx, c.path("forecast"), query, &f)
	}
	return f, c.do(ctx, request{method: http.MethodPost, path: c.path("forecast"), query: query, body: whatIf, contentType: "application/yaml"}, &f)
}

// forecastFlags are what to foretell.
type forecastFlags struct {
	from, to, workflow, whatIf string
	limit                      int
}

func newForecast(c *call) *cobra.Command {
	var f forecastFlags
	cmd := &cobra.Command{
		Use:   "forecast",
		Short: "Foretell runs, load, collisions and missed deadlines",
		Long: "Simulates what all schedules will start, with the durations that nodes had in their last runs, against pools, queues and the limits of\n" +
			"workflows: what will be late, where work will wait, how busy pools and queues are over time, and when each run is expected to end.\n" +
			"With --what-if it is told what would be if a definition were registered, in place of the one of its workflow; nothing is stored.",
		Example: "  ax forecast --to 24h\n  ax forecast --workflow report.daily_sales --to 7d\n  ax forecast --what-if new.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.forecast(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.from, "from", "", "when the forecast begins (RFC 3339, or 2h); now when left out")
	cmd.Flags().StringVar(&f.to, "to", "", "when it ends, at most 31 days from now; a day after its beginning when left out")
	cmd.Flags().StringVar(&f.workflow, "workflow", "", "tell only of this workflow's runs")
	cmd.Flags().StringVar(&f.whatIf, "what-if", "", "a definition that is not registered; - is standard input")
	cmd.Flags().IntVarP(&f.limit, "limit", "n", 50, "how many runs at most")
	return cmd
}

func (c *call) forecast(ctx context.Context, f forecastFlags) error {
	query := url.Values{"limit": {strconv.Itoa(f.limit)}}
	if err := c.setSpan(query, f.from, f.to); err != nil {
		return err
	}
	if err := checkLimit(f.limit); err != nil {
		return err
	}
	if f.workflow != "" {
		query.Set("workflow", f.workflow)
	}
	var whatIf []byte
	if f.whatIf != "" {
		definitions, err := c.readDefinitions(ctx, []string{f.whatIf}, dag.BuildOptions{})
		if err != nil {
			return err
		}
		if len(definitions) != 1 {
			return failure(exitUsage, "--what-if takes one definition, and there are %d at %s", len(definitions), f.whatIf)
		}
		if err := invalid(definitions, ""); err != nil {
			return failure(exitUsage, "%s%w", problemsText(definitions[0].File, definitions[0].Problems, false), err)
		}
		whatIf = definitions[0].text
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	got, err := client.forecast(ctx, query, whatIf)
	if err != nil {
		return err
	}
	return c.show(got, func() string { return c.forecastText(got) })
}

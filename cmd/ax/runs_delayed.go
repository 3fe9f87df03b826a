package main

import (
	"context"
	"net/url"

	"github.com/ax-run/ax/api"
)

func (c *client) delayedRuns(ctx context.Context, query url.Values, limit int) (api.Page[api.DelayedRun], error) {
	return pages[api.DelayedRun](ctx, c, c.path("delayed-runs"), query, limit)
}

// showDelayed lists runs asked for in advance. Of what else `ax runs` may be asked, only the workflow means something here.
func (c *call) showDelayed(ctx context.Context, client *client, query url.Values, limit int) error {
	for name := range query {
		if name != "workflow" {
			return failure(exitUsage, "--delayed lists what waits to start: it takes a workflow and --limit, and nothing else")
		}
	}
	query.Set("state", "waiting")
	page, err := client.delayedRuns(ctx, query, limit)
	if err != nil {
		return err
	}
	return c.show(page, func() string {
		t := table{header: []string{"RUN", "WORKFLOW", "STARTS", "DATE", "ACTOR", "NOTE"}}
		for _, r := range page.Items {
			t.add(plain(r.ID), plain(r.Workflow), plain(c.timeText(&r.RunAt)), plain(r.LogicalDate), plain(r.Actor), plain(shorten(r.Reason)))
		}
		return t.render(c.colour) + more(page.NextCursor)
	})
}

// more says that a list goes on.
func more(cursor string) string {
	if cursor == "" {
		return ""
	}
	return "… there are more: ask for them with --limit\n"
}

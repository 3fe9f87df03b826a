package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

func (c *client) workers(ctx context.Context, state string) (api.Page[api.Worker], error) {
	query := url.Values{}
	if state != "" {
		query.Set("state", state)
	}
	return pages[api.Worker](ctx, c, c.path("workers"), query, noLimit)
}

func newWorkers(c *call) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "Work with workers: who runs nodes",
		Long: "Works with workers: processes of `ax worker` and of Go programs with ax inside, and remote workers in any language. A worker is\n" +
			"online, draining (it takes nothing new), suspect (it was not heard of for a while and gets nothing new) or lost (what it ran is\n" +
			"run elsewhere).",
		RunE: needVerb,
	}
	cmd.AddCommand(newWorkersList(c), newWorkersShow(c), newWorkersDrain(c), newWorkersKey(c))
	return cmd
}

func newWorkersList(c *call) *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use: "list", Short: "List workers with what they run", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			page, err := client.workers(cmd.Context(), state)
			if err != nil {
				return err
			}
			return c.show(page, func() string {
				t := table{header: []string{"WORKER", "STATE", "RUNNING", "CAPACITY", "QUEUES", "LABELS", "HEARD OF", "HOST"}}
				for _, w := range page.Items {
					t.add(plain(w.ID), stateCell(w.State), plain(strconv.Itoa(w.Running)), plain(strconv.Itoa(w.Capacity)), plain(strings.Join(w.Queues, " ")),
						plain(labelText(w.Labels)), plain(c.timeText(w.HeartbeatAt)), plain(w.Host))
				}
				return t.render(c.colour)
			})
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "only those that are online, draining, suspect or lost")
	return cmd
}

// labelText writes labels as they are written on a command line.
func labelText(labels map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, key+"="+labels[key])
	}
	return strings.Join(parts, ",")
}

func newWorkersShow(c *call) *cobra.Command {
	return &cobra.Command{
		Use: "show WORKER", Short: "Show a worker and what it runs", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			var w api.WorkerDetail
			if err := client.get(cmd.Context(), client.path("workers", args[0]), nil, &w); err != nil {
				return err
			}
			return c.show(w, func() string { return c.workerText(w) })
		},
	}
}

func (c *call) workerText(w api.WorkerDetail) string {
	sort := "a process on the database"
	switch {
	case w.Remote && w.Address != "":
		sort = "remote, pushed to at " + w.Address
	case w.Remote:
		sort = "remote, polls"
	}
	note := ""
	if w.Drained != nil {
		note = "drained by " + w.Drained.By + " at " + c.timeText(&w.Drained.At)
	}
	text := fields(c.colour, field("worker", w.ID), [2]cell{{"state", faint}, stateCell(w.State)}, field("note", note), field("sort", sort), field("app", w.App),
		field("host", w.Host), field("queues", strings.Join(w.Queues, " ")), field("handlers", strings.Join(w.Handlers, " ")),
		field("other nodes", strings.Join(w.Kinds, " ")), field("labels", labelText(w.Labels)), field("running", fmt.Sprintf("%d of %d", w.Running, w.Capacity)),
		field("started", c.timeText(&w.StartedAt)), field("heard of", c.timeText(w.HeartbeatAt)))
	t := table{header: []string{"RUNS", "ATTEMPT", "SINCE", "PROGRESS"}}
	for _, a := range w.Attempts {
		t.add(plain(a.ExecutionID), plain(strconv.Itoa(a.Attempt)), plain(c.timeText(a.Since)), plain(shorten(string(a.Progress))))
	}
	if len(t.rows) > 0 {
		text += t.render(c.colour)
	}
	return text
}

func newWorkersDrain(c *call) *cobra.Command {
	return &cobra.Command{
		Use: "drain WORKER", Short: "Make a worker take nothing new until it starts again", Args: cobra.ExactArgs(1),
		Long: "Makes a worker take nothing new until it starts again. What it runs goes on; `ax workers show` says how much that is.",
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			var w api.WorkerDetail
			if err := client.post(cmd.Context(), client.path("workers", args[0], "drain"), nil, &w); err != nil {
				return err
			}
			return c.show(w, func() string { return fmt.Sprintf("worker %s takes nothing new; it runs %d\n", w.ID, w.Running) })
		},
	}
}

func newWorkersKey(c *call) *cobra.Command {
	return &cobra.Command{
		Use: "key", Short: "Show the key that signs what http nodes send to workers", Args: cobra.NoArgs,
		Long: "Shows the namespace's key: with it a worker that http nodes call checks the header Ax-Signature. It takes the role admin. A worker that\n" +
			"registers has a key of its own, its token.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			var key api.SigningKey
			if err := client.get(cmd.Context(), client.path("signing-key"), nil, &key); err != nil {
				return err
			}
			return c.show(key, func() string { return key.Key + "\n" })
		},
	}
}

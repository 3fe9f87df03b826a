package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

func (c *client) queues(ctx context.Context) (api.Page[api.Queue], error) {
	return pages[api.Queue](ctx, c, c.path("queues"), nil, noLimit)
}

func newQueues(c *call) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queues",
		Short: "Work with queues: where nodes wait for workers",
		Long: "Works with queues. A node says with `queue: reports` in which it waits, and a worker with --queues from which it takes, and how\n" +
			"many at once.",
		RunE: needVerb,
	}
	cmd.AddCommand(newQueuesList(c), newQueuesSet(c),
		switchCommand(c, "queues", "pause", "nothing of it starts until `ax queues resume %s`", &cobra.Command{Use: "pause QUEUE", Short: "Let nothing of a queue start",
			Long: "Lets nothing of a queue start. What runs goes on; what was queued gives its slots back and waits."}),
		switchCommand(c, "queues", "resume", "it goes on", &cobra.Command{Use: "resume QUEUE", Short: "Let a paused queue go on"}))
	return cmd
}

func newQueuesList(c *call) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List queues with what is in them", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			page, err := client.queues(cmd.Context())
			if err != nil {
				return err
			}
			return c.show(page, func() string {
				t := table{header: []string{"QUEUE", "QUEUED", "RUNNING", "WAITING", "MAX", "WORKERS", "NOTE"}}
				for _, q := range page.Items {
					note := ""
					if q.Paused != nil {
						note = c.pausedText(q.Paused)
					}
					t.add(plain(q.Queue), plain(strconv.Itoa(q.Queued)), plain(strconv.Itoa(q.Running)), plain(strconv.Itoa(q.Waiting)), plain(limitText(q.MaxWaiting)),
						plain(strconv.Itoa(q.Workers)), plain(note))
				}
				return t.render(c.colour)
			})
		},
	}
}

func newQueuesSet(c *call) *cobra.Command {
	var most string
	cmd := &cobra.Command{
		Use: "set QUEUE", Short: "Bound how many nodes may wait in a queue; one that does not exist is made", Args: cobra.ExactArgs(1),
		Example: "  ax queues set reports --max-waiting 5000",
		RunE: func(cmd *cobra.Command, args []string) error {
			var body api.QueueBody
			if err := readLimit("max-waiting", most, &body.MaxWaiting); err != nil {
				return err
			}
			client, err := c.client()
			if err != nil {
				return err
			}
			var q api.Queue
			if err := client.write(cmd.Context(), http.MethodPut, client.path("queues", args[0]), body, &q); err != nil {
				return err
			}
			return c.show(q, func() string { return fmt.Sprintf("queue %s: at most %s may wait\n", q.Queue, limitText(q.MaxWaiting)) })
		},
	}
	cmd.Flags().StringVar(&most, "max-waiting", noLimitText, "how many nodes may wait before the newest fail with queue_full, or none for no limit")
	return cmd
}

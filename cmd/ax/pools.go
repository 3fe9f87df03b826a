package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

func (c *client) pools(ctx context.Context) (api.Page[api.Pool], error) {
	return pages[api.Pool](ctx, c, c.path("pools"), nil, noLimit)
}

func (c *client) pool(ctx context.Context, name string) (got api.PoolDetail, err error) {
	return got, c.get(ctx, c.path("pools", name), nil, &got)
}

func newPools(c *call) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pools",
		Short: "Work with pools: limits that protect what nodes use",
		Long: "Works with pools. A pool limits how many nodes use something at once (its slots), and how many start in a time (its rate). A\n" +
			"node says which it uses with `pool: erp`, or with `pools: [{pool: erp, weight: 2}]` how many slots it takes.",
		RunE: needVerb,
	}
	cmd.AddCommand(newPoolsList(c), newPoolsShow(c), newPoolsSet(c), newPoolsDelete(c),
		switchCommand(c, "pools", "pause", "nobody is let in until `ax pools resume %s`", &cobra.Command{Use: "pause POOL", Short: "Let nobody more into a pool",
			Long: "Lets nobody more into a pool. Who holds slots of it goes on."}),
		switchCommand(c, "pools", "resume", "nodes are let in again", &cobra.Command{Use: "resume POOL", Short: "Let nodes into a paused pool again"}))
	return cmd
}

func newPoolsList(c *call) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List pools with what they have in use", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			page, err := client.pools(cmd.Context())
			if err != nil {
				return err
			}
			return c.show(page, func() string {
				t := table{header: []string{"POOL", "USED", "SLOTS", "WAITING", "MAX", "RATE", "NOTE"}}
				for _, p := range page.Items {
					t.add(plain(p.Pool), plain(strconv.Itoa(p.Used)), plain(limitText(p.Slots)), plain(strconv.Itoa(p.Waiting)), plain(limitText(p.MaxWaiting)),
						plain(rateText(p)), plain(c.poolNote(p)))
				}
				return t.render(c.colour)
			})
		},
	}
}

// noLimitText is what stands for no limit, in tables and flags.
const noLimitText = "none"

func limitText(n *int) string {
	if n == nil {
		return noLimitText
	}
	return strconv.Itoa(*n)
}

// ofLimit is a number and the most there may be.
func ofLimit(n int, most *int) string {
	if most == nil {
		return strconv.Itoa(n) + ", without a limit"
	}
	return fmt.Sprintf("%d of %d", n, *most)
}

func rateText(p api.Pool) string {
	if p.Burst > 1 {
		return fmt.Sprintf("%s, %d at once", p.Rate, p.Burst)
	}
	return p.Rate
}

func (c *call) poolNote(p api.Pool) string {
	var notes []string
	if p.Paused != nil {
		notes = append(notes, c.pausedText(p.Paused))
	}
	if p.Stopping > 0 {
		notes = append(notes, fmt.Sprintf("%d of bodies that have not stopped", p.Stopping))
	}
	return strings.Join(notes, "; ")
}

func (c *call) pausedText(p *api.Pause) string {
	text := "paused by " + p.By + " at " + c.timeText(&p.At)
	if p.Reason != "" {
		text += ": " + shorten(p.Reason)
	}
	return text
}

func newPoolsShow(c *call) *cobra.Command {
	return &cobra.Command{
		Use: "show POOL", Short: "Show a pool and who holds its slots", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			p, err := client.pool(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.show(p, func() string { return c.poolText(p) })
		},
	}
}

func (c *call) poolText(p api.PoolDetail) string {
	text := fields(c.colour,
		field("pool", p.Pool.Pool),
		field("in use", ofLimit(p.Used, p.Slots)),
		field("rate", rateText(p.Pool)),
		field("waiting", ofLimit(p.Waiting, p.MaxWaiting)),
		field("note", c.poolNote(p.Pool)))
	t := table{header: []string{"HOLDER", "WEIGHT", "SINCE", "NOTE"}}
	for _, h := range p.Holders {
		note := ""
		if h.Stopping != nil {
			note = "has ended; its body may go on until " + c.timeText(h.Stopping)
		}
		t.add(plain(h.ID), plain(strconv.Itoa(h.Weight)), plain(c.timeText(&h.Since)), plain(note))
	}
	if len(t.rows) > 0 {
		text += t.render(c.colour)
	}
	return text
}

// poolFlags are what a pool is to be; a flag that is not said leaves its part as it is.
type poolFlags struct{ slots, rate, burst, maxWaiting string }

func newPoolsSet(c *call) *cobra.Command {
	var f poolFlags
	cmd := &cobra.Command{
		Use:   "set POOL",
		Short: "Make a pool, or change its limits",
		Long: "Makes a pool, or changes the limits of one; what is not said stays as it is, and a new pool has no limit that is not said. Those\n" +
			"who hold slots keep them.",
		Example: "  ax pools set erp --slots 4\n  ax pools set mail --rate 100/m --burst 10 --max-waiting 1000\n  ax pools set erp --slots none",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			body, err := client.poolBody(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := f.apply(&body); err != nil {
				return err
			}
			var p api.PoolDetail
			if err := client.write(cmd.Context(), http.MethodPut, client.path("pools", args[0]), body, &p); err != nil {
				return err
			}
			return c.show(p, func() string { return c.poolText(p) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.slots, "slots", "", "how many slots there are, or none for no limit")
	flags.StringVar(&f.rate, "rate", "", "the most starts in a time, such as 10/s, 100/m or 5/h, or none for no limit")
	flags.StringVar(&f.burst, "burst", "", "how many starts of the rate may come at once after a rest")
	flags.StringVar(&f.maxWaiting, "max-waiting", "", "how many nodes may wait before more fail with pool_full, or none for no limit")
	return cmd
}

// poolBody is what a pool is now; nothing for one that does not exist.
func (c *client) poolBody(ctx context.Context, name string) (body api.PoolBody, err error) {
	p, err := c.pool(ctx, name)
	var answered *api.Problem
	if errors.As(err, &answered) && answered.Status == http.StatusNotFound {
		return body, nil
	}
	return api.PoolBody{Slots: p.Slots, Rate: p.Rate, Burst: p.Burst, MaxWaiting: p.MaxWaiting}, err
}

func (f *poolFlags) apply(body *api.PoolBody) error {
	var burst *int
	if body.Burst > 0 {
		burst = new(body.Burst)
	}
	for _, l := range []struct {
		flag, text string
		into       **int
	}{{"slots", f.slots, &body.Slots}, {"burst", f.burst, &burst}, {"max-waiting", f.maxWaiting, &body.MaxWaiting}} {
		if err := readLimit(l.flag, l.text, l.into); err != nil {
			return err
		}
	}
	body.Burst = 0
	if burst != nil {
		body.Burst = *burst
	}
	switch f.rate {
	case "":
	case noLimitText:
		body.Rate, body.Burst = "", 0
	default:
		body.Rate = f.rate
	}
	return nil
}

// readLimit reads a limit as a flag says it: a number, none, or nothing to leave it.
func readLimit(flag, text string, into **int) error {
	switch text {
	case "":
		return nil
	case noLimitText:
		*into = nil
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return failure(exitUsage, "--%s %q: write a whole number, or none for no limit", flag, text)
	}
	*into = &n
	return nil
}

func newPoolsDelete(c *call) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete POOL", Short: "Delete a pool that nobody uses", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			p, err := client.pool(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := c.confirm(cmd.Context(), yes, "delete pool "+p.Pool.Pool); err != nil {
				return err
			}
			if err := client.do(cmd.Context(), request{method: http.MethodDelete, path: client.path("pools", args[0])}, &p); err != nil {
				return err
			}
			return c.show(p, func() string { return fmt.Sprintf("pool %s is deleted\n", p.Pool.Pool) })
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// switchCommand pauses or resumes a pool or queue.
func switchCommand(c *call, kind, verb, then string, cmd *cobra.Command) *cobra.Command {
	f := plannedFlags{yes: true}
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := c.client()
		if err != nil {
			return err
		}
		var got map[string]any
		done, err := c.perform(cmd.Context(), client, f, deed{client.path(kind, args[0], verb), func(token api.PlanToken) any {
			return api.SwitchBody{ReasonBody: api.ReasonBody{Reason: f.reason}, PlanToken: token}
		}}, &got)
		if err != nil || !done {
			return err
		}
		return c.show(got, func() string {
			return fmt.Sprintf("%s %s: %s\n", strings.TrimSuffix(kind, "s"), args[0], strings.ReplaceAll(then, "%s", args[0]))
		})
	}
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the record")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would be done, with the token of the plan")
	return cmd
}

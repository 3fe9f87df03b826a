package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

// backfillFlags are what a backfill is to be made with.
type backfillFlags struct {
	body       api.BackfillBody
	version    int
	params     []string
	paramsFile string
	planned    plannedFlags
	wait       backfillWait
}

func newBackfillCreate(c *call) *cobra.Command {
	var f backfillFlags
	cmd := &cobra.Command{
		Use:   "create WORKFLOW --from TIME [--to TIME]",
		Short: "Make the runs of a stretch of the past",
		Long: "Makes the runs of a stretch of the past. From and to are dates, or times such as 2026-11-01T02:30, in the schedule's zone, both\n" +
			"included. What the schedules were then counts, and what they have not decided yet is left to them.\n" + plannedHelp,
		Example: "  ax backfill create report.daily_sales --from 2026-11-01 --to 2026-11-30 --dry-run\n" +
			"  ax backfill create report.daily_sales --from 2026-11-01 --reprocess failed --max-runs 4 --yes --wait",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			f.body.Workflow = args[0]
			return c.createBackfill(cmd.Context(), client, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.body.From, "from", "", "the first date, time in the schedule's zone, or instant (RFC 3339)")
	flags.StringVar(&f.body.To, "to", "", "the last one, itself within; now when left out")
	flags.StringArrayVar(&f.body.Schedules, "schedule", nil, "only this schedule; may be said several times")
	flags.StringVar(&f.body.Reprocess, "reprocess", "missing", "missing: instants without a run; failed: also those whose newest run did not succeed; all")
	flags.StringVar(&f.body.Order, "order", "oldest", "which come first: oldest or newest")
	flags.IntVar(&f.body.MaxRuns, "max-runs", 1, "how many of its runs may be active at once")
	versionFlag(cmd, &f.version, "another version than the newest")
	flags.StringArrayVarP(&f.params, "param", "p", nil, "a parameter instead of the schedule's, as NAME=VALUE; may be said several times")
	flags.StringVar(&f.paramsFile, "params-file", "", "a YAML or JSON file with parameters; - is standard input")
	flags.BoolVar(&f.body.Cascade, "cascade", false, "let its runs start the workflows that wait for them")
	f.planned.add(cmd)
	f.wait.add(cmd)
	return cmd
}

func (c *call) createBackfill(ctx context.Context, client *client, f *backfillFlags) error {
	if f.body.From == "" {
		return failure(exitUsage, "say where it begins, such as --from 2026-11-01")
	}
	if f.version != 0 {
		f.body.Version = &f.version
	}
	var err error
	if f.body.Params, err = c.givenParams(ctx, client, f.body.Workflow, f.params, f.paramsFile); err != nil {
		return err
	}
	f.body.Reason = f.planned.reason
	var b api.Backfill
	done, err := c.perform(ctx, client, f.planned, deed{client.path("backfills"), func(token api.PlanToken) any {
		f.body.PlanToken = token
		return f.body
	}}, &b)
	if err != nil || !done {
		return err
	}
	return c.backfillEnd(ctx, client, b, f.wait)
}

// backfillWait says whether to wait for a backfill's end, and how long.
type backfillWait struct {
	wait    bool
	timeout time.Duration
}

func (w *backfillWait) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.wait, "wait", false, "wait until it has ended, and exit by it: 0 completed, 9 not, 8 still running")
	timeoutFlag(cmd, &w.timeout)
}

// goesOn tells whether a backfill's state is one that may change by itself.
func goesOn(state string) bool { return state == "running" || state == "paused" }

// backfillEnd shows a backfill, or waits for its end before that and then exits by it.
func (c *call) backfillEnd(ctx context.Context, client *client, b api.Backfill, w backfillWait) error {
	if !w.wait {
		return c.showBackfill(ctx, client, b)
	}
	b, err := c.waitForBackfill(ctx, client, b, w.timeout)
	if err != nil {
		return err
	}
	if err := c.showBackfill(ctx, client, b); err != nil {
		return err
	}
	switch {
	case b.State == "completed":
		return nil
	case b.State == "completed_with_failures" && b.Progress.Succeeded > 0:
		return failure(exitPartly, "%d of %s failed", b.Progress.Failed, counted(b.Progress.Total, "instant"))
	}
	return failure(exitUnsuccess, "backfill %s is %s", b.ID, b.State)
}

// waitForBackfill waits until a backfill has ended. When timeout (0: none) passes first, the error's exit code says so.
func (c *call) waitForBackfill(ctx context.Context, client *client, b api.Backfill, timeout time.Duration) (api.Backfill, error) {
	inTime, told, away := ctx, c.now(), time.Time{}
	if timeout > 0 {
		var cancel context.CancelFunc
		inTime, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	for next := waitFirst; goesOn(b.State); next = min(2*next, waitMost) {
		err := pause(inTime, next)
		if err == nil {
			var now api.Backfill
			if now, err = client.backfill(inTime, b.ID); err == nil {
				b, away = now, time.Time{}
			}
		}
		switch {
		case inTime.Err() != nil && ctx.Err() == nil:
			return b, failure(exitStillRuns, "backfill %s has not ended after %s: wait on with `ax backfill show %s --wait`", b.ID, durationText(timeout), b.ID)
		case err == nil && c.now().Sub(told) >= waitTold:
			told = c.now()
			c.sayf("backfill %s is %s: %s done, %d failed", b.ID, b.State, progressOf(b), b.Progress.Failed)
		case err == nil:
		case !comesBack(err), !away.IsZero() && c.now().Sub(away) > waitAway:
			return b, err
		case away.IsZero():
			away = c.now()
			c.sayf("%s; trying again", explain(err))
		}
	}
	return b, nil
}

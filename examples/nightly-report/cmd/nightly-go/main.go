// Command nightly-go is the nightly report with everything in one process: the steps as Go functions, the engine and the
// planner beside them, and nothing else but a PostgreSQL database.
//
// With business dates it makes their reports, prints where they are, and ends. Without, it makes a report every night
// until it is interrupted.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ax-run/ax"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/examples/nightly-report/report"
	"github.com/ax-run/ax/sdk"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "nightly-go:", err)
		stop()
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	databaseURL, folder string
	dates               []time.Time
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("nightly-go [flags] [date …]", flag.ContinueOnError)
	flags.StringVar(&o.databaseURL, "database-url", os.Getenv("AX_DATABASE_URL"), "PostgreSQL `address`; also AX_DATABASE_URL")
	flags.StringVar(&o.folder, "folder", "reports", "`folder` of the reports of the given dates")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.databaseURL == "" {
		return o, errors.New("say where PostgreSQL is: --database-url postgres://…")
	}
	zone, err := time.LoadLocation(timezone)
	if err != nil {
		return o, err
	}
	for _, date := range flags.Args() {
		day, err := time.ParseInLocation(time.DateOnly, date, zone)
		if err != nil {
			return o, fmt.Errorf("%q is no date; write it as 2001-01-15", date)
		}
		o.dates = append(o.dates, day.Add(startsAt))
	}
	o.folder, err = filepath.Abs(o.folder)
	return o, err
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	pool, err := ax.Open(ctx, o.databaseURL)
	if err != nil {
		return err
	}
	defer pool.Close()
	app, err := ax.New(ax.Config{Pool: pool, Workflows: []*sdk.Workflow{workflow()}})
	if err != nil {
		return err
	}
	if len(o.dates) == 0 {
		return app.Run(ctx)
	}
	if err := app.Start(ctx); err != nil {
		return err
	}
	err = reports(ctx, app, o, out)
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, app.Stop(patience))
}

// reports makes the reports of some dates and prints where they are.
func reports(ctx context.Context, app *ax.App, o options, out io.Writer) error {
	runs := make([]string, len(o.dates))
	for i, at := range o.dates {
		var err error
		if runs[i], err = app.Trigger(ctx, nil, ax.Trigger{Workflow: code, Params: params{Folder: o.folder}, LogicalTime: at}); err != nil {
			return err
		}
	}
	var failed []error
	for i, run := range runs {
		date := o.dates[i].Format(time.DateOnly)
		path, err := await(ctx, app, run)
		if err != nil {
			failed = append(failed, fmt.Errorf("report of %s: %w", date, err))
			continue
		}
		if _, err := fmt.Fprintln(out, date, path); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// await returns the path of the report that a run publishes.
func await(ctx context.Context, app *ax.App, run string) (string, error) {
	state, err := app.Wait(ctx, run)
	if err != nil {
		return "", err
	}
	if state != progress.Succeeded {
		return "", fmt.Errorf("run %s %s", run, state)
	}
	output, err := app.Output(ctx, run, "publish")
	if err != nil {
		return "", err
	}
	var published report.Published
	if err := json.Unmarshal(output, &published); err != nil {
		return "", fmt.Errorf("read output of publish: %w", err)
	}
	return published.Path, nil
}

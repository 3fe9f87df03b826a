package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax"
)

// stopPatience is how long servers and workers let running bodies go on when they are to end.
const stopPatience = 30 * time.Second

// serverFlags are what `ax server` may be told.
type serverFlags struct {
	databaseURL, listen, zone, name string
	httpNodes                       bool
	timings                         timingFlags
	remote                          remoteFlags
	targets                         httpFlags
	log                             loggerFlags
}

func newServer(c *call) *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Serve the API, fire schedules and move runs",
		Long: "Serves the HTTP API, fires schedules and moves runs, on a PostgreSQL database that is brought up to date first. Nodes are run by\n" +
			"workers (`ax worker`, or a Go program with ax inside). Any number of servers may work on one database. While the database is away\n" +
			"it waits and tries again.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.server(cmd.Context(), f) },
	}
	databaseFlag(cmd, &f.databaseURL)
	timezoneFlag(cmd, &f.zone)
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", defaultListen, "the address to serve at; one that other machines reach takes a token")
	flags.BoolVar(&f.httpNodes, "http-nodes", false, "run http nodes here too")
	flags.StringVar(&f.name, "name", "", "the name under which http nodes run here; the same over restarts, unlike any other's")
	f.timings.add(cmd)
	f.remote.add(cmd, "where it listens when left out")
	f.targets.add(cmd, "; implies --http-nodes")
	f.log.add(cmd, "info")
	return cmd
}

func (c *call) server(ctx context.Context, f serverFlags) error {
	if err := needDatabase(f.databaseURL); err != nil {
		return err
	}
	log, err := c.logger(f.log)
	if err != nil {
		return err
	}
	timings, err := f.timings.timings()
	if err != nil {
		return err
	}
	p := &process{log: log, databaseURL: f.databaseURL, parts: ax.Plan, zone: f.zone, patience: stopPatience, timings: timings}
	if err := p.serves(f.remote, f.targets); err != nil {
		return err
	}
	if f.httpNodes || len(f.targets.allow) > 0 {
		p.parts = ax.Plan | ax.Work
		p.worker.Name = f.name
		if p.worker.HTTP, err = f.targets.executor(); err != nil {
			return err
		}
	}
	p.bootstrap, _ = c.getenv("AX_BOOTSTRAP_TOKEN")
	if p.listener, err = listen(f.listen); err != nil {
		return err
	}
	p.ready = func(_ context.Context, url string) error { return c.tell("ax is ready at %s", url) }
	return p.run(ctx)
}

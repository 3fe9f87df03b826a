package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax"
	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/engine"
)

// workerFlags are what `ax worker` may be told.
type workerFlags struct {
	databaseURL, name string
	queues            map[string]int
	labels            map[string]string
	capacity          int
	timings           timingFlags
	remote            remoteFlags
	pollOnly          bool
	targets           httpFlags
	commands          commandFlags
	log               loggerFlags
}

func newWorker(c *call) *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run http and command nodes",
		Long: "Runs http nodes and, with --allow-commands, command nodes of a PostgreSQL database. When it is to end it takes nothing new, lets\n" +
			"what runs end for 30 seconds, and hands back the rest. While the database is away it waits and tries again.",
		Example: "  ax worker --database-url postgres://ax@db/ax --queues sync=10,report=50 --allow-commands --name etl-1",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.worker(cmd.Context(), f) },
	}
	databaseFlag(cmd, &f.databaseURL)
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "its name, the same over restarts: one that starts ends an earlier one of its name; random when left out")
	flags.StringToIntVar(&f.queues, "queues", nil, "the queues to serve and how many nodes of each run at once, as sync=10,report=50; every queue when left out")
	flags.IntVar(&f.capacity, "capacity", 100, "how many nodes of a queue run at once where --queues does not say")
	flags.StringToStringVar(&f.labels, "labels", nil, "what nodes may ask for with labels, as zone=eu,gpu=yes")
	f.timings.add(cmd)
	f.remote.add(cmd, "http nodes that answer 202 must know it themselves when left out")
	flags.BoolVar(&f.pollOnly, "poll-only", false, "ask for work instead of listening, as behind a pooler in transaction mode")
	f.targets.add(cmd, "")
	f.commands.add(cmd)
	f.log.add(cmd, "info")
	cmd.AddCommand(newConformance(c))
	return cmd
}

func (c *call) worker(ctx context.Context, f workerFlags) error {
	if err := needDatabase(f.databaseURL); err != nil {
		return err
	}
	if err := checkQueues(f.queues); err != nil {
		return err
	}
	if f.name != "" && !dag.ValidName(f.name) {
		return failure(exitUsage, "--name %q cannot be a worker's: write letters, digits, dots, dashes and underscores, 128 at most, a letter or digit first", f.name)
	}
	if f.capacity < 1 {
		return failure(exitUsage, "--capacity %d is too small: let it run one node or more", f.capacity)
	}
	log, err := c.logger(f.log)
	if err != nil {
		return err
	}
	targets, err := f.targets.executor()
	if err != nil {
		return err
	}
	timings, err := f.timings.timings()
	if err != nil {
		return err
	}
	p := &process{log: log, databaseURL: f.databaseURL, parts: ax.Work, patience: stopPatience, timings: timings, worker: engine.WorkerConfig{
		Name: f.name, App: "ax " + ownVersion().Version, Labels: f.labels, Queues: f.queues, Capacity: f.capacity, PollOnly: f.pollOnly, HTTP: targets, Command: f.commands.executor(),
	}}
	if p.publicURL, err = f.remote.url(); err != nil {
		return err
	}
	p.ready = func(context.Context, string) error { return c.tell("ax works") }
	return p.run(ctx)
}

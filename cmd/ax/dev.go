package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax"
	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/pgdev"
)

// devTimings notice a dead process within seconds (S27).
var devTimings = engine.Timings{Beat: time.Second, Misses: 3, Probe: time.Second}

// devPatience is how long bodies that run may go on when `ax dev` is to end.
const devPatience = 10 * time.Second

// devFlags are what `ax dev` may be told.
type devFlags struct {
	data, listen, databaseURL, postgresBin, zone string
	workflows                                    []string
	targets                                      httpFlags
	commands                                     commandFlags
	log                                          loggerFlags
}

func newDev(c *call) *cobra.Command {
	var f devFlags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine, with a PostgreSQL of its own",
		Long: "Runs everything in one process: a private PostgreSQL (found on this machine, or fetched through npm), the API, the planner and a\n" +
			"worker for http nodes and, with --allow-commands, command nodes. What it keeps is in the data folder. Stop it with Ctrl-C; a\n" +
			"second Ctrl-C ends it at once.",
		Example: "  ax dev --workflows workflows/ --allow-commands",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.dev(cmd.Context(), f) },
	}
	timezoneFlag(cmd, &f.zone)
	flags := cmd.Flags()
	flags.StringVar(&f.databaseURL, "database-url", "", "the PostgreSQL database to use instead of a private one")
	flags.StringVar(&f.data, "data", ".ax", "the folder for everything that is kept")
	flags.StringVar(&f.listen, "listen", defaultListen, "the address to serve at; port 0 takes a free one")
	flags.StringVar(&f.postgresBin, "postgres-bin", "", "the folder of PostgreSQL's programs; looked for when left out")
	flags.StringArrayVar(&f.workflows, "workflows", nil, "a file or folder of definitions to register at the start; may be said several times")
	f.targets.loopback = true
	f.targets.add(cmd, "; loopback is allowed anyway")
	f.commands.add(cmd)
	f.log.add(cmd, "warn")
	return cmd
}

// dev checks what can be checked before anything starts, and then runs everything.
func (c *call) dev(ctx context.Context, f devFlags) (err error) {
	log, err := c.logger(f.log)
	if err != nil {
		return err
	}
	definitions, err := c.devDefinitions(ctx, f)
	if err != nil {
		return err
	}
	p := &process{log: log, databaseURL: f.databaseURL, parts: ax.Plan | ax.Work, timings: devTimings, zone: f.zone, patience: devPatience}
	if p.worker.HTTP, err = f.targets.executor(); err != nil {
		return err
	}
	p.worker.Command = f.commands.executor()
	if err := p.serves(remoteFlags{}, f.targets); err != nil {
		return err
	}
	data, err := openData(f.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, data.close()) }()
	p.worker.Name = devName(data.path)
	p.bootstrap, _ = c.getenv("AX_BOOTSTRAP_TOKEN")
	if p.listener, err = listen(f.listen); err != nil {
		return err
	}
	if p.databaseURL == "" {
		postgres := &privatePostgres{log: log, config: pgdev.Config{Dir: filepath.Join(data.path, "postgres"), BinDir: f.postgresBin, Logger: log}}
		if err := postgres.start(ctx); err != nil {
			return errors.Join(err, p.listener.Close())
		}
		defer func() { err = errors.Join(err, postgres.stop(context.WithoutCancel(ctx))) }()
		p.databaseURL = postgres.url()
	}
	private := ""
	if f.databaseURL == "" {
		private = p.databaseURL
	}
	p.ready = func(ctx context.Context, url string) error {
		return c.devReady(ctx, f, places{url, private}, definitions)
	}
	return p.run(ctx)
}

func (c *call) devDefinitions(ctx context.Context, f devFlags) ([]*definition, error) {
	all, err := c.readDefinitions(ctx, f.workflows, dag.BuildOptions{DefaultTimezone: f.zone})
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		fmt.Fprint(c.err, problemsText(d.File, d.Problems, false))
	}
	return all, invalid(all, ": nothing was started")
}

// places are where `ax dev` serves, and the private database; "" where it was named.
type places struct{ server, database string }

// devReady registers the definitions and says where everything is.
func (c *call) devReady(ctx context.Context, f devFlags, at places, all []*definition) error {
	done := register(ctx, newClient(at.server, c.remote.token, "default"), all, nil)
	if err := c.applyError(done, len(all)); err != nil {
		return err
	}
	if text := c.appliedText(done); text != "" {
		if err := c.tell("%s", text); err != nil {
			return err
		}
	}
	commands := "command nodes wait: --allow-commands runs them here"
	if f.commands.allow {
		commands = "command nodes run as this user"
	}
	database := ""
	if at.database != "" {
		database = "\n  other programs join with AX_DATABASE_URL='" + at.database + "'"
	}
	return c.tell("ax is ready at %s\n  %s/docs shows the API; data is in %s; %s%s\n  stop with Ctrl-C", at.server, at.server, f.data, commands, database)
}

// devName is the worker's name: the same for a data folder over restarts, so that a new process ends its earlier incarnation at
// once, and another for each folder on each machine.
func devName(data string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "dev"
	}
	return fmt.Sprintf("%.40s-%x", host, sha256.Sum256([]byte(data)))[:min(len(host), 40)+9]
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax"
	"github.com/ax-run/ax/bench"
	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/pgdev"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/migrations"
	"github.com/ax-run/ax/planner"
)

// benchFlags are how to measure.
type benchFlags struct {
	databaseURL, postgresBin string
	inline                   bool
	repeat                   int
	scale                    float64
	schedules, seconds       int
	rate                     float64
}

func newBench(c *call) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure ax against raw River on the same database",
		Long:  "Measures on a private PostgreSQL that is removed afterwards, or on an empty database of yours (--database-url), which it empties again.",
		RunE:  needVerb,
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.databaseURL, "database-url", "", "an empty PostgreSQL database to measure on")
	flags.StringVar(&f.postgresBin, "postgres-bin", "", "the folder of PostgreSQL's programs; looked for when left out")
	flags.BoolVar(&f.inline, "inline", true, "let workers go on with a successor at once, as they do outside of benchmarks")
	flags.IntVar(&f.repeat, "repeat", 3, "how often each measurement is taken; the median counts")
	flags.Float64Var(&f.scale, "scale", 1, "multiplies the number of runs")
	cmd.AddCommand(
		measurement[bench.Throughput]{"throughput", "Measure how many nodes move in a second, for four shapes of graph",
			bench.RunThroughput, throughputText}.verb(c, &f),
		measurement[bench.Latency]{"latency", "Measure how long the next node waits on an idle system",
			bench.RunLatency, latencyText}.verb(c, &f),
		measurement[bench.Remote]{"remote", "Measure how many node runs go through remote workers in a second, pushed to and polling, beside handlers in the process",
			bench.RunRemote, remoteText}.verb(c, &f),
		newBenchFires(c, &f), newBenchHerd(c, &f))
	return cmd
}

// measurement is one kind of it, and how its result is shown to people.
type measurement[T any] struct {
	name, short string
	take        func(context.Context, bench.Config) (T, error)
	text        func(T) string
}

func (m measurement[T]) verb(c *call, f *benchFlags) *cobra.Command {
	return &cobra.Command{
		Use: m.name, Short: m.short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var result T
			err := c.onBench(cmd.Context(), *f, func(ctx context.Context, config bench.Config) (err error) {
				result, err = m.take(ctx, config)
				return err
			})
			if err != nil {
				return databaseError(err)
			}
			return c.show(result, func() string { return m.text(result) })
		},
	}
}

// onBench measures on the database that the flags name, or on one that lasts as long.
func (c *call) onBench(ctx context.Context, f benchFlags, measure func(context.Context, bench.Config) error) (err error) {
	url := f.databaseURL
	if url == "" {
		place, stop, err := benchPostgres(ctx, f.postgresBin)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		url = place
	}
	if err := migrations.Up(ctx, url); err != nil {
		return err
	}
	pool, err := ax.Open(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	rows := store.New(pool)
	if err := refuseUsed(ctx, rows); err != nil {
		return err
	}
	return measure(ctx, bench.Config{
		Pool: pool, Inline: f.inline, Repeat: f.repeat, Scale: f.scale, Schedules: f.schedules, Rate: f.rate, Seconds: f.seconds,
		Register: func(ctx context.Context, text []byte) (int64, error) { return benchRegister(ctx, rows, text) },
		Logger:   slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Progress: func(what string) { c.sayf("measuring %s", what) },
	})
}

// benchPostgres starts a PostgreSQL with all durability on, and says how to end and remove it.
func benchPostgres(ctx context.Context, programs string) (url string, stop func() error, err error) {
	folder, err := os.MkdirTemp("", "ax-bench-")
	if err != nil {
		return "", nil, fmt.Errorf("make folder for the benchmark: %w", err)
	}
	remove := func() error { return os.RemoveAll(folder) }
	// The account that runs PostgreSQL for root must be able to pass.
	if err := os.Chmod(folder, 0o711); err != nil {
		return "", nil, errors.Join(fmt.Errorf("make folder for the benchmark: %w", err), remove())
	}
	server, err := pgdev.Start(ctx, pgdev.Config{Dir: filepath.Join(folder, "postgres"), BinDir: programs})
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return server.URL(), func() error {
		return errors.Join(server.Stop(context.WithoutCancel(ctx)), remove())
	}, nil
}

// benchPrefix begins the names of workflows that benchmarks register.
const benchPrefix = "bench."

// refuseUsed keeps the benchmark, which empties the database, from one that is in use.
func refuseUsed(ctx context.Context, rows *store.Store) error {
	namespace, err := rows.Namespace(ctx, "default")
	if err != nil {
		return err
	}
	const enough = 500
	workflows, err := rows.Workflows(ctx, namespace, math.MaxInt64, enough)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(workflows, func(w store.WorkflowRow) bool { return !strings.HasPrefix(w.Code, benchPrefix) }) {
		return failure(exitUsage, "the database holds workflows, and the benchmark would delete their runs: name one that holds nothing else")
	}
	return nil
}

func benchRegister(ctx context.Context, rows *store.Store, text []byte) (int64, error) {
	graph, problems := dag.Load(text, dag.BuildOptions{})
	if graph == nil {
		return 0, problems
	}
	done, err := planner.Register(ctx, rows, planner.Registration{Namespace: "default", Graph: graph, Actor: "bench"})
	return done.VersionID, err
}

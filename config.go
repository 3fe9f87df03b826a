package ax

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/cron"
	"github.com/ax-run/ax/planner"
	"github.com/ax-run/ax/sdk"
)

// Parts are what a process does. All of them also launch runs and move them on.
type Parts int

// The parts.
const (
	// Plan fires schedules.
	Plan Parts = 1 << iota
	// Work runs nodes.
	Work
)

// Config says what an App is made of. The zero value of every field but Pool is usable.
type Config struct {
	// Pool is the program's own. The App opens further pools with the same address, and leaves this one open. Required.
	Pool *pgxpool.Pool
	// Workflows are registered at Start, and their functions run here.
	Workflows []*sdk.Workflow
	// Namespace is where they belong; it must exist. Zero: default.
	Namespace string
	// Pools are those that the workflows use, by name. Start makes those that are not there yet, and leaves the others as they were set since.
	Pools map[string]Pool
	// Parts are what this process does. Zero: everything.
	Parts Parts
	// Worker says how nodes are run, and which beside those of Workflows. Its Namespace is the App's.
	Worker engine.WorkerConfig
	// Remote makes this process serve remote workers, for an API on it. PublicURL is where workers reach that API, as https://ax.example.
	Remote    *engine.RemoteConfig
	PublicURL string
	// Timings are how often the engine looks and how long it waits.
	Timings engine.Timings
	// DefaultTimezone is written into schedules that name no zone (S6). Zero: Asia/Shanghai.
	DefaultTimezone string
	// KeepSchema leaves the database's schema as it is; otherwise Start brings it up to date.
	KeepSchema bool
	// Logger is told of what goes wrong. Nil: slog.Default.
	Logger *slog.Logger
	// Metrics is told what the engine does; Observe of every row of the fire ledger. Nil: nobody.
	Metrics engine.Metrics
	Observe func(planner.Observed)
}

func (c Config) withDefaults() Config {
	c.Namespace = cmp.Or(c.Namespace, "default")
	c.Parts = cmp.Or(c.Parts, Plan|Work)
	c.DefaultTimezone = cmp.Or(c.DefaultTimezone, dag.DefaultTimezone)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Worker.Namespace = c.Namespace
	c.Worker.Handlers = maps.Clone(c.Worker.Handlers)
	return c
}

// check says what cannot work, all at once.
func (c *Config) check() error {
	var errs []error
	if c.Pool == nil {
		errs = append(errs, errors.New("the Pool is missing"))
	}
	if c.Parts&^(Plan|Work) != 0 {
		errs = append(errs, fmt.Errorf("there are no Parts %b: give Plan, Work or both", c.Parts))
	}
	if _, err := cron.LoadZone(c.DefaultTimezone); err != nil {
		errs = append(errs, fmt.Errorf("the DefaultTimezone %q: %w", c.DefaultTimezone, err))
	}
	return errors.Join(append(errs, c.checkPools())...)
}

// build makes the workflows' graphs, and their functions handlers of the worker.
func (c *Config) build() ([]*dag.Graph, error) {
	var graphs []*dag.Graph
	var errs []error
	codes := make(map[string]bool)
	for _, w := range c.Workflows {
		if w == nil {
			errs = append(errs, errors.New("a workflow is nil"))
			continue
		}
		if codes[w.Code()] {
			errs = append(errs, fmt.Errorf("there are two workflows %q", w.Code()))
		}
		codes[w.Code()] = true
		graph, err := c.graph(w)
		graphs, errs = append(graphs, graph), append(errs, err, c.serve(w))
	}
	w := c.Worker
	if c.Parts&Work != 0 && len(w.Handlers) == 0 && w.HTTP == nil && w.Command == nil {
		errs = append(errs, errors.New("there is nothing to run: give Workflows or Worker's handlers, or only Plan in Parts"))
	}
	return graphs, errors.Join(errs...)
}

func (c *Config) graph(w *sdk.Workflow) (*dag.Graph, error) {
	def, err := w.Definition()
	if err != nil {
		return nil, err
	}
	graph, problems := dag.Build(def, dag.BuildOptions{DefaultTimezone: c.DefaultTimezone})
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("check workflow %q: %w", w.Code(), err)
	}
	for _, p := range problems {
		c.Logger.Warn("a workflow deserves a look", "workflow", w.Code(), "problem", p.String())
	}
	return graph, nil
}

func (c *Config) serve(w *sdk.Workflow) error {
	var errs []error
	for name, h := range w.Handlers() {
		if c.Worker.Handlers[name] != nil {
			errs = append(errs, fmt.Errorf("workflow %q: there are two handlers %q", w.Code(), name))
			continue
		}
		if c.Worker.Handlers == nil {
			c.Worker.Handlers = make(map[string]engine.Executor)
		}
		c.Worker.Handlers[name] = executor(h)
	}
	return errors.Join(errs...)
}

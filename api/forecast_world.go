package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/cron"
	"github.com/ax-run/ax/internal/forecast"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

const (
	// maxForetold bounds how many workflows are simulated, and pastRuns of how many runs of each the durations are learnt.
	maxForetold = 50_000
	pastRuns    = 20
)

// foretold is one forecast at work.
type foretold struct {
	*API
	ctx       context.Context
	namespace int64
	in        *ForecastInput
	// instead is a definition that is not registered; nil for none.
	instead   *dag.Graph
	now       time.Time
	builder   *forecast.Builder
	past      map[int64]map[string]forecast.Past
	places    map[int64]int // of workflows, by their ids
	calendars []store.Calendar
	warnings  []string
}

// gather reads what there is and what will be started.
func (f *foretold) gather() error {
	begin := f.in.From.Add(-forecastLead)
	if begin.Before(f.now) {
		begin = f.now
	}
	zone, err := cron.LoadZone(f.DefaultTimezone)
	if err != nil {
		return fmt.Errorf("read the default zone: %w", err)
	}
	f.builder = forecast.NewBuilder(forecast.World{From: f.in.From, Until: f.in.To, Points: f.in.Points, MaxSteps: maxForecastSteps}, zone)
	for _, read := range []func() error{f.readPools, f.readQueues, f.readPast, f.readFlows} {
		if err := read(); err != nil {
			return err
		}
	}
	return errors.Join(f.readFires(begin), f.readDelayed())
}

func (f *foretold) readPools() error {
	pools, err := f.Store.Pools(f.ctx, f.namespace, "", maxForetold)
	if err != nil {
		return err
	}
	for _, p := range pools {
		r := forecast.Resource{Kind: forecast.PoolKind, Name: p.Name, Capacity: forecast.Unlimited, Burst: p.Rate.Burst}
		if p.Slots != nil {
			r.Capacity = *p.Slots
		}
		if p.Rate.Count > 0 {
			r.Every = p.Rate.Per / time.Duration(p.Rate.Count)
		}
		if p.PausedAt != nil {
			r.Capacity = 0
			f.warn("pool %s is paused: what needs it does not end, unless it is resumed", p.Name)
		}
		f.builder.Resource(r)
	}
	return nil
}

func (f *foretold) readQueues() error {
	queues, err := f.Store.QueueCapacities(f.ctx, f.namespace)
	if err != nil {
		return err
	}
	for _, q := range queues {
		r := forecast.Resource{Kind: forecast.QueueKind, Name: q.Name, Capacity: q.Capacity}
		switch {
		case q.Paused:
			r.Capacity = 0
			f.warn("queue %s is paused: what is in it does not end, unless it is resumed", q.Name)
		case q.Capacity == 0:
			r.Capacity = forecast.Unlimited
			f.warn("no worker takes from queue %s now: it is taken to have no limit", q.Name)
		}
		f.builder.Resource(r)
	}
	return nil
}

func (f *foretold) readPast() error {
	pasts, err := f.Store.NodePasts(f.ctx, f.namespace, pastRuns)
	if err != nil {
		return err
	}
	for _, p := range pasts {
		d, known := forecast.Learn(p.Took)
		of := f.past[p.Workflow]
		if of == nil {
			of = make(map[string]forecast.Past)
			f.past[p.Workflow] = of
		}
		// Of a node that has shards the shards count, not the whole.
		if known && (p.Sharded || of[p.Node].Copies == 0) {
			of[p.Node] = forecast.Past{Durations: d}
			if p.Sharded {
				of[p.Node] = forecast.Past{Durations: d, Copies: p.Copies}
			}
		}
	}
	return nil
}

func (f *foretold) readFlows() error {
	sources, err := f.Store.FlowSources(f.ctx, f.namespace, maxForetold+1)
	if err != nil {
		return err
	}
	if len(sources) > maxForetold {
		return conflict("there are more than %d workflows in the namespace, and a forecast simulates no more", maxForetold)
	}
	for _, s := range sources {
		g, err := dag.Rebuild(s.Definition)
		if err != nil {
			return fmt.Errorf("foretell workflow %d: %w", s.Workflow, err)
		}
		if f.instead != nil && g.Definition().Workflow == f.instead.Definition().Workflow {
			f.places[s.Workflow] = -1
			f.past[0] = f.past[s.Workflow]
			continue
		}
		f.places[s.Workflow] = f.builder.Workflow(g, f.past[s.Workflow], !s.Paused)
	}
	if f.instead != nil {
		if err := f.check(); err != nil {
			return err
		}
		place := f.builder.Workflow(f.instead, f.past[0], true)
		for id, at := range f.places {
			if at < 0 {
				f.places[id] = place
			}
		}
	}
	return nil
}

// check refuses a definition that could not be registered for the pools and calendars that it names.
func (f *foretold) check() error {
	problems, err := f.poolProblems(f.ctx, f.namespace, f.instead.Definition())
	if err != nil {
		return err
	}
	schedules := f.instead.Definition().Schedules
	calendars, err := f.Store.CalendarsNamed(f.ctx, f.namespace, planner.CalendarsOf(schedules))
	if err != nil {
		return err
	}
	return append(problems, planner.UnknownCalendars(schedules, calendars)...).Err()
}

func (f *foretold) warn(text string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(text, args...))
}

package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// RefusedOverlap is why a run was not created: too many of its workflow wait already (S22).
const RefusedOverlap = "overlap"

// Launch creates runs in the caller's transaction: nothing of them exists unless it commits, and then all of it does
// (S8). A limited workflow's row is locked; what becomes of its runs beyond the limit is its overflow policy's (S22). A
// trigger that cannot become a run, such as one with a bad parameter, fails alone, in its Launched.
func (e *Engine) Launch(ctx context.Context, tx pgx.Tx, triggers []store.Trigger) ([]store.Launched, error) {
	if len(triggers) == 0 {
		return nil, nil
	}
	return e.launch(ctx, tx, triggers, nil)
}

// launch is Launch; origin, where it is not nil, is where the run of the only trigger comes from.
func (e *Engine) launch(ctx context.Context, tx pgx.Tx, triggers []store.Trigger, origin *store.Origin) ([]store.Launched, error) {
	l := &launch{engine: e, out: make([]store.Launched, len(triggers))}
	ids, err := l.begin(ctx, tx, triggers)
	if err != nil {
		return nil, err
	}
	for i := range triggers {
		l.prepare(ctx, ids[i], i, &triggers[i])
	}
	if origin != nil && len(l.ready) == 1 {
		l.ready[0].run.Origin, l.ready[0].run.Undecided = origin, true
	}
	if err := l.admit(ctx, tx); err != nil {
		return nil, err
	}
	if err := l.write(ctx, tx); err != nil {
		return nil, err
	}
	return l.out, nil
}

// launch carries one call's work.
type launch struct {
	engine *Engine
	plans  map[int64]planned
	gate   *gate
	out    []store.Launched
	ready  []*prepared
}

// begin reads the plans, locks the limited workflows, and draws an id for each trigger.
func (l *launch) begin(ctx context.Context, tx pgx.Tx, triggers []store.Trigger) ([]store.RunID, error) {
	versions := make([]int64, len(triggers))
	for i := range triggers {
		versions[i] = triggers[i].Version
	}
	var err error
	if l.plans, err = l.engine.plans.getAll(ctx, versions); err != nil {
		return nil, err
	}
	var limited []int64
	for i := range triggers {
		if p := l.plans[versions[i]].plan; p != nil && p.limits(&triggers[i]) {
			limited = append(limited, p.source.Workflow)
		}
	}
	slices.Sort(limited)
	ids, limits, err := l.engine.store.NextRuns(ctx, tx, len(triggers), slices.Compact(limited))
	l.gate = newGate(limits)
	return ids, err
}

// limits reports whether the runs of a trigger may be limited in number.
func (p *plan) limits(t *store.Trigger) bool {
	c := p.graph.Definition().Concurrency
	return t.Named || c != nil && c.MaxRuns > 0
}

// prepared is a trigger whose run is sound; at is its place among the triggers.
type prepared struct {
	at     int
	plan   *plan
	run    store.NewRun
	yields bool
}

func (l *launch) prepare(ctx context.Context, id store.RunID, at int, t *store.Trigger) {
	p := l.plans[t.Version].plan
	if p == nil {
		l.out[at].Err = fmt.Errorf("prepare version %d: %w", t.Version, l.plans[t.Version].err)
		return
	}
	def := p.graph.Definition()
	params, err := def.ResolveParams(t.Params)
	if err != nil {
		l.out[at].Err = err
		return
	}
	r := &prepared{at: at, plan: p, yields: t.Yields, run: store.NewRun{
		ID: id, Namespace: p.source.Namespace, Workflow: p.source.Workflow, Version: t.Version, State: progress.Running,
		Limited: p.limits(t), Priority: urgency(t, def.Priority),
		Trigger: t.Kind, Actor: t.Actor, Schedule: t.Schedule, ScheduledAt: t.ScheduledAt, LogicalDate: t.LogicalDate,
		PreviousScheduledAt: t.PreviousScheduledAt, Params: params, Timeout: time.Duration(def.Timeout),
		Parent: t.Parent, Depth: t.Depth, Undecided: p.undecided,
	}}
	if r.run.Key, err = r.key(ctx); err != nil {
		l.out[at].Err = &dag.ParamError{Problems: []string{err.Error()}}
		return
	}
	if t.Test != nil {
		if err := r.test(ctx, l.engine.store, t.Test); err != nil {
			l.out[at].Err = err
			return
		}
	}
	l.out[at].Key = r.run.Key
	l.ready = append(l.ready, r)
}

// leastUrgent is the last of the priorities.
const leastUrgent = 4

// urgency is the priority of a run of a workflow whose own is given.
func urgency(t *store.Trigger, own int) int {
	if t.Yields {
		own = min(own+1, leastUrgent)
	}
	return max(t.Priority, own)
}

// key is the value by which the run is counted (S22).
func (r *prepared) key(ctx context.Context) (string, error) {
	facts := store.RunFacts{ID: r.run.ID, Workflow: r.plan.source.Code, Params: r.run.Params, ScheduledAt: r.run.ScheduledAt,
		PreviousScheduledAt: r.run.PreviousScheduledAt, LogicalDate: r.run.LogicalDate}
	return r.plan.graph.Key(ctx, runVars(&facts))
}

// admit decides which runs of limited workflows may start, wait, or are refused (S22).
func (l *launch) admit(ctx context.Context, tx pgx.Tx) error {
	for _, r := range l.ready {
		if !r.run.Limited {
			continue
		}
		if _, r.run.Limited = l.gate.limits[r.run.Workflow]; r.run.Limited {
			r.run.State = l.gate.admit(r)
		}
	}
	if err := l.press(ctx, tx, l.gate); err != nil {
		return err
	}
	admitted := l.ready[:0]
	for _, r := range l.ready {
		if r.run.State == progress.Skipped {
			l.out[r.at].Refused = RefusedOverlap
			continue
		}
		admitted = append(admitted, r)
	}
	l.ready = admitted
	return nil
}

func (l *launch) write(ctx context.Context, tx pgx.Tx) error {
	if len(l.ready) == 0 {
		return nil
	}
	var runs []store.NewRun
	var begins []store.Begin
	for _, r := range l.ready {
		runs = append(runs, r.run)
		l.out[r.at].Run, l.out[r.at].State = r.run.ID, r.run.State
		if r.run.State == progress.Running && !r.run.Undecided {
			begins = append(begins, l.engine.roots(r.plan, r.run.ID, r.run.Priority)...)
		}
	}
	if err := l.engine.store.InsertRuns(ctx, tx, runs, begins); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	l.engine.at(atLaunch)
	return nil
}

// roots are the first attempts of a run that begins.
func (e *Engine) roots(p *plan, run store.RunID, priority int) []store.Begin {
	snap := progress.Fresh(p.graph, time.Time{}, int64(run))
	var begins []store.Begin
	for _, step := range progress.Advance(p.graph, &snap, nil) {
		if step.Start != nil {
			begins = append(begins, e.begin(p, run, priority, step.Start))
		}
	}
	return begins
}

// begin says how an attempt is made due: queued, held for a delay, or held for what its node waits for.
func (e *Engine) begin(p *plan, run store.RunID, priority int, s *progress.Start) store.Begin {
	v := p.graph.At(s.Node)
	b := store.Begin{
		Attempt: store.Attempt{Run: run, Node: v.Name, Shard: s.Shard, Generation: s.Generation, Number: s.Attempt},
		Place:   p.place(s.Node, priority), Demand: p.demands[s.Node], Delay: s.After, Limit: time.Duration(v.Node.Timeout),
		Wait: time.Duration(v.Node.QueueTimeout),
	}
	switch {
	case s.After > 0:
		b.Mode = store.ModeDue
	case v.Node.Wait != nil:
		b.Mode = store.ModeWait
	case v.Node.Approval != nil:
		b.Mode = store.ModeApproval
	case v.Node.Child != nil:
		b.Mode = store.ModeChild
	case b.Demand != "":
		b.Mode = store.ModePool
	default:
		b.Mode = e.lanes.mode(b.Place)
	}
	return b
}

package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// moveGeneral moves things of any runs in one transaction: it locks the runs, lets progress.Advance decide, and
// writes its steps. Every thing is answered when it returns nil; none is otherwise.
func (e *Engine) moveGeneral(ctx context.Context, batch []*finished) error {
	m := &movement{engine: e, batch: batch}
	err := e.store.InTx(ctx, func(tx pgx.Tx) error { return m.run(ctx, tx) })
	if err != nil {
		return err
	}
	e.completer.refuse(ctx, m.stale)
	for _, f := range m.moved {
		f.reply = reply{}
	}
	m.observe()
	return nil
}

// movement carries one general transaction.
type movement struct {
	engine *Engine
	batch  []*finished
	locked store.Locked

	changes      store.Changes
	moved, stale []*finished
	runs         []*moving
	// freed are limited workflows of which a run ended.
	freed []int64
}

// moving is one run of the movement.
type moving struct {
	row    store.LockedRun
	plan   *plan
	snap   progress.Snapshot
	events []progress.Event
	// results are the accepted things by node position, with what their live rows knew.
	results map[int]accepted
	// live are the rows of nodes that are queued, running or held, by position.
	live map[int]*store.Live
	// cancel is the wish to cancel that came with this movement, if one did.
	cancel *progress.Cancel
	ended  progress.State
}

type accepted struct {
	f     *finished
	taken store.Taken
}

func (m *movement) run(ctx context.Context, tx pgx.Tx) error {
	var runs []store.RunID
	for _, f := range m.batch {
		runs = append(runs, f.claim.Attempt.Run)
	}
	slices.Sort(runs)
	locked, err := m.engine.store.LockRuns(ctx, tx, slices.Compact(runs), claimsOf(m.batch))
	if err != nil {
		return err
	}
	m.locked = locked
	m.engine.at(atHalf)
	if err := m.prepare(ctx); err != nil {
		return err
	}
	for _, r := range m.runs {
		m.advance(r)
	}
	if err := m.engine.store.Apply(ctx, tx, m.changes); err != nil {
		return err
	}
	if err := m.engine.startQueued(ctx, tx, m.freed); err != nil {
		return err
	}
	m.engine.at(atApplied)
	return nil
}

// prepare turns what was read into one snapshot and its events a run.
func (m *movement) prepare(ctx context.Context) error {
	byRun := make(map[store.RunID]*moving)
	for _, row := range m.locked.Runs {
		p, err := m.engine.plans.get(ctx, row.Version)
		if err != nil {
			return err
		}
		r := &moving{row: row, plan: p, snap: progress.Fresh(p.graph, row.Now, int64(row.ID)), results: make(map[int]accepted), live: make(map[int]*store.Live)}
		r.snap.Run = progress.Run{State: row.State, Canceling: row.Canceling, TimedOut: row.TimedOut}
		byRun[row.ID] = r
		m.runs = append(m.runs, r)
	}
	for i := range m.locked.Facts {
		f := &m.locked.Facts[i]
		byRun[f.Run].recall(f)
	}
	for i := range m.locked.Live {
		l := &m.locked.Live[i]
		r := byRun[l.Attempt.Run]
		r.revive(l.Attempt, l.State)
		if i, ok := r.plan.graph.Index(l.Attempt.Node); ok {
			r.live[i] = l
		}
	}
	m.accept(byRun)
	for _, i := range m.locked.Intents {
		if r := byRun[i.Run]; r != nil {
			r.want(i)
			m.changes.Intents = append(m.changes.Intents, i.Run)
		}
	}
	return nil
}

// recall sets a node to what history says.
func (r *moving) recall(f *store.Fact) {
	if i, ok := r.plan.graph.Index(f.Node); ok && f.Shard == store.WholeNode {
		r.snap.Nodes[i] = progress.Node{State: f.State, Tolerated: f.Tolerated, Generation: f.Generation, Attempt: f.Attempt,
			Failures: f.Failures, Lost: f.Lost}
	}
}

// revive sets a node to what its live row says; the failures of its generation stay.
func (r *moving) revive(a store.Attempt, s progress.State) {
	i, ok := r.plan.graph.Index(a.Node)
	if !ok || a.Shard != store.WholeNode {
		return
	}
	n := &r.snap.Nodes[i]
	if n.Generation != a.Generation {
		*n = progress.Node{Generation: a.Generation}
	}
	n.State, n.Attempt, n.Tolerated = s, a.Number, false
}

// accept matches results with the live rows that were removed for them; the others are stale.
func (m *movement) accept(byRun map[store.RunID]*moving) {
	taken := make(map[store.Attempt]store.Taken, len(m.locked.Taken))
	for _, t := range m.locked.Taken {
		taken[store.Attempt{Run: t.Attempt.Run, Node: t.Attempt.Node, Shard: t.Attempt.Shard, Number: t.Attempt.Number}] = t
	}
	for _, f := range m.batch {
		if f.wake {
			m.moved = append(m.moved, f)
			continue
		}
		a := f.claim.Attempt
		key := store.Attempt{Run: a.Run, Node: a.Node, Shard: a.Shard, Number: a.Number}
		t, ok := taken[key]
		r := byRun[a.Run]
		if !ok || r == nil {
			m.stale = append(m.stale, f)
			continue
		}
		delete(taken, key)
		m.moved = append(m.moved, f)
		m.apply(r, accepted{f: f, taken: t})
	}
}

// apply makes an accepted thing an event, or the held row of an attempt that runs elsewhere from now on.
func (m *movement) apply(r *moving, got accepted) {
	a := got.f.claim.Attempt
	i, ok := r.plan.graph.Index(a.Node)
	if !ok {
		return
	}
	r.revive(a, progress.Running)
	if acc := got.f.outcome.Accepted; acc != nil {
		m.changes.Remotes = append(m.changes.Remotes, store.Remote{Attempt: a, Place: r.plan.places[i], Worker: acc.Worker,
			QueuedAt: got.taken.QueuedAt, StartedAt: got.taken.StartedAt, Deadline: acc.Left})
		return
	}
	r.results[i] = got
	o := got.f.outcome
	r.events = append(r.events, progress.Event{Result: &progress.Result{Node: i, Err: o.Err, Skipped: o.Skipped, Note: o.Reason}})
}

// want makes a wish an event.
func (r *moving) want(i store.Intent) {
	switch i.Kind {
	case store.IntentCancel:
		r.cancel = &progress.Cancel{Actor: i.Actor, Reason: i.Reason}
		r.events = append(r.events, progress.Event{Cancel: r.cancel})
	case store.IntentDeadline:
		if r.row.PastDeadline {
			r.events = append(r.events, progress.Event{Deadline: true})
		}
	}
}

// advance asks for a run's steps and gathers what they write.
func (m *movement) advance(r *moving) {
	if r.row.State.Terminal() || r.row.State == progress.Queued && len(r.events) == 0 {
		return
	}
	steps := progress.Advance(r.plan.graph, &r.snap, r.events)
	change := store.RunChange{ID: r.row.ID, State: r.snap.Run.State, Canceling: r.snap.Run.Canceling, TimedOut: r.snap.Run.TimedOut}
	if r.cancel != nil {
		change.CanceledBy, change.CancelReason = r.cancel.Actor, r.cancel.Reason
	}
	for _, s := range steps {
		switch {
		case s.Start != nil:
			m.changes.Begins = append(m.changes.Begins, m.engine.begin(r.plan, r.row.ID, s.Start))
		case s.End != nil:
			m.end(r, s.End)
		case s.Run != nil:
			change.Reason, change.Warnings = string(s.Run.Reason), s.Run.Warnings
			m.ended(r, s.Run.State)
		}
	}
	m.changes.Runs = append(m.changes.Runs, change)
}

func (m *movement) ended(r *moving, s progress.State) {
	r.ended = s
	if r.row.Limited {
		m.freed = append(m.freed, r.row.Workflow)
	}
}

// end makes the row of history that a step asks for.
func (m *movement) end(r *moving, s *progress.End) {
	rec := store.Record{
		Attempt: store.Attempt{Run: r.row.ID, Node: r.plan.graph.At(s.Node).Name, Shard: store.WholeNode, Generation: s.Generation, Number: s.Attempt},
		State:   s.State, Outcome: outcomeName(s), Tolerated: s.Tolerated, Actor: "engine", Reason: string(s.Reason), Note: s.Note, Err: s.Err,
	}
	if s.Live {
		m.withdraw(&rec)
	}
	if l := r.live[s.Node]; s.Live && l != nil {
		m.changes.Drops = append(m.changes.Drops, rec.Attempt)
		rec.JobID, rec.QueuedAt, rec.StartedAt, rec.Worker, rec.Holds = l.JobID, l.QueuedAt, l.StartedAt, l.Worker, l.Holds
	}
	if r.cancel != nil && s.Reason == progress.ReasonCanceled {
		rec.Actor = r.cancel.Actor
	}
	if got, ok := r.results[s.Node]; ok && s.Reported {
		rec.JobID, rec.QueuedAt, rec.StartedAt, rec.Holds = got.taken.JobID, got.taken.QueuedAt, got.taken.StartedAt, got.taken.Holds
		rec.Worker = cmp.Or(got.f.worker, got.taken.Worker)
		rec.Output = got.f.outcome.Output
		rec.Actor = "worker:" + rec.Worker
		if s.Err != nil && s.Err.Class == progress.Lost {
			rec.Actor = "engine"
		}
	}
	m.changes.Records = append(m.changes.Records, rec)
}

// withdraw takes back what the same movement made due or sent elsewhere: what ends before it is stored leaves no live row.
func (m *movement) withdraw(rec *store.Record) {
	m.changes.Begins = slices.DeleteFunc(m.changes.Begins, func(b store.Begin) bool { return b.Attempt == rec.Attempt })
	m.changes.Remotes = slices.DeleteFunc(m.changes.Remotes, func(r store.Remote) bool {
		if r.Attempt != rec.Attempt {
			return false
		}
		rec.QueuedAt, rec.StartedAt, rec.Worker = r.QueuedAt, r.StartedAt, r.Worker
		return true
	})
}

// outcomeName is how the attempt itself ended, whatever state the node is in now.
func outcomeName(s *progress.End) string {
	switch {
	case s.Err == nil:
		return string(s.State)
	case s.Err.Class == progress.Timeout, s.Err.Class == progress.Lost, s.Err.Class == progress.HandedBack:
		return string(s.Err.Class)
	}
	return string(progress.Failed)
}

func (m *movement) observe() {
	for _, r := range m.runs {
		for _, got := range r.results {
			m.engine.metrics.NodeRunEnded(resultState(got.f), got.f.took)
		}
		if r.ended != "" {
			m.engine.metrics.RunEnded(r.ended)
		}
	}
}

func resultState(f *finished) progress.State {
	switch {
	case f.outcome.Err != nil:
		return progress.Failed
	case f.outcome.Skipped:
		return progress.Skipped
	}
	return progress.Succeeded
}

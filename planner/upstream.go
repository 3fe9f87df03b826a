package planner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

// Upstream completion (S12).
//
// The problem. A workflow starts when others have completed, once for each key, such as a date, whatever order their ends
// come in, whoever processes them, and wherever a process dies.
//
// The shape. The commit that ends a run, or a node that somebody waits for, writes a completion beside it. A planner claims
// completions and looks, for every workflow that waits and every key that they are about, at a set: one row a key. Under the row's lock
// it asks the tables what is true by now of each term that is not satisfied yet, notes those that are, and when enough are it starts the
// run; notes, run and removal of the completions are one commit. So:
//
//  1. A completion is only the reason to look: what satisfies a term is read from the runs, not carried in it. None is missed, since
//     the run's end and the completion are one commit, and a look that comes too early is repeated by the next completion.
//  2. One run a key, ever: the set's row outlives its run and says what became of it.
//  3. A satisfied term stays so: a rerun of an upstream does not take it back.
//  4. Two planners with completions of one key take turns at the set's row; the second sees what the first has done.
//
// Rejected: counting completions (a rerun, or two runs of one date, count twice), and deciding in the commit that ends the run (it
// holds its locks, and would take those of other workflows).
type upstream struct {
	*Planner
	now time.Time
	// wishes are the sets to look at, and starts what they start.
	wishes map[wishKey]*wish
	starts []start
}

// wishKey orders the sets as they are locked.
type wishKey struct {
	workflow int64
	key      string
}

// wish is a set to look at because of a completion.
type wish struct {
	down *store.Downstream
	key  store.TermKey
	each store.RunID
	text string
	by   store.Completion
	// come are the completions that came for it.
	come []store.Completion
}

// start is a set whose run is to be launched.
type start struct {
	set  store.UpstreamSet
	down *store.Downstream
}

const (
	// completionBatch is how many completions one transaction consumes.
	completionBatch = 200
	// maxEach is how many runs of one key a term that takes each may have, and how many waiting sets one completion may complete.
	maxEach = 1000
	// triggerUpstream is the trigger of the runs.
	triggerUpstream = "upstream"
	// latestKey is the set of a workflow all of whose terms match the latest.
	latestKey = "latest"
)

// consume consumes completions, at most a batch, and returns how long to sleep.
func (p *Planner) consume(ctx context.Context) (time.Duration, error) {
	n, err := p.consumeBatch(ctx)
	if err != nil || n == completionBatch {
		return 0, err
	}
	return maxSleep, nil
}

// consumeBatch says how many completions it took up. A batch that one of them spoils is repeated with each apart.
func (p *Planner) consumeBatch(ctx context.Context) (n int, err error) {
	for _, apart := range []bool{false, true} {
		err = p.store.InTx(ctx, func(tx pgx.Tx) error {
			done, err := p.store.ClaimCompletions(ctx, tx, completionBatch)
			if n = len(done); err != nil || n == 0 {
				return err
			}
			if apart {
				return p.takeApart(ctx, tx, done)
			}
			return p.take(ctx, tx, done)
		})
		if err == nil || ctx.Err() != nil || store.Transient(err) {
			break
		}
	}
	return n, err
}

// takeApart consumes each completion in a savepoint of its own; one that cannot be consumed is put off.
func (p *Planner) takeApart(ctx context.Context, tx pgx.Tx, done []store.Completion) error {
	for _, c := range done {
		err := p.store.InSavepoint(ctx, tx, func(tx pgx.Tx) error { return p.take(ctx, tx, []store.Completion{c}) })
		if err == nil {
			continue
		}
		if store.Transient(err) {
			return err
		}
		p.logger.Error("a completion cannot be consumed", "workflow", c.Workflow, "run", c.Run, "error", err)
		if err := p.store.PutOffCompletion(ctx, tx, c, pause); err != nil {
			return err
		}
	}
	return nil
}

func (p *Planner) take(ctx context.Context, tx pgx.Tx, done []store.Completion) error {
	if err := p.store.NoteEnded(ctx, tx, done); err != nil {
		return err
	}
	var upstreams []int64
	for _, c := range done {
		upstreams = append(upstreams, c.Workflow)
	}
	downs, err := p.store.Downstreams(ctx, tx, upstreams)
	if err != nil {
		return err
	}
	if len(downs) == 0 {
		return p.store.DropCompletions(ctx, tx, done)
	}
	counting, err := p.store.Counting(ctx, tx, done)
	if err != nil {
		return err
	}
	u := &upstream{Planner: p, wishes: make(map[wishKey]*wish)}
	if u.now, err = p.store.NowIn(ctx, tx); err != nil {
		return err
	}
	for i := range downs {
		for _, c := range counting {
			if err := u.wish(ctx, tx, &downs[i], c); err != nil {
				return err
			}
		}
	}
	if err := u.lookAtAll(ctx, tx); err != nil {
		return err
	}
	if err := u.launch(ctx, tx); err != nil {
		return err
	}
	return p.store.DropCompletions(ctx, tx, done)
}

// lookAtAll looks at the sets in the order in which all lock them.
func (u *upstream) lookAtAll(ctx context.Context, tx pgx.Tx) error {
	for _, k := range slices.SortedFunc(maps.Keys(u.wishes), func(a, b wishKey) int {
		return cmp.Or(cmp.Compare(a.workflow, b.workflow), cmp.Compare(a.key, b.key))
	}) {
		if err := u.lookAt(ctx, tx, u.wishes[k]); err != nil {
			return fmt.Errorf("look at upstream set %s of workflow %d: %w", k.key, k.workflow, err)
		}
	}
	return nil
}

// lookAt brings one set up to date.
func (u *upstream) lookAt(ctx context.Context, tx pgx.Tx, w *wish) error {
	set, err := u.store.LockSet(ctx, tx, store.UpstreamSet{
		Workflow: w.down.Workflow, Key: w.text, ScheduledAt: w.by.ScheduledAt, LogicalDate: w.by.LogicalDate}, w.down.Window)
	if err != nil {
		return err
	}
	if set.State != store.SetWaiting {
		set.Later += len(w.come)
		return u.store.SaveSet(ctx, tx, set)
	}
	if w.each != 0 { // the key without a run waited for the first of them
		if err := u.store.DropSet(ctx, tx, w.down.Workflow, keyText(w.key)); err != nil {
			return err
		}
	}
	if w.text == latestKey {
		set.Satisfied = nil // what is the latest is asked anew
	}
	if err := u.ask(ctx, tx, w, &set); err != nil {
		return err
	}
	complete := len(set.Satisfied) == len(w.down.Terms) || w.down.Any && len(set.Satisfied) > 0
	switch {
	case !complete:
		return u.store.SaveSet(ctx, tx, set)
	case w.text == latestKey:
		return u.fireLatest(ctx, tx, w, set)
	}
	u.starts = append(u.starts, start{set, w.down})
	return nil
}

// ask asks of each term that is not satisfied yet whether it is by now.
func (u *upstream) ask(ctx context.Context, tx pgx.Tx, w *wish, set *store.UpstreamSet) error {
	for _, t := range w.down.Terms {
		if slices.ContainsFunc(set.Satisfied, func(s store.Satisfied) bool { return s.Place == t.Place }) {
			continue
		}
		saw, err := u.look(ctx, tx, t, w.key, w.each)
		if err != nil {
			return err
		}
		run, ok := verdict(t, saw)
		if !ok {
			continue
		}
		got := store.Satisfied{Place: t.Place, At: u.now}
		if run != nil {
			got.Run = run.Run
			if run.ScheduledAt.After(set.ScheduledAt) {
				set.ScheduledAt = run.ScheduledAt
			}
		}
		set.Satisfied = append(set.Satisfied, got)
	}
	return nil
}

// fireLatest fires once for each of the completions that satisfies its own term, now that all are present.
func (u *upstream) fireLatest(ctx context.Context, tx pgx.Tx, w *wish, latest store.UpstreamSet) error {
	for _, c := range w.come {
		fits, err := u.fits(ctx, tx, w.down, c)
		if err != nil {
			return err
		}
		if !fits {
			continue
		}
		set, err := u.store.LockSet(ctx, tx, store.UpstreamSet{
			Workflow: w.down.Workflow, Key: fmt.Sprintf("run:%s:%d", c.Run, c.Generation), ScheduledAt: c.ScheduledAt, LogicalDate: c.LogicalDate}, w.down.Window)
		if err != nil {
			return err
		}
		if set.State != store.SetWaiting {
			set.Later++
			if err := u.store.SaveSet(ctx, tx, set); err != nil {
				return err
			}
			continue
		}
		set.Satisfied = latest.Satisfied
		u.starts = append(u.starts, start{set, w.down})
	}
	return u.store.DropSet(ctx, tx, w.down.Workflow, latestKey)
}

// fits reports whether a completion's own run satisfies one of the terms that it is about.
func (u *upstream) fits(ctx context.Context, tx pgx.Tx, d *store.Downstream, c store.Completion) (bool, error) {
	if c.Run == 0 {
		return false, nil
	}
	for _, t := range d.Terms {
		if !concerns(t, c) {
			continue
		}
		runs, err := u.store.RunOfTerm(ctx, tx, t, c.Run)
		if err != nil {
			return false, err
		}
		if len(runs) > 0 {
			if _, ok := verdict(t, sight{run: &runs[0]}); ok {
				return true, nil
			}
		}
	}
	return false, nil
}

// launch launches the runs of complete sets, and writes what became of each. A paused workflow starts nothing by itself (S33).
func (u *upstream) launch(ctx context.Context, tx pgx.Tx) error {
	var triggers []store.Trigger
	var sets []*store.UpstreamSet
	for i := range u.starts {
		set := &u.starts[i].set
		if u.starts[i].down.Paused {
			set.State, set.Reason = store.SetSkipped, store.SkipPaused
			if err := u.store.SaveSet(ctx, tx, *set); err != nil {
				return err
			}
			continue
		}
		sets = append(sets, set)
		triggers = append(triggers, store.Trigger{Version: u.starts[i].down.Version, Kind: triggerUpstream, Actor: actor,
			ScheduledAt: set.ScheduledAt, LogicalDate: set.LogicalDate, Params: []byte("{}")})
	}
	if len(triggers) == 0 {
		return nil
	}
	launched, err := u.launcher.Launch(ctx, tx, triggers)
	if err != nil {
		return err
	}
	for i, l := range launched {
		if l.Err != nil && store.Transient(l.Err) {
			return l.Err
		}
		become(sets[i], l)
		if err := u.store.SaveSet(ctx, tx, *sets[i]); err != nil {
			return err
		}
	}
	return nil
}

// become writes down what became of a complete set.
func become(set *store.UpstreamSet, l store.Launched) {
	switch {
	case l.Err != nil:
		set.State, set.Reason = store.SetFailed, reason(l.Err)
	case l.Refused != "":
		set.State, set.Reason = store.SetSkipped, l.Refused
	default:
		set.State, set.Run = store.SetFired, l.Run
	}
}

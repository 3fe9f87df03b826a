package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

// The reconciler looks for what must not be (I1–I9): attempts that nobody would ever take, live rows of what has ended, counters that do not
// count, slots, jobs and wishes of nobody. It sets right what has one right answer and leaves the rest to a person.
//
// Between two commits of a sound engine none of it exists, so one snapshot is enough to find it. Nothing is done at once, though:
// what was found must be there again after a while (Timings.Doubt), and once more under the lock of its run, which all that moves the run
// takes too. What is then done about a run is a movement like any other, by moveGeneral: an attempt of which nothing is there ends as lost, and
// everything else follows from the rules.
//
// It never reads what is over. One process at a time, each round looks at the next stretch of what is live: patrolRuns running runs as a
// whole, patrolRows live rows for their run alone, and what is few in full.
type reconciler struct {
	engine *Engine
	holder string
	patrol store.Patrol
	// ahead is when this process last saw to it that the next months' partitions are there.
	ahead time.Time
}

const (
	patrolRuns, patrolRows = 500, 5000
	// patrolChunk is how many runs are read at once.
	patrolChunk = 25
	// forgottenAfter is how long nobody has taken up a wish that is forgotten.
	forgottenAfter = time.Minute
	// reconcileLease is after which time another process takes on what its holder began.
	reconcileLease = 2 * time.Minute

	dutyReconcile = "reconcile"

	// partitionsAhead is how many months after this one have their partitions; they are looked after every partitionsEvery.
	partitionsAhead, partitionsEvery = 2, 6 * time.Hour
)

func newReconciler(e *Engine) *reconciler {
	return &reconciler{engine: e, holder: rand.Text()}
}

// round does the work if it is due and no other process has it.
func (c *reconciler) round(ctx context.Context) (time.Duration, error) {
	every := c.engine.timings.Reconcile
	taken, err := c.engine.store.TakeDuty(ctx, dutyReconcile, c.holder, reconcileLease)
	if err != nil || !taken {
		return every, err
	}
	c.makePartitions(ctx)
	pass, cancel := context.WithTimeout(ctx, reconcileLease)
	defer cancel()
	_, err = c.pass(pass, c.engine.timings.Doubt)
	return every, errors.Join(err, c.engine.store.EndDuty(ctx, dutyReconcile, c.holder, every*9/10))
}

// makePartitions makes those that history will go to in the next months. Without, it goes to the table for the rest: later is soon enough.
func (c *reconciler) makePartitions(ctx context.Context) {
	if time.Since(c.ahead) < partitionsEvery {
		return
	}
	if err := c.engine.store.EnsurePartitions(ctx, partitionsAhead); err != nil && ctx.Err() == nil {
		c.engine.log.Warn("the partitions of the next months were not made, trying again later", slog.Any("error", err))
	}
	c.ahead = time.Now()
}

// pass looks once and settles what has been known for as long as doubt. It returns what it settled.
func (c *reconciler) pass(ctx context.Context, doubt time.Duration) ([]store.Finding, error) {
	found, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	known, err := c.engine.store.Suspect(ctx, distinct(found), doubt)
	if err != nil {
		return nil, err
	}
	var ripe []store.Finding
	for _, f := range known {
		if f.Ripe {
			ripe = append(ripe, f)
		}
	}
	settled, err := c.settle(ctx, ripe)
	if err != nil || len(settled) == 0 {
		return settled, err
	}
	return settled, c.engine.store.SettleFindings(ctx, settled)
}

// distinct keeps one finding of each name.
func distinct(found []store.Finding) []store.Finding {
	seen := make(map[[2]string]bool, len(found))
	return slices.DeleteFunc(found, func(f store.Finding) bool {
		key := [2]string{f.Kind, f.Subject}
		defer func() { seen[key] = true }()
		return seen[key]
	})
}

// look finds what must not be in the next stretch of what is live.
func (c *reconciler) look(ctx context.Context) ([]store.Finding, error) {
	next, err := c.engine.store.Step(ctx, &c.patrol, patrolRuns, patrolRows, forgottenAfter)
	if err != nil {
		return nil, err
	}
	slices.Sort(next.Runs)
	found, err := c.lookAt(ctx, slices.Compact(next.Runs))
	if err != nil {
		return nil, err
	}
	for _, id := range next.Foreign {
		found = append(found, store.Finding{Kind: findingForeign, Subject: strconv.FormatInt(id, 10), Detail: "its arguments or its key are none of ours"})
	}
	stray, err := c.engine.store.StraySlots(ctx, patrolRuns)
	for _, a := range stray {
		found = append(found, attemptTrouble(findingStray, a, "it is neither queued nor running, and has slots", nil).Finding)
	}
	return found, err
}

// lookAt looks at some runs, few at a time. One that cannot be read back keeps nobody from looking at the others.
func (c *reconciler) lookAt(ctx context.Context, runs []store.RunID) (found []store.Finding, err error) {
	for chunk := range slices.Chunk(runs, patrolChunk) {
		some, err := c.read(ctx, chunk)
		switch {
		case err == nil:
		case ctx.Err() != nil || store.Transient(err):
			return nil, err
		case len(chunk) == 1:
			some = []store.Finding{runTrouble(findingUnreadable, chunk[0], err.Error(), nil).Finding}
		default:
			for _, run := range chunk {
				one, err := c.lookAt(ctx, []store.RunID{run})
				if err != nil {
					return nil, err
				}
				some = append(some, one...)
			}
		}
		found = append(found, some...)
	}
	return found, nil
}

// read reads runs back from one snapshot and finds their troubles. That join counters outlive their run is none: a process died before it
// had swept.
func (c *reconciler) read(ctx context.Context, runs []store.RunID) (found []store.Finding, err error) {
	var ended []store.RunID
	defer func() { c.engine.sweepJoins(ctx, ended) }()
	err = c.engine.store.InSnapshot(ctx, func(tx pgx.Tx) error {
		locked, err := c.engine.store.LookAt(ctx, tx, runs)
		if err != nil {
			return err
		}
		odd, err := c.engine.store.Oddities(ctx, tx, runs, forgottenAfter)
		if err != nil {
			return err
		}
		m := &movement{engine: c.engine, probes: probes(runs, odd)}
		left := leftOver(runs, &locked, m.probes)
		if err := m.recall(ctx, tx, &locked); err != nil {
			return err
		}
		for _, r := range m.runs {
			troubles, err := r.troubles()
			if err != nil {
				return err
			}
			for _, t := range troubles {
				found = append(found, t.Finding)
			}
			if r.row.State.Terminal() && len(r.probe.counters) > 0 {
				ended = append(ended, r.row.ID)
			}
		}
		found = append(found, left...)
		return nil
	})
	return found, err
}

// leftOver finds runs that do not exist and of which something is there, and takes what is live of them out.
func leftOver(runs []store.RunID, locked *store.Locked, odd map[store.RunID]*probe) (found []store.Finding) {
	exists := make(map[store.RunID]bool, len(locked.Runs))
	for _, r := range locked.Runs {
		exists[r.ID] = true
	}
	rows := make(map[store.RunID]int)
	for _, l := range locked.Live {
		rows[l.Attempt.Run]++
	}
	for _, i := range locked.Intents {
		rows[i.Run]++
	}
	for _, run := range runs {
		p := odd[run]
		if n := rows[run] + len(p.jobs) + len(p.counters); n > 0 && !exists[run] {
			found = append(found, runTrouble(findingLeftRows, run, fmt.Sprintf("the run does not exist, and %d rows of it are there", n), nil).Finding)
		}
	}
	gone := func(run store.RunID) bool { return !exists[run] }
	locked.Facts = slices.DeleteFunc(locked.Facts, func(f store.Fact) bool { return gone(f.Run) })
	locked.Live = slices.DeleteFunc(locked.Live, func(l store.Live) bool { return gone(l.Attempt.Run) })
	locked.Expansions = slices.DeleteFunc(locked.Expansions, func(e store.Expansion) bool { return gone(e.Run) })
	return found
}

// settle sets right what can be set right, and says of each finding what it is by now: repaired, or open. What was only on its way is neither.
func (c *reconciler) settle(ctx context.Context, ripe []store.Finding) ([]store.Finding, error) {
	var settled []store.Finding
	var runs, gone []store.RunID
	var stray bool
	for _, f := range ripe {
		switch {
		case f.Kind == findingStray:
			stray = true
		case f.Kind == findingForeign, f.Kind == findingUnreadable:
			settled = append(settled, c.note(f, store.FindingOpen))
		case f.Kind == findingLeftRows:
			gone = append(gone, f.Run)
			settled = append(settled, c.note(f, store.FindingRepaired))
		default:
			runs = append(runs, f.Run)
		}
	}
	if len(gone) > 0 {
		if err := c.engine.store.ForgetRuns(ctx, gone); err != nil {
			return nil, err
		}
	}
	if stray {
		freed, err := c.engine.store.FreeStray(ctx)
		if err != nil {
			return nil, err
		}
		for _, a := range freed {
			settled = append(settled, c.note(attemptTrouble(findingStray, a, "it was neither queued nor running, and had slots", nil).Finding, store.FindingRepaired))
		}
	}
	slices.Sort(runs)
	return append(settled, c.mend(ctx, slices.Compact(runs), ripe)...), nil
}

// mend has runs mended by their lanes.
func (c *reconciler) mend(ctx context.Context, runs []store.RunID, ripe []store.Finding) (settled []store.Finding) {
	known := make(map[[2]string]store.FindingState, len(ripe))
	for _, f := range ripe {
		known[[2]string{f.Kind, f.Subject}] = f.State
	}
	asked := make([]*finished, len(runs))
	var all sync.WaitGroup
	for i, run := range runs {
		f := &finished{wake: true, mend: true, claim: store.Claim{Attempt: store.Attempt{Run: run}}}
		asked[i] = f
		all.Go(func() { c.engine.report(ctx, f) })
	}
	all.Wait()
	for _, f := range asked {
		for _, t := range f.mended {
			settled = append(settled, c.note(t, store.FindingRepaired))
		}
		for _, t := range f.left {
			if state, ok := known[[2]string{t.Kind, t.Subject}]; ok {
				t.State = state
				settled = append(settled, c.note(t, store.FindingOpen))
			}
		}
	}
	return settled
}

// note says what has become of a finding, once.
func (c *reconciler) note(f store.Finding, state store.FindingState) store.Finding {
	if f.State != state {
		text := "something that must not be was found, and is for a person to look at"
		if state == store.FindingRepaired {
			text = "something that must not be was found and set right"
		}
		c.engine.log.Error(text, slog.String("kind", f.Kind), slog.String("subject", f.Subject), slog.String("what", f.Detail))
		c.engine.metrics.Found(f.Kind, state == store.FindingRepaired)
	}
	f.State = state
	return f
}

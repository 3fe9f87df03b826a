package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// isClean reports whether the fast path may try this: a first attempt that succeeded, whose successors
// are decided by counting. Whether the run is clean, the statement itself finds out.
func (f *finished) isClean() bool {
	a := f.claim.Attempt
	if f.wake || f.plan == nil || f.outcome.Err != nil || f.outcome.Skipped || f.outcome.Accepted != nil ||
		f.claim.Job.ID == 0 || a.Generation != 1 || a.Number != 1 || a.Shard != store.WholeNode {
		return false
	}
	_, plain := f.plan.arrivals.Of(f.node)
	return plain && !f.plan.graph.At(f.node).Node.Finally
}

// moveFast moves what it can by the fast path and returns what needs the general path.
func (c *completer) moveFast(ctx context.Context, things []*finished) (rest []*finished) {
	for attempt := 0; len(things) > 0; attempt++ {
		b := newFastBatch(c.engine, things)
		res, err := c.engine.store.MoveClean(ctx, b.rows)
		switch {
		case err == nil:
			return append(rest, c.settleFast(ctx, b, res)...)
		case ctx.Err() != nil:
			answer(things, reply{err: errStopped})
			return rest
		case errors.Is(err, store.ErrFenced):
			var unclean []*finished
			if things, unclean, err = c.unfence(ctx, things); err == nil {
				rest = append(rest, unclean...)
				continue
			}
		case !store.Transient(err):
			c.engine.log.Error("the fast path failed, taking the general one", slog.Int("batch", len(things)), slog.Any("error", err))
			return append(rest, things...)
		}
		c.engine.log.Warn("moving results failed, trying again", slog.Int("batch", len(things)), slog.Any("error", err))
		c.engine.backoff(ctx, attempt)
	}
	return rest
}

// settleFast answers what was moved, and returns the runs whose end needs the general path.
func (c *completer) settleFast(ctx context.Context, b *fastBatch, res store.CleanResult) (rest []*finished) {
	for i := range res.Inline {
		if f := b.hopes[res.Inline[i].Attempt]; f != nil {
			f.reply.next = &res.Inline[i]
		}
	}
	for _, f := range b.things {
		c.engine.metrics.NodeRunEnded(progress.Succeeded, f.took)
	}
	for range res.Ended {
		c.engine.metrics.RunEnded(progress.Succeeded)
	}
	c.engine.sweepJoins(ctx, res.Ended)
	for _, run := range res.Settle {
		rest = append(rest, &finished{wake: true, claim: store.Claim{Attempt: store.Attempt{Run: run}}})
	}
	return rest
}

// unfence finds out why a batch tripped the guard: it answers what is stale and splits off what is not of a clean run.
func (c *completer) unfence(ctx context.Context, things []*finished) (clean, unclean []*finished, err error) {
	var runs []store.RunID
	for _, f := range things {
		runs = append(runs, f.claim.Attempt.Run)
	}
	current, err := c.engine.store.Current(ctx, claimsOf(things))
	if err != nil {
		return things, nil, err
	}
	cleanRuns, err := c.engine.store.Clean(ctx, runs)
	if err != nil {
		return things, nil, err
	}
	var stale []*finished
	for _, f := range things {
		switch {
		case !current[f.claim.Job.ID]:
			stale = append(stale, f)
		case !cleanRuns[int64(f.claim.Attempt.Run)]:
			unclean = append(unclean, f)
		default:
			clean = append(clean, f)
		}
	}
	c.refuse(ctx, stale)
	return clean, unclean, nil
}

// refuse answers results whose live row is gone: those that history knows were committed by a try whose answer was lost.
func (c *completer) refuse(ctx context.Context, stale []*finished) {
	if len(stale) == 0 {
		return
	}
	for attempt := 0; ; attempt++ {
		committed, err := c.engine.store.Committed(ctx, claimsOf(stale))
		if err == nil {
			for _, f := range stale {
				if committed[f.claim.Job.ID] {
					f.reply = reply{}
				} else {
					f.reply = reply{err: ErrStale}
				}
			}
			return
		}
		if ctx.Err() != nil {
			answer(stale, reply{err: errStopped})
			return
		}
		c.engine.backoff(ctx, attempt)
	}
}

func claimsOf(batch []*finished) []store.Claim {
	claims := make([]store.Claim, 0, len(batch))
	for _, f := range batch {
		if !f.wake {
			claims = append(claims, f.claim)
		}
	}
	return claims
}

// fastBatch is a batch of the fast path: what each success adds to, summed up by target.
type fastBatch struct {
	engine *Engine
	things []*finished
	rows   store.CleanBatch
	// joins stand beside rows.Joins: what starts when they are full.
	joins []addition
	// hopes are the attempts that may be gone on with inline, and by whom.
	hopes map[store.Attempt]*finished
}

// addition is what a batch adds to one target of a run.
type addition struct {
	run    store.RunID
	target progress.Target
	total  int
	delta  int
	// last is one of those who added: it knows the run, and may go on with the node.
	last *finished
}

func newFastBatch(e *Engine, things []*finished) *fastBatch {
	b := &fastBatch{engine: e, things: things, hopes: make(map[store.Attempt]*finished)}
	b.rows.Worker, b.rows.Full = e.incarnation(), b.full
	for _, f := range things {
		b.rows.Done = append(b.rows.Done, store.Success{Job: f.claim.Job, Attempt: f.claim.Attempt, Output: f.outcome.Output})
	}
	slices.SortFunc(b.rows.Done, func(x, y store.Success) int { return cmp.Compare(x.Job.ID, y.Job.ID) })
	for _, a := range sumUp(things) {
		if a.delta >= a.total {
			b.rows.Ready = append(b.rows.Ready, b.ready(&a, a.last))
			continue
		}
		b.joins = append(b.joins, a)
		b.rows.Joins = append(b.rows.Joins, store.Join{Run: a.run, Node: a.name(), Delta: a.delta})
	}
	return b
}

// sumUp gathers what the things add to each target, sorted by run and node.
func sumUp(things []*finished) []addition {
	type key struct {
		run  store.RunID
		node int
	}
	at := make(map[key]int)
	var sums []addition
	for _, f := range things {
		targets, _ := f.plan.arrivals.Of(f.node)
		for _, t := range targets {
			k := key{f.claim.Attempt.Run, t.Node}
			i, ok := at[k]
			if !ok {
				i = len(sums)
				at[k] = i
				total := t.Need
				if t.Node != progress.EndOfRun {
					total = len(f.plan.graph.At(t.Node).Parents)
				}
				sums = append(sums, addition{run: k.run, target: t, total: total})
			}
			sums[i].delta++
			sums[i].last = f
		}
	}
	slices.SortFunc(sums, func(a, b addition) int {
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.name(), b.name()))
	})
	return sums
}

// name is the counter's node; the end of the run has none.
func (a *addition) name() string {
	if a.target.Node == progress.EndOfRun {
		return ""
	}
	return a.last.plan.graph.At(a.target.Node).Name
}

// full picks the counters that this batch's arrivals have filled.
func (b *fastBatch) full(arrived []int) []store.Ready {
	b.engine.at(atFastHalf)
	var ready []store.Ready
	for i := range b.joins {
		a := &b.joins[i]
		if arrived[i] >= a.target.Need && arrived[i]-a.delta < a.target.Need {
			ready = append(ready, b.ready(a, a.last))
		}
	}
	return ready
}

// ready says what happens with a full target: by may go on with it.
func (b *fastBatch) ready(a *addition, by *finished) store.Ready {
	r := store.Ready{Run: a.run, Node: a.name()}
	switch {
	case a.target.Node != progress.EndOfRun:
		r.Place = by.plan.place(a.target.Node, by.facts.Priority)
		r.Mode = b.engine.lanes.mode(r.Place)
	case by.facts.Limited || by.facts.Awaited || by.plan.arrivals.Settles:
		r.Mode = store.ModeSettle
	default:
		r.Mode = store.ModeEnd
	}
	if r.Mode == store.ModeJob && by.inline != nil && by.inline(r.Place) {
		by.inline = nil
		r.Mode = store.ModeInline
		b.hopes[store.Attempt{Run: a.run, Node: r.Node, Shard: store.WholeNode, Generation: 1, Number: 1}] = by
	}
	return r
}

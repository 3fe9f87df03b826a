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
func (c *completer) moveFast(ctx context.Context, batch []*finished) (rest []*finished) {
	for attempt := 0; len(batch) > 0; attempt++ {
		done, targets, hopes := c.engine.aggregate(batch)
		res, err := c.engine.store.MoveClean(ctx, c.engine.incarnation(), done, targets)
		switch {
		case err == nil:
			return append(rest, c.settleFast(ctx, batch, res, hopes)...)
		case ctx.Err() != nil:
			answer(batch, reply{err: errStopped})
			return rest
		case errors.Is(err, store.ErrFenced):
			var stale []*finished
			if batch, stale, err = c.unfence(ctx, batch); err == nil {
				c.refuse(ctx, stale)
				continue
			}
		case !store.Transient(err):
			return append(rest, batch...)
		}
		c.engine.log.Warn("moving results failed, trying again", slog.Int("batch", len(batch)), slog.Any("error", err))
		c.engine.backoff(ctx, attempt)
	}
	return rest
}

// settleFast answers what was moved and returns what was not.
func (c *completer) settleFast(ctx context.Context, batch []*finished, res store.CleanResult, hopes map[store.Attempt]*finished) (rest []*finished) {
	next := make(map[*finished]*store.InlineJob)
	for i := range res.Inline {
		job := &res.Inline[i]
		next[hopes[job.Attempt]] = job
	}
	for _, f := range batch {
		if !res.Moved[f.claim.Attempt.Run] {
			rest = append(rest, f)
			continue
		}
		c.engine.metrics.NodeRunEnded(progress.Succeeded, f.took)
		f.reply = reply{next: next[f]}
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

// unfence splits a batch into what is still current and what is not.
func (c *completer) unfence(ctx context.Context, batch []*finished) (current, stale []*finished, err error) {
	live, err := c.engine.store.Current(ctx, claimsOf(batch))
	if err != nil {
		return batch, nil, err
	}
	for _, f := range batch {
		if live[f.claim.Job.ID] {
			current = append(current, f)
		} else {
			stale = append(stale, f)
		}
	}
	return current, stale, nil
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

// aggregate turns finished attempts into successes and sums up what they add to each target, sorted. Hopes
// are the attempts that may be gone on with inline, and by whom.
func (e *Engine) aggregate(batch []*finished) (done []store.Success, targets []store.Target, hopes map[store.Attempt]*finished) {
	type key struct {
		run  store.RunID
		node int
	}
	at := make(map[key]int)
	last := make(map[key]*finished)
	for _, f := range batch {
		done = append(done, store.Success{Job: f.claim.Job, Attempt: f.claim.Attempt, Output: f.outcome.Output})
		adds, _ := f.plan.arrivals.Of(f.node)
		for _, t := range adds {
			k := key{f.claim.Attempt.Run, t.Node}
			i, ok := at[k]
			if !ok {
				i = len(targets)
				at[k] = i
				targets = append(targets, e.target(f, t))
			}
			targets[i].Delta++
			last[k] = f
		}
	}
	hopes = make(map[store.Attempt]*finished)
	for k, i := range at {
		e.hope(last[k], &targets[i], hopes)
	}
	slices.SortFunc(targets, func(a, b store.Target) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Node, b.Node))
	})
	slices.SortFunc(done, func(a, b store.Success) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
	return done, targets, hopes
}

// target is what one counter of a run means.
func (e *Engine) target(f *finished, t progress.Target) store.Target {
	out := store.Target{Run: f.claim.Attempt.Run, Need: t.Need, Total: t.Need}
	switch {
	case t.Node != progress.EndOfRun:
		v := f.plan.graph.At(t.Node)
		out.Node, out.Total = v.Name, len(v.Parents)
		out.Place = f.plan.places[t.Node]
		out.Mode = e.lanes.mode(out.Place)
	case f.facts.Limited || f.plan.arrivals.Settles:
		out.Mode = store.ModeSettle
	default:
		out.Mode = store.ModeEnd
	}
	return out
}

// hope marks a successor to be gone on with by the worker that finished last, if it may; a worker takes one at most.
func (e *Engine) hope(f *finished, t *store.Target, hopes map[store.Attempt]*finished) {
	if t.Mode != store.ModeJob || t.Delta < t.Total || f.inline == nil || !f.inline(t.Place) {
		return
	}
	f.inline = nil
	t.Mode = store.ModeInline
	hopes[store.Attempt{Run: t.Run, Node: t.Node, Shard: store.WholeNode, Generation: 1, Number: 1}] = f
}

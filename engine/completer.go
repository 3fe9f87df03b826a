package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ax-run/ax/internal/batch"
	"github.com/ax-run/ax/internal/store"
)

// The completer moves finished attempts: it is the only writer of what follows from a result.
//
// The problem. A transaction per node is ten to thirty times slower than the queue beneath, since each pays its own
// round trips and its own flush to disk. A timer that gathers a batch adds its wait to every hop. And a result that
// is acknowledged before it is durable is lost for ever by a kill -9.
//
// The shape. Workers hand what finished to a lane, chosen by run id, and wait. A lane is one goroutine that
// commits everything that queued up while its last commit was on its way: group commit by availability, without a timer. An
// idle system commits one node at once; a busy one commits hundreds together. Two lanes overlap one's flush with
// the other's work. A batch is split between two paths:
//
//   - the fast path: successes of clean runs whose successors are decided by counting arrivals. One statement removes the
//     jobs, appends history, counts, and starts what is ready (MoveClean).
//   - the general path: everything else. One transaction locks the runs, reads their history and live rows, asks
//     progress.Advance, and writes its steps (moveGeneral).
//
// The invariants.
//  1. A result is accepted only by removing exactly the live row (job id, attempt) it was reported for (I2, S18).
//  2. A worker learns that its result is accepted after the commit, never before (I9).
//  3. Fast and general path write the same rows for the same case; a test drives both.
//  4. A run that ever went the general path never takes the fast path again (runs.clean).
//  5. When the outcome of a commit is unknown, the history row tells: there, it was committed; not there, it is tried again.
//
// Rejected: letting River complete the job (its completion is not fenced by attempt, and a finished row costs a
// quarter of the throughput); counters of remaining nodes on the run row (a hot row rewritten per node).
type completer struct {
	engine *Engine
	lanes  []*batch.Batcher[*finished, reply]
}

// finished is one thing for a lane to move: an attempt that ended, or with wake set a run of which somebody wants something.
type finished struct {
	claim   store.Claim
	wake    bool
	outcome Outcome
	// act is what a person does to the run; refused is why it was not done, or what else to answer.
	act     *Act
	refused error
	// mend asks to set right what must not be of the run; mended is what was, left is what is for a person.
	mend         bool
	mended, left []store.Finding
	// actor is who reported the end, where that is not a worker.
	actor string
	// took is how long the body worked.
	took time.Duration
	// worker is the incarnation that had the attempt, "" when it is unknown or dead.
	worker string
	// facts and plan are known to the worker that ran the attempt; nil for others.
	facts *store.RunFacts
	plan  *plan
	node  int
	// inline chooses whether a successor may be gone on with in the same slot; nil means none may.
	inline func(store.Place) bool

	reply reply
}

// reply tells the waiting worker that its result is durable, or why it was not accepted.
type reply struct {
	err  error
	next *store.InlineJob
}

// ErrStale says that a result came from an attempt that is not current any more; it was refused (S18).
var ErrStale = errors.New("stale attempt")

// errStopped says that the engine stopped before the result could be stored; the attempt will count as lost.
var errStopped = errors.New("the engine stopped before the result was stored")

const (
	laneCount = 2
	laneBatch = 1000
)

func newCompleter(e *Engine) *completer {
	c := &completer{engine: e}
	for range laneCount {
		c.lanes = append(c.lanes, batch.New(batch.Config[*finished, reply]{Flush: c.flush, Max: laneBatch}))
	}
	return c
}

// Start starts the lanes; it has the shape of a service.
func (c *completer) Start(ctx context.Context) error {
	for _, l := range c.lanes {
		if err := l.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop moves what was handed in, or gives up on it when ctx ends.
func (c *completer) Stop(ctx context.Context) error {
	var errs []error
	for _, l := range c.lanes {
		errs = append(errs, l.Stop(ctx))
	}
	return errors.Join(errs...)
}

// finish hands a finished thing to its lane and waits until it is durable or refused.
func (c *completer) finish(ctx context.Context, f *finished) reply {
	r, err := c.lanes[int(uint64(f.claim.Attempt.Run)%laneCount)].Do(ctx, f)
	if err != nil {
		return reply{err: fmt.Errorf("%w: %w", errStopped, err)}
	}
	return r
}

func (c *completer) flush(ctx context.Context, items []*finished) ([]reply, error) {
	began := time.Now()
	c.engine.at(atMove)
	c.commit(ctx, items)
	c.engine.at(atCommitted)
	c.engine.metrics.Transition(len(items), time.Since(began))
	replies := make([]reply, len(items))
	for i, f := range items {
		replies[i] = f.reply
	}
	return replies, nil
}

// commit moves a batch for good: it returns when everything in it is durable, refused, or the engine stops. One thing that
// cannot be stored never holds up the others: a batch that fails for another reason than the database's absence is halved until the culprit is alone.
func (c *completer) commit(ctx context.Context, things []*finished) {
	clean, general := c.splitBatch(things)
	general = append(general, c.moveFast(ctx, clean)...)
	c.moveSlow(ctx, general)
}

func (c *completer) splitBatch(things []*finished) (clean, general []*finished) {
	for _, f := range things {
		if f.isClean() && !c.engine.facts.left(f.claim.Attempt.Run) {
			clean = append(clean, f)
		} else {
			general = append(general, f)
		}
	}
	return clean, general
}

// moveSlow moves things by the general path: together, but for what people do to one run, which is one thing after another.
func (c *completer) moveSlow(ctx context.Context, things []*finished) {
	for len(things) > 0 {
		acting := make(map[store.RunID]bool)
		var now, later []*finished
		for _, f := range things {
			if run := f.claim.Attempt.Run; f.act != nil && acting[run] {
				later = append(later, f)
				continue
			} else if f.act != nil {
				acting[run] = true
			}
			now = append(now, f)
		}
		c.persist(ctx, now, c.engine.moveGeneral)
		things = later
	}
}

// persist repeats move until it succeeds, halving the batch on errors that are a thing's own fault.
func (c *completer) persist(ctx context.Context, things []*finished, move func(context.Context, []*finished) error) {
	for attempt := 0; len(things) > 0; attempt++ {
		err := move(ctx, things)
		switch {
		case err == nil:
			return
		case ctx.Err() != nil:
			answer(things, reply{err: errStopped})
			return
		case store.Transient(err):
			c.engine.log.Warn("moving results failed, trying again", slog.Int("batch", len(things)), slog.Any("error", err))
			c.engine.backoff(ctx, attempt)
		case len(things) > 1:
			c.persist(ctx, things[:len(things)/2], move)
			things = things[len(things)/2:]
		default:
			if !things[0].poisoned(err) {
				c.engine.log.Error("a result cannot be moved", slog.String("execution", things[0].claim.Attempt.ExecutionID()), slog.Any("error", err))
				answer(things, reply{err: err})
				return
			}
		}
	}
}

// poisoned turns a result that the database refuses into a failure that says so; false when it was that already.
func (f *finished) poisoned(err error) bool {
	if f.wake || f.outcome.Err != nil && f.outcome.Err.Code == codeInvalidOutput {
		return false
	}
	f.outcome = Outcome{Err: invalidOutput("the database refused it: " + store.Reason(err))}
	return true
}

func answer(things []*finished, r reply) {
	for _, f := range things {
		f.reply = r
	}
}

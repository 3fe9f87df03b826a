package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"

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
	lanes  []*lane
	wg     sync.WaitGroup
}

// finished is one thing for a lane to move: an attempt that ended, or with wake set a run of which somebody wants something.
type finished struct {
	claim   store.Claim
	wake    bool
	outcome Outcome
	// worker is the incarnation that had the attempt, "" when it is unknown or dead.
	worker string
	// facts and plan are known to the worker that ran the attempt; nil for others.
	facts *store.RunFacts
	plan  *plan
	node  int
	// inline chooses whether a successor may be gone on with in the same slot; nil means none may.
	inline func(store.Place) bool

	reply chan reply
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

// lane is a queue of finished things for a part of the runs.
type lane struct {
	queue chan *finished
}

func newCompleter(e *Engine) *completer {
	c := &completer{engine: e}
	for range laneCount {
		c.lanes = append(c.lanes, &lane{queue: make(chan *finished, laneBatch)})
	}
	return c
}

func (c *completer) start(ctx context.Context) {
	for _, l := range c.lanes {
		c.wg.Go(func() { c.loop(ctx, l) })
	}
}

// wait returns when every lane has stopped; they stop when start's context ends.
func (c *completer) wait() { c.wg.Wait() }

// finish hands a finished thing to its lane and waits until it is durable or refused.
func (c *completer) finish(ctx context.Context, f *finished) reply {
	f.reply = make(chan reply, 1)
	l := c.lanes[int(uint64(f.claim.Attempt.Run)%laneCount)]
	select {
	case l.queue <- f:
	case <-ctx.Done():
		return reply{err: errStopped}
	}
	select {
	case r := <-f.reply:
		return r
	case <-ctx.Done():
		return reply{err: errStopped}
	}
}

func (c *completer) loop(ctx context.Context, l *lane) {
	for {
		batch := l.take(ctx)
		if batch == nil {
			return
		}
		c.engine.obs.Batch(len(batch))
		c.commit(ctx, batch)
	}
}

// take waits for the first thing and takes what else is there.
func (l *lane) take(ctx context.Context) []*finished {
	var batch []*finished
	select {
	case f := <-l.queue:
		batch = append(batch, f)
	case <-ctx.Done():
		return nil
	}
	for len(batch) < laneBatch {
		select {
		case f := <-l.queue:
			batch = append(batch, f)
		default:
			return batch
		}
	}
	return batch
}

// commit moves a batch for good: it returns when everything in it is durable, refused, or the engine stops. One thing that
// cannot be stored never holds up the others: a batch that fails for another reason than the database's absence is halved until the culprit is alone.
func (c *completer) commit(ctx context.Context, batch []*finished) {
	clean, general := splitBatch(batch)
	general = append(general, c.moveFast(ctx, clean)...)
	c.moveSlow(ctx, general)
}

func splitBatch(batch []*finished) (clean, general []*finished) {
	for _, f := range batch {
		if f.isClean() {
			clean = append(clean, f)
		} else {
			general = append(general, f)
		}
	}
	return clean, general
}

// moveSlow moves things by the general path.
func (c *completer) moveSlow(ctx context.Context, batch []*finished) {
	c.persist(ctx, batch, c.engine.moveGeneral)
}

// persist repeats move until it succeeds, halving the batch on errors that are a thing's own fault.
func (c *completer) persist(ctx context.Context, batch []*finished, move func(context.Context, []*finished) error) {
	for attempt := 0; len(batch) > 0; attempt++ {
		err := move(ctx, batch)
		switch {
		case err == nil:
			return
		case ctx.Err() != nil:
			answer(batch, reply{err: errStopped})
			return
		case store.Transient(err):
			c.engine.log.Warn("moving results failed, trying again", slog.Int("batch", len(batch)), slog.Any("error", err))
			c.engine.backoff(ctx, attempt)
		case len(batch) > 1:
			c.persist(ctx, batch[:len(batch)/2], move)
			batch = batch[len(batch)/2:]
		default:
			if !batch[0].poisoned(err) {
				c.engine.log.Error("a result cannot be moved", slog.String("execution", batch[0].claim.Attempt.ExecutionID()), slog.Any("error", err))
				answer(batch, reply{err: err})
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

func answer(batch []*finished, r reply) {
	for _, f := range batch {
		f.reply <- r
	}
}

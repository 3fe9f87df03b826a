package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

const (
	// inlineHops and inlineFor bound how long one slot may carry a run on (S24).
	inlineHops = 50
	inlineFor  = time.Second
)

// work carries out one attempt and then, inline, the successors it is allowed to. It returns when the last result is
// durable or refused and its body has ended or been given up on.
func (i *incarnation) work(claim store.Claim, kind string, queuedAt time.Time) {
	i.engine.metrics.NodeRunStarted(time.Since(queuedAt))
	began := time.Now()
	for hop := 0; ; hop++ {
		next, kindNext := i.one(claim, kind, hop < inlineHops && time.Since(began) < inlineFor)
		if next == nil {
			return
		}
		claim, kind = store.Claim{Job: next.Job, Attempt: next.Attempt}, kindNext
		i.engine.metrics.NodeRunStarted(0)
	}
}

// one carries out one attempt and says what to go on with.
func (i *incarnation) one(claim store.Claim, kind string, mayGoOn bool) (next *store.InlineJob, nextKind string) {
	ctx, cancel := context.WithCancelCause(i.base)
	defer cancel(nil)
	h := i.running.add(claim, cancel)
	defer i.running.remove(claim.Job.ID)

	f := &finished{claim: claim, worker: i.id}
	body := i.prepare(ctx, f, kind)
	began := time.Now()
	i.engine.at(atFetch)
	body.run(ctx)
	i.engine.at(atBody)
	f.took, f.outcome = time.Since(began), body.outcome.checked()
	i.noteSlots(body, &f.claim)
	if body.silent {
		i.giveUp(ctx, f)
		i.letStop(body, f, false)
		return nil, ""
	}
	if mayGoOn && !i.worker.config.NoInline && body.ended() && !i.draining.Load() {
		f.inline = func(p store.Place) bool { return i.mayInline(p, f) }
	}
	i.running.store(h)
	r := i.engine.completer.finish(context.WithoutCancel(ctx), f)
	switch {
	case errors.Is(r.err, ErrStale):
		i.engine.log.Info("a late result was refused", slog.String("execution", claim.Attempt.ExecutionID()), slog.Int("attempt", claim.Attempt.Number))
	case r.err != nil:
		i.engine.log.Error("a result was not stored", slog.String("execution", claim.Attempt.ExecutionID()), slog.Any("error", r.err))
	}
	i.engine.at(atTold)
	i.letStop(body, f, r.err == nil)
	if r.next == nil {
		return nil, ""
	}
	at, _ := f.plan.graph.Index(r.next.Attempt.Node)
	return r.next, f.plan.places[at].Kind
}

// mayInline reports whether this worker may go on with a node itself: same queue and priority, a kind it knows, and nothing
// better waiting.
func (i *incarnation) mayInline(p store.Place, f *finished) bool {
	own := f.plan.place(f.node, f.facts.Priority)
	if p.Queue != own.Queue || p.Priority != own.Priority || i.worker.executors[p.Kind] == nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	better, waiting := i.better[p.Queue]
	return !waiting || better >= p.Priority
}

// prepare reads what the attempt needs; what is missing makes a body that fails with it.
func (i *incarnation) prepare(ctx context.Context, f *finished, kind string) *body {
	b := &body{done: make(chan struct{}), log: i.engine.newLog(f.claim.Attempt)}
	made, failed := i.engine.task(ctx, f.claim.Attempt, b.log)
	f.facts, f.plan, f.node = made.facts, made.plan, made.node
	if failed != nil {
		return b.fail(failed)
	}
	if err := i.engine.outside(ctx, made.task); err != nil {
		return b.fail(system(codeInternal, "%v", err))
	}
	b.task, b.timeout, b.executor = made.task, time.Duration(made.task.Node.Timeout), i.worker.executors[kind]
	return b
}

// body is one attempt's work, its end, and what became of it.
type body struct {
	task     *Task
	log      *LogWriter
	executor Executor
	timeout  time.Duration
	done     chan struct{}
	result   Outcome // written by the body's goroutine before done is closed
	outcome  Outcome
	// silent means that the attempt is somebody else's by now: nothing is reported.
	silent bool
}

// fail makes a body that has already failed.
func (b *body) fail(err *progress.Error) *body {
	b.result = Outcome{Err: err}
	close(b.done)
	return b
}

// run carries the body out until it ends, its time is over, or its attempt is taken away. A body that does not stop at once goes on
// in the background.
func (b *body) run(ctx context.Context) {
	if b.executor == nil {
		if !b.ended() {
			b.fail(system(codeInternal, "this worker does not know the node's kind"))
		}
		b.outcome = b.result
		return
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	go b.execute(ctx)
	select {
	case <-b.done:
	case <-ctx.Done():
	}
	b.conclude(ctx)
	if err := b.log.Close(context.WithoutCancel(ctx)); err != nil {
		slog.Warn("the end of a log was not stored", slog.String("execution", b.task.Attempt.ExecutionID()), slog.Any("error", err))
	}
}

func (b *body) execute(ctx context.Context) {
	defer close(b.done)
	defer func() {
		if r := recover(); r != nil {
			b.log.Print("log", fmt.Sprintf("panic: %v\n%s", r, debug.Stack()))
			b.result = Outcome{Err: &progress.Error{Class: progress.System, Code: codePanic, Message: fmt.Sprintf("panic: %v", r)}}
		}
	}()
	b.result = b.executor.Execute(ctx, b.task)
}

// conclude says what the end means. A body that succeeded in time has succeeded; any other end after the context's is
// the context's.
func (b *body) conclude(ctx context.Context) {
	cause := context.Cause(ctx)
	if b.ended() && (cause == nil || b.result.Err == nil) {
		b.outcome = b.result
		return
	}
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		b.outcome = Outcome{Err: &progress.Error{Class: progress.Timeout, Code: codeTimeout,
			Message: fmt.Sprintf("did not end within its timeout of %s", b.timeout)}}
	case errors.Is(cause, errDrained):
		b.outcome = Outcome{Err: &progress.Error{Class: progress.HandedBack, Code: codeDrained, Message: "the worker stopped and handed the attempt back"}}
	default:
		b.silent = true
	}
}

func (b *body) ended() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// await gives the body its grace to end; after that its slot is free, whatever it does.
func (b *body) await(grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-b.done:
	case <-timer.C:
	}
}

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/expr"
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
	a := f.claim.Attempt
	b := &body{done: make(chan struct{}), log: &LogWriter{attempt: a, write: i.writeLog}}
	facts, p, err := i.load(ctx, a.Run)
	if err != nil {
		return b.fail(codeInternal, err)
	}
	at, ok := p.graph.Index(a.Node)
	if !ok {
		return b.fail(codeInternal, fmt.Errorf("version %d has no node %q", facts.VersionID, a.Node))
	}
	f.facts, f.plan, f.node = facts, p, at
	v := p.graph.At(at)
	b.timeout = time.Duration(v.Node.Timeout)
	b.task = &Task{Attempt: a, Facts: facts, Node: v.Node, Inputs: json.RawMessage("{}"), Deadline: time.Now().Add(b.timeout), Log: b.log}
	if err := i.shard(ctx, b.task); err != nil {
		return b.fail(codeInternal, err)
	}
	if err := i.evaluate(ctx, b.task, v.Reads, v.Inputs, v.Work); err != nil {
		return b.fail(codeExpression, err)
	}
	b.executor = i.worker.executors[kind]
	return b
}

// shard fills in what a shard is one of.
func (i *incarnation) shard(ctx context.Context, t *Task) error {
	if t.Attempt.Shard == store.WholeNode {
		return nil
	}
	split, err := i.engine.splits.get(ctx, t.Attempt)
	if err != nil {
		return err
	}
	t.Shards = split.total
	if t.Attempt.Shard < len(split.items) {
		t.Item = split.items[t.Attempt.Shard]
	}
	return nil
}

// load returns a run's facts and plan, asking again while the database is away.
func (i *incarnation) load(ctx context.Context, run store.RunID) (*store.RunFacts, *plan, error) {
	for attempt := 0; ; attempt++ {
		facts, err := i.engine.facts.get(ctx, run)
		if err == nil {
			var p *plan
			if p, err = i.engine.plans.get(ctx, facts.VersionID); err == nil {
				return facts, p, nil
			}
		}
		if ctx.Err() != nil || !store.Transient(err) {
			return nil, nil, err
		}
		i.engine.backoff(ctx, attempt)
	}
}

// evaluate fills in what the node's expressions give.
func (i *incarnation) evaluate(ctx context.Context, t *Task, reads []string, inputs, work *expr.Value) error {
	if inputs == nil && work == nil {
		return nil
	}
	vars := runVars(t.Facts)
	if t.Attempt.Shard != store.WholeNode {
		vars.Extra = map[string]json.RawMessage{"shard": fmt.Appendf(nil, `{"index": %d, "total": %d}`, t.Attempt.Shard, t.Shards), "item": t.Item}
	}
	if len(reads) > 0 {
		outputs, err := i.outputs(ctx, outputWish{run: t.Attempt.Run, nodes: reads})
		if err != nil {
			return err
		}
		vars.Nodes = make(map[string]json.RawMessage, len(outputs))
		for name, out := range outputs {
			vars.Nodes[name] = out
		}
	}
	var err error
	if inputs != nil {
		if t.Inputs, err = inputs.Eval(ctx, vars); err != nil {
			return err
		}
	}
	if work != nil {
		t.Work, err = work.Eval(ctx, vars)
	}
	return err
}

// outputs reads what the expressions use, asking again while the database is away.
func (i *incarnation) outputs(ctx context.Context, w outputWish) (map[string][]byte, error) {
	for attempt := 0; ; attempt++ {
		got, err := i.engine.facts.outputs.Do(ctx, w)
		if err == nil || ctx.Err() != nil || !store.Transient(err) {
			return got, err
		}
		i.engine.backoff(ctx, attempt)
	}
}

func (i *incarnation) writeLog(ctx context.Context, chunk store.LogChunk) error {
	_, err := i.engine.logs.Do(ctx, chunk)
	return err
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

// fail makes a body that has already failed; a fault of ours may be retried, a wrong expression is final (S15).
func (b *body) fail(code string, err error) *body {
	class := progress.System
	if code == codeExpression {
		class = progress.Permanent
	}
	b.result = Outcome{Err: &progress.Error{Class: class, Code: code, Message: err.Error()}}
	close(b.done)
	return b
}

// run carries the body out until it ends, its time is over, or its attempt is taken away. A body that does not stop at once goes on
// in the background.
func (b *body) run(ctx context.Context) {
	if b.executor == nil {
		if !b.ended() {
			b.fail(codeInternal, errors.New("this worker does not know the node's kind"))
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
	if err := b.log.Flush(context.WithoutCancel(ctx)); err != nil {
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

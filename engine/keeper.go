package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/service"
	"github.com/ax-run/ax/internal/store"
)

const (
	// keepBatch is how much one look takes up at most; it is repeated at once while full.
	keepBatch = 500
	// strandEvery is how often queued jobs without any live worker are looked for when no worker is known to have left.
	strandEvery = 30 * time.Second
)

// keeper sees to everything that no worker waits for: due nodes, nodes that waited for a worker, wishes about runs,
// deadlines, and the attempts of dead workers. Every engine has one; the database decides who gets what.
type keeper struct {
	engine *Engine
	loops  map[string]*service.Loop
	ears   context.CancelFunc
	deaf   sync.WaitGroup
	// stranded is when the workers loop last looked for queued jobs without a live worker.
	stranded time.Time
	// walked is when the expire loop last walked the whole queue.
	walked time.Time
}

func newKeeper(e *Engine) *keeper {
	k := &keeper{engine: e, loops: make(map[string]*service.Loop)}
	for name, round := range map[string]func(context.Context) (time.Duration, error){
		"due": k.due, "workers": k.workers, "intents": k.intents, "signals": k.signals, "reap": k.reap, "expire": k.expire, "pools": k.pools, "routes": k.routes,
		"reconcile": newReconciler(e).round,
	} {
		k.loops[name] = service.NewLoop(service.LoopConfig{Name: name, Logger: e.log, Round: e.patiently(name, round)})
	}
	e.keeper = k
	return k
}

// Start implements service.Service. The live workers are known before anything is launched.
func (k *keeper) Start(ctx context.Context) error {
	if _, _, err := k.engine.lanes.refresh(ctx); err != nil {
		return err
	}
	for _, l := range k.loops {
		if err := l.Start(ctx); err != nil {
			return err
		}
	}
	ctx, k.ears = context.WithCancel(context.WithoutCancel(ctx))
	k.deaf.Go(func() {
		channels := []string{store.ChannelDue, store.ChannelIntent, store.ChannelWorkers, store.ChannelStop, store.ChannelPool, store.ChannelRoute}
		k.engine.store.Listen(ctx, channels, k.hear)
	})
	return nil
}

// Stop implements service.Service.
func (k *keeper) Stop(ctx context.Context) error {
	if k.ears != nil {
		k.ears()
		k.deaf.Wait()
	}
	for _, l := range k.loops {
		if err := l.Stop(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (k *keeper) hear(channel, payload string) {
	switch channel {
	case store.ChannelDue:
		k.loops["due"].Wake()
	case store.ChannelIntent:
		k.loops["intents"].Wake()
		k.loops["signals"].Wake()
	case store.ChannelWorkers:
		for _, name := range []string{"workers", "reap", "routes"} {
			k.loops[name].Wake()
		}
		if w := k.engine.worker; w != nil {
			w.look() // there may be a new route that it serves
		}
	case store.ChannelRoute:
		k.loops["routes"].Wake()
	case store.ChannelPool:
		k.loops["pools"].Wake()
	case store.ChannelStop:
		if w := k.engine.worker; w != nil && (payload == "" || payload == w.incarnation()) {
			w.look()
		}
	}
}

// due queues the nodes whose time has come, and sleeps until the next one's.
func (k *keeper) due(ctx context.Context) (time.Duration, error) {
	n, err := k.engine.store.ReleaseDue(ctx, k.engine.lanes.now().Lanes, keepBatch)
	if err != nil || n == keepBatch {
		return 0, err
	}
	over, err := k.engine.store.DueWaits(ctx, keepBatch)
	if err != nil {
		return 0, err
	}
	k.reportAll(ctx, over, Outcome{})
	next, ok, err := k.engine.store.NextDue(ctx)
	if err != nil || !ok {
		return k.engine.timings.Look, err
	}
	return min(max(next, 5*time.Millisecond), k.engine.timings.Look), nil
}

// workers takes note of the live workers and of the paused queues, queues what waited for them, and takes back what waits for a worker that
// left or in a queue that was paused.
func (k *keeper) workers(ctx context.Context) (time.Duration, error) {
	if k.engine.remotes != nil {
		if err := k.engine.store.RefreshRemotes(ctx); err != nil {
			return 0, err
		}
	}
	gone, fresh, err := k.engine.lanes.refresh(ctx)
	if err != nil {
		return 0, err
	}
	if fresh {
		k.loops["pools"].Wake()
	}
	lanes := k.engine.lanes.now().Lanes
	n, err := k.engine.store.ReleaseWorker(ctx, lanes, keepBatch)
	if err != nil {
		return 0, err
	}
	if gone || time.Since(k.stranded) > strandEvery {
		back, err := k.engine.store.Strand(ctx, lanes, keepBatch)
		if err != nil {
			return 0, err
		}
		if back < keepBatch {
			k.stranded = time.Now()
		}
		n = max(n, back)
	}
	if n == keepBatch {
		return 0, nil
	}
	return k.engine.timings.Look, k.thinQueues(ctx)
}

// intents carries out what somebody wants of runs, and marks runs past their timeout.
func (k *keeper) intents(ctx context.Context) (time.Duration, error) {
	if _, err := k.engine.store.MarkDeadlines(ctx); err != nil {
		return 0, err
	}
	wishes, err := k.engine.store.Intents(ctx, keepBatch)
	if err != nil {
		return 0, err
	}
	var together sync.WaitGroup
	seen := make(map[store.RunID]bool)
	for _, w := range wishes {
		if !seen[w.Run] {
			seen[w.Run] = true
			together.Go(func() {
				k.engine.report(ctx, &finished{wake: true, claim: store.Claim{Attempt: store.Attempt{Run: w.Run}}})
			})
		}
	}
	together.Wait()
	if len(wishes) == keepBatch {
		return 0, nil
	}
	return k.engine.timings.Look, nil
}

// reportAll ends held attempts with one outcome, together.
func (k *keeper) reportAll(ctx context.Context, claims []store.Claim, o Outcome) {
	var together sync.WaitGroup
	for _, c := range claims {
		together.Go(func() { k.engine.report(ctx, &finished{claim: c, outcome: o, actor: "engine"}) })
	}
	together.Wait()
}

// signals tells workflow nodes that their child runs have ended.
func (k *keeper) signals(ctx context.Context) (time.Duration, error) {
	ended, err := k.engine.store.EndedChildren(ctx, keepBatch)
	if err != nil {
		return 0, err
	}
	var together sync.WaitGroup
	errs := make([]error, len(ended))
	for i, s := range ended {
		together.Go(func() { errs[i] = k.answer(ctx, s) })
	}
	together.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	if len(ended) == keepBatch {
		return 0, nil
	}
	return k.engine.timings.Look, nil
}

// answer ends the node that waits for a child run.
func (k *keeper) answer(ctx context.Context, s store.EndedChild) error {
	outcome := childEnded(s)
	if s.State == progress.Succeeded {
		output, err := k.engine.runOutput(ctx, s.Child, s.Version)
		switch {
		case err != nil && (store.Transient(err) || ctx.Err() != nil):
			return err
		case err != nil:
			outcome = Outcome{Err: permanent(codeInternal, "the output of child run %s cannot be read: %v", s.Child, err)}
		default:
			outcome.Output = output
		}
	}
	r := k.engine.completer.finish(ctx, &finished{claim: store.Claim{Attempt: s.Parent}, outcome: outcome.checked(), actor: "engine"})
	if r.err != nil && !errors.Is(r.err, ErrStale) {
		return r.err
	}
	return k.engine.store.DropSignal(ctx, s.Parent)
}

// expire fails what has waited longer than its queue_timeout; it is not retried (S17).
func (k *keeper) expire(ctx context.Context) (time.Duration, error) {
	expired, err := k.engine.store.Expired(ctx, keepBatch)
	if err != nil {
		return 0, err
	}
	if time.Since(k.walked) > strandEvery {
		old, err := k.engine.store.ExpiredByDefault(ctx, keepBatch)
		if err != nil {
			return 0, err
		}
		expired = append(expired, old...)
		k.walked = time.Now()
	}
	k.reportAll(ctx, expired, Outcome{Err: &progress.Error{Class: progress.Permanent, Code: codeQueueTimeout,
		Message: "it waited longer than its queue_timeout and never ran"}})
	if len(expired) >= keepBatch {
		return 0, nil
	}
	return k.engine.timings.Look, nil
}

// reap ends the attempts of dead workers as lost, and those that run elsewhere past their deadline as timed out.
func (k *keeper) reap(ctx context.Context) (time.Duration, error) {
	if r := k.engine.remotes; r != nil {
		if err := r.probe(ctx); err != nil {
			return 0, err
		}
	}
	orphans, err := k.engine.store.Orphans(ctx, keepBatch)
	if err != nil {
		return 0, err
	}
	overdue, err := k.engine.store.Overdue(ctx, keepBatch)
	if err != nil {
		return 0, err
	}
	var together sync.WaitGroup
	for i := range overdue {
		overdue[i].Grace = k.engine.timings.Grace // whoever runs it may not have stopped
	}
	for _, c := range orphans {
		together.Go(func() { k.engine.lose(ctx, c) })
	}
	together.Wait()
	k.reportAll(ctx, overdue, Outcome{Err: &progress.Error{Class: progress.Timeout, Code: codeTimeout, Message: "no end came within the node's timeout"}})
	if len(orphans) > 0 || len(overdue) > 0 {
		return 0, nil
	}
	return k.engine.timings.Look, k.engine.bury(ctx)
}

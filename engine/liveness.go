package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/service"
	"github.com/ax-run/ax/internal/store"
)

// beatLoop renews the lease by the database's clock (S27, S37). A worker that could not renew it for two thirds of its
// length cancels its own attempts, before others take them over; one that was declared lost says so on lost.
func (i *incarnation) beatLoop(lost chan<- error) service.Service {
	last := time.Now()
	return service.NewLoop(service.LoopConfig{Name: "beat", Logger: i.engine.log, Round: func(ctx context.Context) time.Duration {
		asked := time.Now()
		beat, cancel := context.WithTimeout(ctx, i.engine.timings.lease()/3)
		drained, err := i.store().Beat(beat, i.row(), i.draining.Load())
		cancel()
		switch {
		case err == nil:
			last = asked
			if drained {
				i.drained.Do(i.takeNothing)
			}
		case errors.Is(err, store.ErrWorkerLost):
			i.running.cancelAll(errLeaseOver)
			select {
			case lost <- err:
			default:
			}
			return service.UntilWoken
		case ctx.Err() == nil:
			i.engine.log.Warn("the worker's lease was not renewed, trying again", slog.Any("error", err))
			if time.Since(last) > i.engine.timings.lease()*2/3 {
				i.running.cancelAll(errLeaseOver)
			}
			return min(i.engine.timings.Beat, time.Second)
		}
		return i.engine.timings.Beat
	}})
}

// takeNothing stops the fetching, because somebody has told the worker to drain (S28). What runs goes on, and the lease is kept, until the process
// is stopped.
func (i *incarnation) takeNothing() {
	i.engine.log.Info("the worker was told to drain and takes nothing new", slog.String("worker", i.id))
	i.draining.Store(true)
	go i.client.stopFetching(context.WithoutCancel(i.base))
}

// sweepLoop keeps what this process holds and what the database says it holds the same, serves new queues, and
// looks what waits.
func (i *incarnation) sweepLoop() service.Service {
	suspects := newSuspects(i.engine.timings)
	round := i.engine.patiently("the worker's attempts", func(ctx context.Context) (time.Duration, error) {
		return i.engine.timings.Look, i.sweep(ctx, suspects)
	})
	loop := service.NewLoop(service.LoopConfig{Name: "sweep", Logger: i.engine.log, Round: round})
	i.worker.sweep.Store(loop)
	return loop
}

func (i *incarnation) sweep(ctx context.Context, suspects *suspects) error {
	known := i.running.snapshot()
	listed, err := i.store().RunningJobs(ctx, i.id)
	if err != nil {
		return err
	}
	for _, c := range suspects.look(i.running.reconcile(listed, known)) {
		i.engine.lose(ctx, c)
	}
	if err := i.serveNewQueues(ctx); err != nil {
		return err
	}
	waiting, err := i.store().BestWaiting(ctx, i.row().Queues)
	if err != nil {
		return err
	}
	i.mu.Lock()
	i.better = waiting
	i.mu.Unlock()
	return nil
}

// suspects are jobs that the database says this process holds but which it does not know: the answer to a fetch or a commit was lost, or the
// job is just on its way in. A starved process may take long over that, so a job counts as lost only after as many looks in a row as a lease is
// long: a process that stands still does not look.
type suspects struct {
	enough int
	seen   map[int64]int
}

func newSuspects(t Timings) *suspects {
	return &suspects{enough: max(2, int(t.lease()/t.Look)), seen: make(map[int64]int)}
}

// look notes who is unknown now, and returns who has been so for long enough.
func (s *suspects) look(orphans []store.Claim) (lost []store.Claim) {
	now := make(map[int64]int, len(orphans))
	for _, c := range orphans {
		if n := s.seen[c.Job.ID] + 1; n < s.enough {
			now[c.Job.ID] = n
		} else {
			lost = append(lost, c)
		}
	}
	s.seen = now
	return lost
}

func (i *incarnation) serveNewQueues(ctx context.Context) error {
	fresh, err := i.newQueues(ctx)
	if err != nil || len(fresh) == 0 {
		return err
	}
	for name, capacity := range fresh {
		if err := i.client.Queues().Add(name, river.QueueConfig{MaxWorkers: capacity}); err != nil {
			return err
		}
	}
	if _, err := i.store().Beat(ctx, i.row(), i.draining.Load()); err != nil {
		return err
	}
	i.engine.keeper.loops["workers"].Wake()
	return nil
}

// lose ends an attempt whose worker is gone; where it goes next is the rules' affair (S16).
func (e *Engine) lose(ctx context.Context, c store.Claim) {
	e.report(ctx, &finished{claim: c, outcome: lost()})
}

// bury forgets the workers that are lost or have left and have nothing more.
func (e *Engine) bury(ctx context.Context) error {
	lost, left, err := e.store.DeadWorkers(ctx)
	if err != nil {
		return err
	}
	for _, w := range lost {
		e.log.Warn("a worker is lost", slog.String("worker", w))
	}
	for _, w := range append(lost, left...) {
		if err := e.store.ForgetWorker(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// lost is how an attempt ends whose worker is gone.
func lost() Outcome {
	return Outcome{Err: &progress.Error{Class: progress.Lost, Code: codeLost, Message: "the worker that ran it is gone"}}
}

// report hands a thing to the completer; what cannot be stored now is found again by the next look.
func (e *Engine) report(ctx context.Context, f *finished) {
	if r := e.completer.finish(ctx, f); r.err != nil && !errors.Is(r.err, ErrStale) && ctx.Err() == nil {
		e.log.Warn("a change was not stored, trying again later", slog.String("run", f.claim.Attempt.Run.String()), slog.Any("error", r.err))
	}
}

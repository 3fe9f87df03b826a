package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/ax-run/ax/internal/store"
)

// Why an attempt's context ended, other than its timeout.
var (
	// errFenced: the attempt is not current any more (canceled, lost, rerouted); its result would be refused.
	errFenced = errors.New("the attempt is not current any more")
	// errDrained: the worker stops and hands the attempt back.
	errDrained = errors.New("the worker is stopping")
	// errLeaseOver: the worker could not renew its lease and must not go on (S27).
	errLeaseOver = errors.New("the worker could not renew its lease")
)

// running is the set of attempts this process holds, by job id: what tells an orphan in the database from one at work.
type running struct {
	mu   sync.Mutex
	jobs map[int64]*holding
}

// holding is one attempt at work or being stored.
type holding struct {
	claim  store.Claim
	cancel context.CancelCauseFunc
	// storing means that its end is on the way to the database, so that its row may vanish.
	storing bool
}

func newRunning() *running { return &running{jobs: make(map[int64]*holding)} }

func (r *running) add(c store.Claim, cancel context.CancelCauseFunc) *holding {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &holding{claim: c, cancel: cancel}
	r.jobs[c.Job.ID] = h
	return h
}

func (r *running) remove(job int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.jobs, job)
}

func (r *running) store(h *holding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.storing = true
}

// reconcile cancels the attempts whose rows are gone from what the database lists under this worker, and returns
// the listed ones that this process knows nothing of.
func (r *running) reconcile(listed []store.Claim, known map[int64]*holding) (orphans []store.Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	there := make(map[int64]bool, len(listed))
	for _, c := range listed {
		there[c.Job.ID] = true
		if r.jobs[c.Job.ID] == nil && known[c.Job.ID] == nil {
			orphans = append(orphans, c)
		}
	}
	for id, h := range known {
		if !there[id] && !h.storing && r.jobs[id] == h {
			h.cancel(errFenced)
		}
	}
	return orphans
}

// snapshot is what is held now.
func (r *running) snapshot() map[int64]*holding {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[int64]*holding, len(r.jobs))
	for id, h := range r.jobs {
		out[id] = h
	}
	return out
}

// cancelAll ends every attempt's context.
func (r *running) cancelAll(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.jobs {
		h.cancel(cause)
	}
}

// noteSlots says what becomes of the slots of an attempt that ends now: while its body has not stopped, they are not free (S17).
func (i *incarnation) noteSlots(b *body, c *store.Claim) {
	c.Keeps = b.outcome.Accepted != nil
	if !b.ended() {
		c.Grace = i.engine.timings.Grace
	}
}

// letStop gives a body its grace to end. Then it gives back the slots that the body held on to, unless the commit of its result did. If that
// fails, they are free when the grace is over in the database's eyes.
func (i *incarnation) letStop(b *body, f *finished, committed bool) {
	b.await(i.engine.timings.Grace)
	if f.plan == nil || f.plan.demands[f.node] == "" || committed && f.claim.Grace == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), i.engine.timings.Grace)
	defer cancel()
	if err := i.store().FreeSlots(ctx, f.claim.Attempt); err != nil {
		i.engine.log.Warn("slots were not given back yet", slog.String("execution", f.claim.Attempt.ExecutionID()), slog.Any("error", err))
	}
}

// giveUp ends an attempt as lost that this process must not go on with because its lease is over, unless others did already: River would take
// the job for done, and nobody would look for it again.
func (i *incarnation) giveUp(ctx context.Context, f *finished) {
	if errors.Is(context.Cause(ctx), errLeaseOver) {
		f.outcome = lost()
		i.engine.report(context.WithoutCancel(ctx), f)
	}
}

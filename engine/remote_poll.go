package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// ErrNoRemotes says that this process serves no remote workers.
var ErrNoRemotes = errors.New("this process serves no remote workers")

// Poll waits until there is something for a remote worker, at most wait, and takes at most most attempts for it. It returns what the worker is
// told of each (contract §3): nothing when the wait is over. Base is where the worker reaches this API.
func (e *Engine) Poll(ctx context.Context, incarnation, base string, most int, wait time.Duration) ([]json.RawMessage, error) {
	if e.remotes == nil {
		return nil, ErrNoRemotes
	}
	if _, err := e.store.WorkerLife(ctx, incarnation); err != nil {
		return nil, err
	}
	claims := e.remotes.wait(ctx, &receiver{Receiver: store.Receiver{Incarnation: incarnation, Most: most}, got: make(chan []store.Claimed, 1)}, wait)
	if ctx.Err() != nil {
		e.remotes.handBack(incarnation, claims)
		return nil, ctx.Err()
	}
	return e.dispatches(ctx, claims, base), nil
}

// wait stands in line until there is something, or the wait or ctx is over.
func (r *remotes) wait(ctx context.Context, m *receiver, wait time.Duration) []store.Claimed {
	r.mu.Lock()
	r.waiting[m] = true
	r.mu.Unlock()
	r.wanted.Store(true)
	r.loop.Wake()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case claims := <-m.got:
		return claims
	case <-timer.C:
		r.giving.Lock()
		defer r.giving.Unlock()
	case <-ctx.Done():
	case <-r.base.Done():
	}
	r.mu.Lock()
	gone := r.waiting[m]
	delete(r.waiting, m)
	r.mu.Unlock()
	if gone {
		return nil
	}
	return <-m.got // it was given just now
}

// dispatches makes what a worker is told of some attempts. One that cannot be made ready has failed, and is left out.
func (e *Engine) dispatches(ctx context.Context, claims []store.Claimed, base string) []json.RawMessage {
	made := make([]json.RawMessage, len(claims))
	var together sync.WaitGroup
	for i, c := range claims {
		together.Go(func() {
			task, failed := e.remoteTask(ctx, c.Attempt, base)
			if failed == nil {
				var err error
				if made[i], err = encodeJSON(newDispatch(task)); err == nil {
					return
				}
				failed = &Outcome{Err: permanent(codeBadCall, "%v", err)}
			}
			e.report(ctx, &finished{claim: store.Claim{Attempt: c.Attempt}, outcome: *failed, actor: "engine"})
		})
	}
	together.Wait()
	told := make([]json.RawMessage, 0, len(made))
	for _, m := range made {
		if m != nil {
			told = append(told, m)
		}
	}
	return told
}

// remoteTask is the task of an attempt that runs elsewhere, with where it reports to if base is known.
func (e *Engine) remoteTask(ctx context.Context, a store.Attempt, base string) (*Task, *Outcome) {
	m, failed := e.task(ctx, a, e.remoteLog(a))
	if failed != nil {
		return nil, &Outcome{Err: failed}
	}
	if err := e.addressed(ctx, m.task, base); err != nil {
		return nil, &Outcome{Err: system(codeInternal, "%v", err)}
	}
	return m.task, nil
}

// remoteLog is the log of an attempt that others write to as well.
func (e *Engine) remoteLog(a store.Attempt) *LogWriter {
	return &LogWriter{attempt: a, write: func(ctx context.Context, chunk store.LogChunk) error {
		return e.store.AppendRemoteLog(ctx, chunk.Attempt, chunk.Lines)
	}}
}

// addressed says where an attempt reports to, if base is known; the addresses carry the attempt's own token.
func (e *Engine) addressed(ctx context.Context, t *Task, base string) error {
	if base == "" {
		return nil
	}
	secrets, err := e.keys.secrets(ctx, t.Facts.NamespaceID)
	if err != nil {
		return err
	}
	at := base + "/api/v1/namespaces/" + url.PathEscape(t.Facts.Namespace) + "/executions/" + url.PathEscape(t.Attempt.ExecutionID())
	query := "?token=" + attemptToken(secrets[0], t.Attempt)
	t.ResultURL, t.HeartbeatURL = at+"/result"+query, at+"/heartbeat"+query
	return nil
}

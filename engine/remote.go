package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/outbound"
	"github.com/ax-run/ax/internal/store"
)

// RemoteConfig says how this process serves remote workers (contract §3); the zero value is good.
type RemoteConfig struct {
	// Client makes the requests to workers that are pushed to, and decides where they may go. Nil: public addresses only.
	Client *http.Client
}

func (c RemoteConfig) withDefaults() *RemoteConfig {
	if c.Client == nil {
		c.Client = outbound.NewClient(outbound.Policy{}, outbound.Options{})
	}
	c.Client = truthful(c.Client)
	return &c
}

// RemoteWorker is a worker as it registers itself.
type RemoteWorker struct {
	ID, App, Host, Address string
	Labels                 map[string]string
	Handlers               []string
	// Queues are those it takes from, nil for all of the namespace.
	Queues   []string
	Capacity int
	// Protocol is the newest version that it speaks.
	Protocol int
}

// maxCapacity is more than any worker has.
const maxCapacity = 1_000_000

// RegisteredWorker is what a worker is told when it has registered.
type RegisteredWorker struct {
	Incarnation, Token string
	// Protocol is the version it is served with.
	Protocol  int
	Heartbeat time.Duration
}

// ErrProtocol says that a worker speaks no version of the protocol that is spoken here.
var ErrProtocol = errors.New("this server speaks version 1 of the worker protocol")

// RegisterRemote begins a life of a remote worker; an earlier one of its name ends at once, and what it had is run elsewhere (S27).
func (e *Engine) RegisterRemote(ctx context.Context, namespace int64, w RemoteWorker) (RegisteredWorker, error) {
	if w.Protocol < protocolVersion {
		return RegisteredWorker{}, ErrProtocol
	}
	secrets, err := e.keys.secrets(ctx, namespace)
	if err != nil {
		return RegisteredWorker{}, err
	}
	row := store.Worker{Incarnation: fmt.Sprintf("%.60s-%s", w.ID, rand.Text()[:10]), Name: w.ID, Namespace: namespace, App: w.App, Host: w.Host, Remote: true,
		Address: w.Address, Protocol: protocolVersion, Labels: w.Labels, Wants: w.Queues, Capacity: w.Capacity,
		Suspect: e.timings.suspect(), Lease: e.timings.lease()}
	for _, h := range w.Handlers {
		row.Kinds = append(row.Kinds, kindGoPrefix+h)
	}
	named := w.Queues
	if named == nil {
		named = []string{"default"}
	}
	if err := e.store.EnsureQueues(ctx, namespace, named); err != nil {
		return RegisteredWorker{}, err
	}
	if err := e.store.RegisterWorker(ctx, row); err != nil {
		return RegisteredWorker{}, err
	}
	return RegisteredWorker{row.Incarnation, workerToken(secrets[0], row.Incarnation), protocolVersion, e.timings.Beat}, nil
}

// Proof is who sends something in the worker protocol, as far as its token proves it.
type Proof struct {
	Namespace int64
	// Token is a worker's, or that of one attempt.
	Token string
}

// ErrUnproven says that a token is missing, or proves nothing here.
var ErrUnproven = errors.New("the token is missing or is none of this worker or attempt")

// ProveWorker checks that a token is that of a worker of some name, and returns its incarnation.
func (e *Engine) ProveWorker(ctx context.Context, p Proof, name string) (incarnation string, err error) {
	incarnation, ok, err := e.keys.worker(ctx, p.Namespace, p.Token)
	if err == nil && (!ok || incarnationName(incarnation) != fmt.Sprintf("%.60s", name)) {
		err = ErrUnproven
	}
	return incarnation, err
}

// incarnationName is the beginning of an incarnation's id.
func incarnationName(incarnation string) string {
	if cut := strings.LastIndexByte(incarnation, '-'); cut >= 0 {
		return incarnation[:cut]
	}
	return incarnation
}

// proveAttempt checks that a token may report an attempt, and returns the worker that it names, "" for a token of the attempt itself.
func (e *Engine) proveAttempt(ctx context.Context, p Proof, a store.Attempt) (worker string, err error) {
	if incarnation, ok, err := e.keys.worker(ctx, p.Namespace, p.Token); err != nil || ok {
		return incarnation, err
	}
	ok, err := e.keys.attempt(ctx, p.Namespace, p.Token, a)
	if err == nil && !ok {
		err = ErrUnproven
	}
	return "", err
}

// RemoteBeat is what a worker is told at a heartbeat.
type RemoteBeat struct {
	// Cancel are those of its attempts that are not its own any more.
	Cancel []store.Attempt
	Now    time.Time
	// Drain means that it is to take nothing new.
	Drain bool
}

// BeatRemote renews a remote worker's lease. Running is what it says it has, nil when it does not say; what it should have and does not know
// of, because the answer that brought it was lost, is run elsewhere. A worker that is lost gets store.ErrWorkerLost and registers again.
func (e *Engine) BeatRemote(ctx context.Context, incarnation string, running []store.Attempt) (RemoteBeat, error) {
	got, err := e.store.BeatRemote(ctx, incarnation)
	if err != nil {
		return RemoteBeat{}, err
	}
	beat := RemoteBeat{Now: got.Now, Drain: got.Drained}
	if running == nil {
		return beat, nil
	}
	has := make(map[store.Attempt]bool, len(running))
	for _, a := range running {
		has[a] = true
	}
	for _, h := range got.Held {
		if !has[h.Attempt] && h.StartedAt.Before(got.Before) {
			e.log.Warn("a worker does not know of an attempt that it was given", slog.String("worker", incarnation), slog.String("execution", h.Attempt.ExecutionID()))
			e.lose(ctx, store.Claim{Attempt: h.Attempt})
		}
		delete(has, h.Attempt)
	}
	for _, a := range running {
		if has[a] {
			beat.Cancel = append(beat.Cancel, a)
		}
	}
	return beat, nil
}

// LeaveRemote makes a worker take nothing new and forgets it when what it has has ended or, with now set, at once: what it has is handed back
// then, and runs elsewhere.
func (e *Engine) LeaveRemote(ctx context.Context, incarnation string, now bool) error {
	if err := e.store.LeaveWorker(ctx, incarnation, false); err != nil || !now {
		return err
	}
	got, err := e.store.WorkerAttempts(ctx, incarnation, maxCapacity)
	if err != nil {
		return err
	}
	for _, a := range got {
		e.report(ctx, &finished{claim: store.Claim{Attempt: a.Attempt}, outcome: handedBack(), worker: incarnation})
	}
	return e.bury(ctx)
}

// handedBack is how an attempt ends that nobody has worked on, or that its worker gave back: it runs elsewhere and counts against nothing (S28).
func handedBack() Outcome {
	return Outcome{Err: &progress.Error{Class: progress.HandedBack, Code: codeDrained, Message: "the worker stopped and handed the attempt back"}}
}

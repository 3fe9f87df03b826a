package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

// Worker is something that runs nodes: a process on the database, or a remote worker that speaks the worker protocol.
type Worker struct {
	ID          string            `json:"id" doc:"Its name, the same over restarts."`
	Incarnation string            `json:"incarnation" doc:"This life of it, as attempts name it."`
	State       string            `json:"state" enum:"online,draining,suspect,lost"`
	Remote      bool              `json:"remote" doc:"Whether it speaks the worker protocol over HTTP."`
	Address     string            `json:"address,omitempty" doc:"Where a remote worker is pushed to; absent for one that polls."`
	App         string            `json:"app,omitempty"`
	Host        string            `json:"host,omitempty"`
	Protocol    int               `json:"protocol,omitempty" doc:"The version of the worker protocol that it is served with."`
	Labels      map[string]string `json:"labels" nullable:"false"`
	Handlers    []string          `json:"handlers" nullable:"false" doc:"The handlers that it knows."`
	Kinds       []string          `json:"kinds" nullable:"false" doc:"The other kinds of nodes that it runs: http, command."`
	Queues      []string          `json:"queues" nullable:"false"`
	Capacity    int               `json:"capacity" doc:"How many attempts it runs at once."`
	Running     int               `json:"running" doc:"How many it has."`
	StartedAt   time.Time         `json:"started_at"`
	HeartbeatAt *time.Time        `json:"heartbeat_at,omitempty" doc:"When it was heard of last; absent for one that was declared lost."`
	Drained     *Pause            `json:"drained,omitempty" doc:"Present when somebody told it to take nothing new."`
}

// WorkerDetail is one worker with what it runs.
type WorkerDetail struct {
	Worker
	Attempts []WorkerAttempt `json:"attempts" nullable:"false" doc:"The first hundred, the longest first."`
}

// WorkerAttempt is what a worker runs.
type WorkerAttempt struct {
	ExecutionID string          `json:"execution_id"`
	Attempt     int             `json:"attempt"`
	Since       *time.Time      `json:"since,omitempty"`
	Progress    json.RawMessage `json:"progress,omitempty" doc:"What the body said of its progress last."`
}

// OfWorker is the path of one worker.
type OfWorker struct {
	InNamespace
	Worker string `path:"worker" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$" doc:"The worker's id." example:"etl-1"`
}

type listWorkersInput struct {
	InNamespace
	PageInput
	State string `query:"state" enum:"online,draining,suspect,lost" doc:"Only those in this state."`
}

// workerMark is a place in the list.
type workerMark store.WorkerMark

func (a *API) workerRoutes() {
	handle(a, op(http.MethodGet, ns+"/workers", "list-workers", "workers"), "List workers by name", a.listWorkers)
	handle(a, op(http.MethodGet, ns+"/workers/{worker}", "get-worker", "workers"), "Show one worker, and what it runs", a.getWorker)
	handle(a, op(http.MethodPost, ns+"/workers/{worker}/drain", "drain-worker", "workers"),
		"Make a worker take nothing new until it starts again; what it runs goes on", a.drainWorker)
	handle(a, needing(Admin, op(http.MethodGet, ns+"/signing-key", "get-signing-key", "workers")),
		"Show the key that signs what http nodes send to workers", a.getSigningKey)
}

func (a *API) listWorkers(ctx context.Context, in *listWorkersInput) (*body[Page[Worker]], error) {
	after, err := readCursor(in.Cursor, workerMark{})
	if err != nil {
		return nil, err
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.Workers(ctx, namespace, store.WorkerState(in.State), store.WorkerMark(after), in.Limit+1)
	if err != nil {
		return nil, err
	}
	return answerOf(paged(rows, in.Limit, workerView, func(w store.WorkerRow) workerMark { return workerMark{w.Name, w.Incarnation} }))
}

func (a *API) getWorker(ctx context.Context, in *OfWorker) (*body[WorkerDetail], error) {
	row, err := a.worker(ctx, *in)
	if err != nil {
		return nil, err
	}
	return answerOf(a.workerDetail(ctx, row))
}

// worker finds the newest life of a worker.
func (a *API) worker(ctx context.Context, in OfWorker) (store.WorkerRow, error) {
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return store.WorkerRow{}, err
	}
	return a.Store.WorkerNamed(ctx, namespace, in.Worker)
}

// maxShownAttempts is how many attempts of a worker its page names.
const maxShownAttempts = 100

func (a *API) workerDetail(ctx context.Context, row store.WorkerRow) (WorkerDetail, error) {
	attempts, err := a.Store.WorkerAttempts(ctx, row.Incarnation, maxShownAttempts)
	if err != nil {
		return WorkerDetail{}, err
	}
	d := WorkerDetail{Worker: workerView(row), Attempts: make([]WorkerAttempt, len(attempts))}
	for i, r := range attempts {
		d.Attempts[i] = WorkerAttempt{ExecutionID: r.Attempt.ExecutionID(), Attempt: r.Attempt.Number, Since: utcOr(r.Since), Progress: r.Progress}
	}
	return d, nil
}

func (a *API) drainWorker(ctx context.Context, in *OfWorker) (*body[WorkerDetail], error) {
	row, err := a.worker(ctx, *in)
	if err != nil {
		return nil, err
	}
	if err := a.Store.DrainWorker(ctx, row.Incarnation, actor(ctx)); err != nil {
		return nil, err
	}
	return a.getWorker(ctx, in)
}

// SigningKey is the key of the header Ax-Signature on what http nodes send; registered workers have a key of their own.
type SigningKey struct {
	Key string `json:"key"`
}

func (a *API) getSigningKey(ctx context.Context, in *InNamespace) (*body[SigningKey], error) {
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	secrets, err := a.Store.SigningSecrets(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return answerOf(SigningKey{engine.NamespaceKey(secrets[0])}, nil)
}

func workerView(w store.WorkerRow) Worker {
	v := Worker{ID: w.Name, Incarnation: w.Incarnation, State: string(w.State), Remote: w.Remote, Address: w.Address, App: w.App, Host: w.Host, Protocol: w.Protocol,
		Labels: w.Labels, Handlers: []string{}, Kinds: []string{}, Queues: w.QueueNames, Capacity: w.Capacity, Running: w.Running, StartedAt: utc(w.StartedAt),
		HeartbeatAt: utcOr(w.BeatAt)}
	for _, kind := range w.Kinds {
		if handler, ok := strings.CutPrefix(kind, "go:"); ok {
			v.Handlers = append(v.Handlers, handler)
		} else {
			v.Kinds = append(v.Kinds, kind)
		}
	}
	if w.DrainedAt != nil {
		v.Drained = &Pause{At: utc(*w.DrainedAt), By: w.DrainedBy}
	}
	return v
}

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

// Remotes serves remote workers; the engine does it.
type Remotes interface {
	RegisterRemote(ctx context.Context, namespace int64, w engine.RemoteWorker) (engine.RegisteredWorker, error)
	ProveWorker(ctx context.Context, p engine.Proof, name string) (incarnation string, err error)
	BeatRemote(ctx context.Context, incarnation string, running []store.Attempt) (engine.RemoteBeat, error)
	Poll(ctx context.Context, incarnation, base string, most int, wait time.Duration) ([]json.RawMessage, error)
	LeaveRemote(ctx context.Context, incarnation string, now bool) error
	ReportRemote(ctx context.Context, p engine.Proof, a store.Attempt, r engine.Report) error
	HeartbeatRemote(ctx context.Context, p engine.Proof, a store.Attempt, progress []byte) (deadline time.Time, err error)
	LogRemote(ctx context.Context, p engine.Proof, a store.Attempt, lines []store.LogLine) error
}

// RegisterWorkerBody is how a worker registers itself (worker protocol, version 1). Unknown fields are ignored.
type RegisterWorkerBody struct {
	_        struct{}          `json:"-" additionalProperties:"true"`
	ID       string            `json:"id" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$" doc:"Its name, the same over restarts: one that registers ends an earlier one of its name." example:"etl-1"`
	App      string            `json:"app,omitempty" maxLength:"200" doc:"The program and its version, for people."`
	Host     string            `json:"host,omitempty" maxLength:"300" doc:"The machine, for people."`
	Address  string            `json:"address,omitempty" maxLength:"2000" doc:"Where attempts are sent to it; it polls when left out."`
	Labels   map[string]string `json:"labels,omitempty" maxProperties:"100" doc:"What nodes may ask for."`
	Handlers []string          `json:"handlers" nullable:"false" minItems:"1" maxItems:"2000" doc:"The handlers that it knows."`
	Queues   []string          `json:"queues,omitempty" nullable:"false" maxItems:"1000" doc:"The queues that it takes from; all when left out."`
	Capacity int               `json:"capacity" minimum:"1" maximum:"100000" doc:"How many attempts it runs at once."`
	Protocol int               `json:"protocol" minimum:"1" maximum:"1000000" doc:"The newest version of the protocol that it speaks."`
}

// RegisteredBody is what a worker is told when it has registered.
type RegisteredBody struct {
	WorkerToken      string  `json:"worker_token" doc:"What it proves itself with (Authorization: Bearer), and the key of the signatures on what it is sent."`
	HeartbeatSeconds float64 `json:"heartbeat_seconds" doc:"How often it says that it lives."`
	Protocol         int     `json:"protocol" doc:"The version it is served with."`
	Incarnation      string  `json:"incarnation" doc:"This life of it, as attempts name it."`
}

// WorkerProof is the token of a worker, in the header or the query.
type WorkerProof struct {
	Authorization string `header:"Authorization" maxLength:"1000" doc:"Bearer and the worker's token."`
	Token         string `query:"token" maxLength:"1000" doc:"The token, where the header cannot be set."`
}

func (p *WorkerProof) token() string {
	if token, ok := strings.CutPrefix(p.Authorization, "Bearer "); ok {
		return strings.TrimSpace(token)
	}
	return p.Token
}

type registerWorkerInput struct {
	InNamespace
	Body RegisterWorkerBody
}

type registerWorkerOutput struct {
	Status int
	Body   RegisteredBody
}

// HeartbeatBody is what a worker says of itself.
type HeartbeatBody struct {
	_       struct{}      `json:"-" additionalProperties:"true"`
	Running *[]AttemptRef `json:"running,omitempty" nullable:"false" maxItems:"100000" doc:"What it runs. What it was given and does not name, at two heartbeats, is run elsewhere. When left out nothing is concluded."`
}

// AttemptRef names one attempt.
type AttemptRef struct {
	_           struct{} `json:"-" additionalProperties:"true"`
	ExecutionID string   `json:"execution_id" maxLength:"300"`
	Attempt     int      `json:"attempt" minimum:"1" maximum:"2147483647"`
}

// HeartbeatAnswer is what a worker is told at a heartbeat.
type HeartbeatAnswer struct {
	Cancel     []AttemptRef `json:"cancel" nullable:"false" doc:"Those of the named that are not its own any more: canceled, timed out, or another's. Their results would be refused."`
	Drain      bool         `json:"drain,omitempty" doc:"Whether it is to take nothing new."`
	ServerTime time.Time    `json:"server_time"`
}

type heartbeatInput struct {
	OfWorker
	WorkerProof
	Body *HeartbeatBody
}

// PollBody is what a worker asks for.
type PollBody struct {
	_           struct{} `json:"-" additionalProperties:"true"`
	Max         int      `json:"max,omitempty" minimum:"1" maximum:"1000" default:"1" doc:"How many attempts at most; never more than its capacity less what it has."`
	WaitSeconds float64  `json:"wait_seconds,omitempty" minimum:"0" maximum:"45" default:"20" doc:"How long to wait until there is one."`
}

type pollInput struct {
	OfWorker
	WorkerProof
	Body *PollBody
	base string
}

// Resolve implements huma.Resolver: it notes under which address the worker reaches the API.
func (in *pollInput) Resolve(ctx huma.Context) []error {
	scheme := "http"
	if ctx.TLS() != nil || ctx.Header("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	in.base = scheme + "://" + ctx.Host()
	return nil
}

type pollOutput struct {
	Body []json.RawMessage `nullable:"false" doc:"What the worker is to do: a dispatch for each attempt, none when the wait is over."`
}

type leaveInput struct {
	OfWorker
	WorkerProof
	Drain bool `query:"drain" doc:"Let what it runs end first; otherwise that is run elsewhere at once."`
}

func (a *API) remoteRoutes() {
	register := told(op(http.MethodPost, ns+"/workers", "register-worker", "workers"), secretKey, true)
	register.DefaultStatus = http.StatusCreated
	handle(a, register, "Register a remote worker", a.registerWorker)
	handle(a, proven(op(http.MethodPut, ns+"/workers/{worker}/heartbeat", "heartbeat-worker", "workers")), "Say that a worker lives and what it runs, and hear what is canceled", a.heartbeat)
	handleFor(a, pollTime, proven(op(http.MethodPost, ns+"/workers/{worker}/poll", "poll-worker", "workers")), "Wait for attempts and take them", a.poll)
	leave := told(op(http.MethodDelete, ns+"/workers/{worker}", "unregister-worker", "workers"), ownKey, true)
	leave.DefaultStatus = http.StatusNoContent
	handle(a, leave, "Unregister a remote worker", a.unregisterWorker)
	a.reportRoutes()
}

// pollTime bounds a poll: its wait, and what it takes then.
const pollTime = 55 * time.Second

func (a *API) registerWorker(ctx context.Context, in *registerWorkerInput) (*registerWorkerOutput, error) {
	if err := in.Body.check(); err != nil {
		return nil, err
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	got, err := a.Remotes.RegisterRemote(ctx, namespace, engine.RemoteWorker{ID: b.ID, App: b.App, Host: b.Host, Address: b.Address, Labels: b.Labels,
		Handlers: b.Handlers, Queues: b.Queues, Capacity: b.Capacity, Protocol: b.Protocol})
	if err != nil {
		return nil, err
	}
	return &registerWorkerOutput{http.StatusCreated, RegisteredBody{got.Token, got.Heartbeat.Seconds(), got.Protocol, got.Incarnation}}, nil
}

// check says all that is wrong with a registration.
func (b *RegisterWorkerBody) check() error {
	p := problem(http.StatusUnprocessableEntity, "the worker cannot be registered")
	wrong := func(location, message string, args ...any) {
		p.with(ProblemDetail{Location: location, Message: fmt.Sprintf(message, args...)})
	}
	for i, h := range b.Handlers {
		if !dag.ValidName(h) || len(h) > 120 {
			wrong(fmt.Sprintf("body.handlers[%d]", i), "%.130q is no handler's name: letters, digits, dots, underscores and hyphens, at most 120 of them", h)
		}
	}
	for i, q := range b.Queues {
		if !dag.ValidName(q) {
			wrong(fmt.Sprintf("body.queues[%d]", i), "%.130q is no queue's name", q)
		}
	}
	for key, value := range b.Labels {
		if !dag.ValidName(key) || len(value) > 200 {
			wrong("body.labels", "the label %.130q: a name of letters, digits, dots, underscores and hyphens, and a value of at most 200 bytes", key)
		}
	}
	if u, err := url.Parse(b.Address); b.Address != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		wrong("body.address", "this is no http or https URL")
	}
	if len(p.Errors) > 0 {
		return p
	}
	return nil
}

// prove finds the life of a worker that a request proves to come from.
func (a *API) prove(ctx context.Context, in OfWorker, proof WorkerProof) (incarnation string, err error) {
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return "", err
	}
	return a.Remotes.ProveWorker(ctx, engine.Proof{Namespace: namespace, Token: proof.token()}, in.Worker)
}

func (a *API) heartbeat(ctx context.Context, in *heartbeatInput) (*body[HeartbeatAnswer], error) {
	incarnation, err := a.prove(ctx, in.OfWorker, in.WorkerProof)
	if err != nil {
		return nil, err
	}
	var running []store.Attempt
	foreign := []AttemptRef{}
	if in.Body != nil && in.Body.Running != nil {
		running = []store.Attempt{}
		for _, r := range *in.Body.Running {
			if attempt, err := attemptOf(r.ExecutionID, r.Attempt); err != nil {
				foreign = append(foreign, r)
			} else {
				running = append(running, attempt)
			}
		}
	}
	beat, err := a.Remotes.BeatRemote(ctx, incarnation, running)
	if err != nil {
		return nil, err
	}
	answer := HeartbeatAnswer{Cancel: foreign, Drain: beat.Drain, ServerTime: utc(beat.Now)}
	for _, c := range beat.Cancel {
		answer.Cancel = append(answer.Cancel, AttemptRef{ExecutionID: c.ExecutionID(), Attempt: c.Number})
	}
	return &body[HeartbeatAnswer]{answer}, nil
}

// attemptOf names an attempt as workers do; what cannot be one of ours is not found.
func attemptOf(executionID string, number int) (store.Attempt, error) {
	attempt, err := store.ParseExecutionID(executionID)
	if err != nil {
		return attempt, err
	}
	if !dag.ValidName(attempt.Node) || attempt.Generation < 1 || attempt.Generation > math.MaxInt32 || attempt.Shard < store.WholeNode || attempt.Shard > math.MaxInt32 {
		return attempt, notFound("there is no node run %.100q", executionID)
	}
	attempt.Number = number
	return attempt, nil
}

func (a *API) poll(ctx context.Context, in *pollInput) (*pollOutput, error) {
	incarnation, err := a.prove(ctx, in.OfWorker, in.WorkerProof)
	if err != nil {
		return nil, err
	}
	wish := PollBody{Max: 1, WaitSeconds: 20}
	if in.Body != nil {
		wish = *in.Body
	}
	base := a.PublicURL
	if base == "" {
		base = in.base
	}
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(a.closing, stop)()
	got, err := a.Remotes.Poll(waiting, incarnation, base, wish.Max, time.Duration(wish.WaitSeconds*float64(time.Second)))
	if err != nil && a.closing.Err() != nil && ctx.Err() == nil {
		got, err = []json.RawMessage{}, nil // the server stops; the worker asks another
	}
	if err != nil {
		return nil, err
	}
	return &pollOutput{got}, nil
}

// unregisterWorker ends the life of a worker that asks for it itself, which is not the newest of its name when another has taken over; somebody
// else means the newest.
func (a *API) unregisterWorker(ctx context.Context, in *leaveInput) (*struct{}, error) {
	if strings.HasPrefix(in.token(), engine.WorkerTokenPrefix) {
		incarnation, err := a.prove(ctx, in.OfWorker, in.WorkerProof)
		if err != nil {
			return nil, err
		}
		return nil, a.Remotes.LeaveRemote(ctx, incarnation, !in.Drain)
	}
	row, err := a.worker(ctx, in.OfWorker)
	if err != nil {
		return nil, err
	}
	if !row.Remote {
		return nil, conflict("worker %s is a process: it unregisters when it is stopped; drain makes it take nothing new", row.Name)
	}
	return nil, a.Remotes.LeaveRemote(ctx, row.Incarnation, !in.Drain)
}

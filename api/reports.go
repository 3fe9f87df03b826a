package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

// OfReport is the path of what a worker reports.
type OfReport struct {
	InNamespace
	ID string `path:"id" maxLength:"300" doc:"The execution id."`
	WorkerProof
}

// ResultBody is how an attempt ended. Unknown fields are ignored.
type ResultBody struct {
	_       struct{}        `json:"-" additionalProperties:"true"`
	Attempt int             `json:"attempt" minimum:"1" maximum:"2147483647" doc:"The number that was dispatched; one that is not current is refused with 409 and the code stale_attempt."`
	Status  string          `json:"status" enum:"succeeded,failed,skipped"`
	Output  json.RawMessage `json:"output,omitempty" doc:"One JSON value, at most 1 MiB."`
	Error   *ResultError    `json:"error,omitempty" doc:"Why it failed; its message is also why it was skipped."`
	Log     string          `json:"log,omitempty" doc:"Lines that are added to the attempt's log."`
}

// ResultError is a worker's own error.
type ResultError struct {
	_          struct{} `json:"-" additionalProperties:"true"`
	Class      string   `json:"class,omitempty" doc:"permanent is final; everything else may be tried again." example:"permanent"`
	Code       string   `json:"code,omitempty" maxLength:"200"`
	Message    string   `json:"message,omitempty"`
	RetryAfter float64  `json:"retry_after,omitempty" minimum:"0" doc:"Seconds before the next attempt, at the least."`
}

type resultInput struct {
	OfReport
	Body ResultBody
}

// ProgressBody says that an attempt goes on.
type ProgressBody struct {
	_        struct{}        `json:"-" additionalProperties:"true"`
	Attempt  int             `json:"attempt" minimum:"1" maximum:"2147483647"`
	Progress json.RawMessage `json:"progress,omitempty" doc:"What people see of it: any JSON, at most 4 KiB."`
}

type progressInput struct {
	OfReport
	Body ProgressBody
}

// ProgressAnswer is what a worker hears of an attempt.
type ProgressAnswer struct {
	Deadline   time.Time `json:"deadline" doc:"When its time is over."`
	ServerTime time.Time `json:"server_time"`
}

// LogsBody is lines of an attempt's log.
type LogsBody struct {
	_       struct{}  `json:"-" additionalProperties:"true"`
	Attempt int       `json:"attempt" minimum:"1" maximum:"2147483647"`
	Lines   []LogText `json:"lines" maxItems:"10000" nullable:"false"`
}

// LogText is one line; its time is the server's when left out.
type LogText struct {
	_      struct{}  `json:"-" additionalProperties:"true"`
	Text   string    `json:"text"`
	Stream string    `json:"stream,omitempty" maxLength:"40" doc:"Such as stdout; log when left out."`
	Time   time.Time `json:"time,omitzero"`
}

type remoteLogsInput struct {
	OfReport
	Body LogsBody
}

// Accepted says that what was sent is stored.
type Accepted struct {
	Accepted bool `json:"accepted"`
}

const (
	// maxReport bounds a result: an output of the largest size, its escapes, and a log.
	maxReport = 4 << 20
	// maxProgress bounds what is kept of an attempt's progress.
	maxProgress = 4 << 10
)

func (a *API) reportRoutes() {
	handle(a, proven(large(op(http.MethodPost, ns+"/executions/{id}/result", "report-execution", "workers"))), "End an attempt that a remote worker has", a.reportAttempt)
	handle(a, proven(op(http.MethodPost, ns+"/executions/{id}/heartbeat", "heartbeat-execution", "workers")),
		"Say that an attempt goes on; one that no registered worker has must go on beating then", a.progressAttempt)
	handle(a, proven(large(op(http.MethodPost, ns+"/executions/{id}/logs", "log-execution", "workers"))), "Add lines to the log of an attempt that a remote worker has", a.appendLog)
}

// large lets an operation's body be as large as a report may be.
func large(op huma.Operation) huma.Operation {
	return told(op, bodyLimitKey, int64(maxReport))
}

// reporter finds the attempt that a request is about, and what proves who sends it.
func (a *API) reporter(ctx context.Context, in *OfReport, number int) (p engine.Proof, attempt store.Attempt, err error) {
	if attempt, err = attemptOf(in.ID, number); err != nil {
		return p, attempt, err
	}
	p.Token = in.token()
	p.Namespace, err = a.namespace(ctx, in.Namespace)
	return p, attempt, err
}

func (a *API) reportAttempt(ctx context.Context, in *resultInput) (*body[Accepted], error) {
	p, attempt, err := a.reporter(ctx, &in.OfReport, in.Body.Attempt)
	if err != nil {
		return nil, err
	}
	r := engine.Report{Status: in.Body.Status, Output: in.Body.Output, Log: in.Body.Log}
	if e := in.Body.Error; e != nil {
		r.Error = engine.ReportedError{Class: progress.Class(e.Class), Code: e.Code, Message: e.Message, RetryAfter: e.RetryAfter}
	}
	return answerOf(Accepted{true}, a.Remotes.ReportRemote(ctx, p, attempt, r))
}

func (a *API) progressAttempt(ctx context.Context, in *progressInput) (*body[ProgressAnswer], error) {
	p, attempt, err := a.reporter(ctx, &in.OfReport, in.Body.Attempt)
	if err != nil {
		return nil, err
	}
	if len(in.Body.Progress) > maxProgress {
		return nil, invalid("body.progress", "%d bytes, at most %d are kept", len(in.Body.Progress), maxProgress)
	}
	deadline, err := a.Remotes.HeartbeatRemote(ctx, p, attempt, in.Body.Progress)
	if err != nil {
		return nil, err
	}
	now, err := a.Store.Now(ctx)
	return answerOf(ProgressAnswer{utc(deadline), utc(now)}, err)
}

func (a *API) appendLog(ctx context.Context, in *remoteLogsInput) (*body[Accepted], error) {
	p, attempt, err := a.reporter(ctx, &in.OfReport, in.Body.Attempt)
	if err != nil {
		return nil, err
	}
	lines := make([]store.LogLine, len(in.Body.Lines))
	for i, l := range in.Body.Lines {
		lines[i] = store.LogLine{Time: l.Time, Stream: l.Stream, Text: l.Text}
	}
	return answerOf(Accepted{true}, a.Remotes.LogRemote(ctx, p, attempt, lines))
}

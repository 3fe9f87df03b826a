package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// Problem is an error as the API answers it: a problem document of RFC 9457. This file is the only
// place that chooses status codes for errors.
type Problem struct {
	Type   string `json:"type,omitempty" doc:"What kind of problem this is, as a URI; about:blank when the status says it all."`
	Title  string `json:"title" doc:"The status in words."`
	Status int    `json:"status"`
	Detail string `json:"detail" doc:"What happened and what to do about it, in a sentence."`
	// RequestID is also in the header X-Request-Id and in the server's log.
	RequestID string          `json:"request_id,omitempty"`
	Errors    []ProblemDetail `json:"errors,omitempty" nullable:"false" doc:"Everything that is wrong, each with its place."`

	retryAfter int // seconds; 0 for none
}

// ProblemDetail is one thing that is wrong with a request.
type ProblemDetail struct {
	Location string `json:"location,omitempty" doc:"Where: path, query, header or body, and the way to it, such as body.nodes.clean.retry."`
	Message  string `json:"message"`
	Value    any    `json:"value,omitempty" doc:"The offending value, when it is short."`
	Code     string `json:"code,omitempty" doc:"A stable name of the problem, for programs."`
	Severity string `json:"severity,omitempty" enum:"error,warning"`
	Hint     string `json:"hint,omitempty"`
	Line     int    `json:"line,omitempty" doc:"The line in a definition's text, from 1."`
	Column   int    `json:"column,omitempty" doc:"The column in a definition's text, in characters from 1."`
}

// Error is the problem's detail.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	return h
}

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

func problem(status int, detail string, args ...any) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(detail, args...)}
}

func (p *Problem) with(details ...ProblemDetail) *Problem {
	p.Errors = append(p.Errors, details...)
	return p
}

func notFound(detail string, args ...any) *Problem {
	return problem(http.StatusNotFound, detail, args...)
}

func conflict(detail string, args ...any) *Problem {
	return problem(http.StatusConflict, detail, args...)
}

// codePlanChanged is the code of what keeps a plan from being carried out.
const codePlanChanged = "plan_changed"

// planProblem says that a plan cannot be carried out; nothing was done.
func planProblem(detail string) *Problem {
	return conflict("%s", detail).with(ProblemDetail{Location: "body.plan", Message: "the plan does not hold", Code: codePlanChanged})
}

func unproven() *Problem {
	return problem(http.StatusUnauthorized, "%s; a worker's is in its registration's answer, an attempt's in its result_url", engine.ErrUnproven)
}

// staleAttempt refuses what comes of an attempt that is not current (S18).
func staleAttempt() *Problem {
	return conflict("the attempt is not current any more, or is another worker's; it was refused and noted").
		with(ProblemDetail{Location: "body.attempt", Message: "the attempt is not current", Code: "stale_attempt"})
}

// workerLost tells a worker that its attempts are not its own any more.
func workerLost() *Problem {
	return problem(http.StatusGone, "this worker was declared lost, or has registered anew or left: stop what it runs and register again").
		with(ProblemDetail{Message: "the worker is lost", Code: "worker_lost"})
}

func methodNotAllowed(method string) *Problem {
	return problem(http.StatusMethodNotAllowed, "%s is not possible here; the header Allow lists what is", method)
}

func foreignOrigin() *Problem {
	return problem(http.StatusForbidden, "the request comes from a page of another site")
}

func foreignHost(host string) *Problem {
	return problem(http.StatusMisdirectedRequest, "this server does not answer for the host %.100q", host)
}

func unparsable(detail string, args ...any) *Problem {
	return problem(http.StatusBadRequest, detail, args...)
}

func bodyTooLarge(limit int64) *Problem {
	return problem(http.StatusRequestEntityTooLarge, "the body is larger than the %d bytes that are read here", limit)
}

func bodyTooSlow() *Problem {
	return problem(http.StatusRequestTimeout, "the body did not arrive in time")
}

// invalid says that one place of a request that could be read cannot be meant.
func invalid(location, message string, args ...any) *Problem {
	return problem(http.StatusUnprocessableEntity, "the request is not valid").
		with(ProblemDetail{Location: location, Message: fmt.Sprintf(message, args...)})
}

func unavailable() *Problem {
	p := problem(http.StatusServiceUnavailable, "the database is away or too busy; try again")
	p.retryAfter = 2
	return p
}

func notReady(why string) *Problem {
	p := problem(http.StatusServiceUnavailable, "not ready: %s", why)
	p.retryAfter = 2
	return p
}

func internalError() *Problem {
	return problem(http.StatusInternalServerError, "the server failed; its log says more under the request id")
}

// definitionProblem answers a definition that is refused: everything wrong with it, with its places.
func definitionProblem(ps dag.Problems) *Problem {
	status, detail := http.StatusUnprocessableEntity, "the definition has problems"
	switch {
	case ps.TooLarge():
		status, detail = http.StatusRequestEntityTooLarge, "the definition is too large"
	case ps.Unparsable():
		status, detail = http.StatusBadRequest, "the definition cannot be read"
	}
	return problem(status, "%s", detail).with(definitionDetails(ps)...)
}

func definitionDetails(ps dag.Problems) []ProblemDetail {
	details := make([]ProblemDetail, len(ps))
	for i, p := range ps {
		details[i] = ProblemDetail{
			Location: "body", Message: p.Message, Value: short(p.Value), Code: p.Code, Severity: string(p.Severity), Hint: p.Hint,
			Line: p.Line, Column: p.Column,
		}
		if p.Path != "" {
			details[i].Location += "." + p.Path
		}
	}
	return details
}

func paramProblem(e *dag.ParamError) *Problem {
	p := problem(http.StatusUnprocessableEntity, "the parameters do not fit the workflow")
	for _, message := range e.Problems {
		p.with(ProblemDetail{Location: "body.params", Message: message})
	}
	return p
}

func selectionProblem(e *engine.SelectionError) *Problem {
	p := problem(http.StatusUnprocessableEntity, "the test run cannot be made")
	for _, message := range e.Nodes {
		p.with(ProblemDetail{Location: "body.only_nodes", Message: message})
	}
	for _, message := range e.Outputs {
		p.with(ProblemDetail{Location: "body.inputs", Message: message})
	}
	return p
}

// problemOf turns any error of a handler into what the API answers. What nobody expected is logged, and not told.
func (a *API) problemOf(ctx context.Context, err error) *Problem {
	var known *Problem
	var definition dag.Problems
	var params *dag.ParamError
	var selection *engine.SelectionError
	var node *engine.UnknownNodeError
	var answered *engine.AnsweredError
	var used *store.CalendarInUseError
	var pool *store.PoolInUseError
	var backfill *planner.BackfillError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &definition):
		return definitionProblem(definition)
	case errors.As(err, &params):
		return paramProblem(params)
	case errors.As(err, &selection):
		return selectionProblem(selection)
	case errors.As(err, &backfill):
		return invalid("body."+backfill.Field, "%s", backfill)
	case errors.As(err, &node):
		return invalid("body.nodes", "%s", node)
	case errors.Is(err, engine.ErrPointless), errors.Is(err, engine.ErrActive), errors.Is(err, engine.ErrChanged), errors.Is(err, engine.ErrStopping),
		errors.Is(err, engine.ErrNotAsking):
		return conflict("%s", err)
	case errors.Is(err, engine.ErrUnproven):
		return unproven()
	case errors.Is(err, engine.ErrStale):
		return staleAttempt()
	case errors.Is(err, store.ErrWorkerLost):
		return workerLost()
	case errors.Is(err, engine.ErrProtocol):
		return invalid("body.protocol", "%s", err)
	case errors.Is(err, engine.ErrNoRemotes):
		return notFound("%s", err)
	case errors.As(err, &answered):
		return conflict("%s", answered)
	case errors.As(err, &pool):
		return conflict("%s", pool)
	case errors.As(err, &used):
		return conflict("%s", used)
	case errors.Is(err, context.Canceled): // the client has gone
		return unavailable()
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrBadID):
		return notFound("%s", err)
	case store.Transient(err):
		a.log.WarnContext(ctx, "a request found the database away", requestAttr(ctx), slog.Any("error", err))
		return unavailable()
	}
	a.log.ErrorContext(ctx, "a request failed", requestAttr(ctx), slog.Any("error", err))
	return internalError()
}

// finishProblem names the request in a problem, and gives what huma itself found wrong the shape of all problems.
func finishProblem(ctx huma.Context, _ string, v any) (any, error) {
	switch v := v.(type) {
	case *Problem:
		named := *v
		named.RequestID = requestID(ctx.Context())
		return &named, nil
	case *huma.ErrorModel:
		p := fromHuma(v)
		p.RequestID = requestID(ctx.Context())
		return p, nil
	}
	return v, nil
}

func fromHuma(m *huma.ErrorModel) *Problem {
	p := &Problem{Title: m.Title, Status: m.Status, Detail: m.Detail}
	if m.Detail == "validation failed" {
		p.Detail = "the request is not valid"
	}
	for _, e := range m.Errors {
		if e != nil {
			p.with(ProblemDetail{Location: e.Location, Message: e.Message, Value: short(e.Value)})
		}
	}
	return p
}

// maxEcho bounds how much of a request is said back to its sender.
const maxEcho = 200

// short is the value if it is short text, a number or a boolean, else nil.
func short(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > maxEcho || !utf8.ValidString(v) {
			return nil
		}
		return v
	case json.Number:
		if _, err := v.Float64(); err != nil {
			return short(v.String()) // most readers of JSON could not read it as a number
		}
		return v
	case bool, float64, int, int64:
		return v
	}
	return nil
}

// write answers with the problem outside of huma.
func (p *Problem) write(w http.ResponseWriter) error {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	if err := json.NewEncoder(w).Encode(p); err != nil {
		return fmt.Errorf("write problem: %w", err)
	}
	return nil
}

package api

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ax-run/ax/internal/store"
)

// DeadLetter is a node run that failed for good, until it is rerun, replayed or dismissed.
type DeadLetter struct {
	ID          string     `json:"id" doc:"The execution id of the node run."`
	Run         string     `json:"run"`
	Workflow    string     `json:"workflow"`
	Version     int        `json:"version"`
	Node        string     `json:"node"`
	Shard       *int       `json:"shard,omitempty" doc:"Which shard of the node it was."`
	Generation  int        `json:"generation"`
	Attempts    int        `json:"attempts"`
	LogicalDate string     `json:"logical_date" format:"date"`
	Error       *NodeError `json:"error,omitempty"`
	Tolerated   bool       `json:"tolerated,omitempty" doc:"By the node's policy the failure counts as success."`
	Params      Object     `json:"params,omitempty" doc:"The run's parameters, when they are short; the run has all of them."`
	CreatedAt   time.Time  `json:"created_at"`
	ResolvedAt  *time.Time `json:"resolved_at,omitempty"`
	Resolution  string     `json:"resolution,omitempty" enum:"rerun,marked,replay,dismissed"`
	ResolvedBy  string     `json:"resolved_by,omitempty"`
	Note        string     `json:"note,omitempty" doc:"Why it was dismissed, or what answered it."`
}

type listLettersInput struct {
	InNamespace
	PageInput
	Workflow string    `query:"workflow" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"`
	Code     string    `query:"code" maxLength:"200" doc:"Only errors of this code."`
	From     time.Time `query:"from" doc:"Failed at this instant or later."`
	To       time.Time `query:"to" doc:"Failed before this instant."`
	Resolved bool      `query:"resolved" doc:"Those too that were answered."`
}

func (a *API) letterRoutes() {
	handle(a, op(http.MethodGet, ns+"/dead-letters", "list-dead-letters", "dead letters"), "List node runs that failed for good, newest first", a.listLetters)
	handle(a, op(http.MethodPost, ns+"/dead-letters/replay", "replay-dead-letters", "dead letters"), "Run what failed again, each in its run", a.replayLetters)
	handle(a, op(http.MethodPost, ns+"/dead-letters/dismiss", "dismiss-dead-letters", "dead letters"), "Close dead letters without running anything", a.dismissLetters)
}

func (a *API) listLetters(ctx context.Context, in *listLettersInput) (*body[Page[DeadLetter]], error) {
	before, err := readCursor(in.Cursor, store.LetterMark{})
	if err != nil {
		return nil, err
	}
	filter := LetterFilter{Workflow: in.Workflow, Code: in.Code, From: &in.From, To: &in.To}
	q, err := a.letterQuery(ctx, in.Namespace, &filter)
	if err != nil {
		return nil, err
	}
	q.Resolved, q.Before, q.Limit = in.Resolved, before, in.Limit+1
	letters, err := a.Store.Letters(ctx, q)
	if err != nil {
		return nil, err
	}
	return answerOf(paged(letters, in.Limit, letterView, func(l store.Letter) store.LetterMark { return l.Mark() }))
}

// LetterFilter chooses dead letters that are open. What is left out chooses all.
type LetterFilter struct {
	Workflow string     `json:"workflow,omitempty" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"`
	Code     string     `json:"code,omitempty" maxLength:"200"`
	From     *time.Time `json:"from,omitempty"`
	To       *time.Time `json:"to,omitempty"`
}

func (a *API) letterQuery(ctx context.Context, namespace string, f *LetterFilter) (q store.LetterQuery, err error) {
	if q.Namespace, err = a.namespace(ctx, namespace); err != nil {
		return q, err
	}
	if f.Workflow != "" {
		w, err := a.workflow(ctx, OfWorkflow{InNamespace{namespace}, f.Workflow})
		if err != nil {
			return q, err
		}
		q.Workflow = w.ID
	}
	if q.Code = f.Code; !utf8.ValidString(f.Code) || strings.ContainsRune(f.Code, 0) {
		return q, invalid("code", "this is no text that an error could have")
	}
	for _, bound := range []struct {
		name string
		at   *time.Time
		into *time.Time
	}{{"from", f.From, &q.From}, {"to", f.To, &q.To}} {
		if bound.at == nil || bound.at.IsZero() {
			continue
		}
		if err := checkInstant(bound.name, bound.at); err != nil {
			return q, err
		}
		*bound.into = *bound.at
	}
	return q, nil
}

func letterView(l store.Letter) DeadLetter {
	v := DeadLetter{
		ID: l.Attempt.ExecutionID(), Run: l.Attempt.Run.String(), Workflow: l.Workflow, Version: l.Version, Node: l.Attempt.Node,
		Generation: l.Attempt.Generation, Attempts: l.Attempt.Number, LogicalDate: l.LogicalDate, Error: errorView(&l.Err), Tolerated: l.Tolerated,
		CreatedAt: utc(l.CreatedAt), ResolvedAt: utcOr(l.ResolvedAt), Resolution: l.Resolution.How, ResolvedBy: l.Resolution.Actor, Note: l.Resolution.Note,
	}
	if l.Attempt.Shard != store.WholeNode {
		v.Shard = &l.Attempt.Shard
	}
	if len(l.Params) <= listedOutput {
		v.Params = l.Params
	}
	return v
}

package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// UpstreamSet is what a workflow has of the workflows that it waits for, for one key such as a date (S12).
type UpstreamSet struct {
	Key         string         `json:"key"`
	State       string         `json:"state" enum:"waiting,fired,skipped,failed,expired"`
	Message     string         `json:"message" doc:"How far it is, such as: 2 of 3, waiting for orders.sync."`
	Reason      string         `json:"reason,omitempty"`
	Run         string         `json:"run,omitempty" doc:"The run that it started."`
	Terms       []UpstreamTerm `json:"terms" nullable:"false" doc:"What the workflow waits for by now."`
	LogicalDate string         `json:"logical_date" format:"date"`
	CreatedAt   time.Time      `json:"created_at"`
	ExpiresAt   time.Time      `json:"expires_at"`
	EndedAt     *time.Time     `json:"ended_at,omitempty"`
	Later       int            `json:"later,omitempty" doc:"Completions that came when it was over."`
}

// UpstreamTerm is one condition and what satisfied it.
type UpstreamTerm struct {
	Workflow    string     `json:"workflow"`
	Namespace   string     `json:"namespace"`
	Node        string     `json:"node,omitempty"`
	On          string     `json:"on"`
	Match       string     `json:"match"`
	Take        string     `json:"take"`
	Satisfied   bool       `json:"satisfied"`
	SatisfiedAt *time.Time `json:"satisfied_at,omitempty"`
	Run         string     `json:"run,omitempty" doc:"The run that it took."`
}

type listSetsInput struct {
	OfWorkflow
	PageInput
	State string `query:"state" enum:"waiting,fired,skipped,failed,expired"`
}

func (a *API) upstreamRoutes() {
	handle(a, op(http.MethodGet, ns+"/workflows/{workflow}/upstream-sets", "list-upstream-sets", "workflows"),
		"List what a workflow has of the workflows that it waits for, newest first", a.listSets)
}

func (a *API) listSets(ctx context.Context, in *listSetsInput) (*body[Page[UpstreamSet]], error) {
	w, err := a.workflow(ctx, in.OfWorkflow)
	if err != nil {
		return nil, err
	}
	after, err := readCursor(in.Cursor, store.SetMark{At: farFuture})
	if err != nil {
		return nil, err
	}
	sets, err := a.Store.Sets(ctx, w.ID, store.SetState(in.State), after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	terms, anyOf, err := a.Store.NamedTerms(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	view := func(s store.UpstreamSet) UpstreamSet { return setView(s, terms, anyOf, in.Namespace) }
	return answerOf(paged(sets, in.Limit, view, func(s store.UpstreamSet) store.SetMark { return store.SetMark{At: s.CreatedAt, Key: s.Key} }))
}

// farFuture is later than anything the database holds.
var farFuture = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func setView(s store.UpstreamSet, terms []store.NamedTerm, anyOf bool, namespace string) UpstreamSet {
	v := UpstreamSet{Key: s.Key, State: string(s.State), Reason: s.Reason, Terms: make([]UpstreamTerm, len(terms)), LogicalDate: s.LogicalDate,
		CreatedAt: utc(s.CreatedAt), ExpiresAt: utc(s.ExpiresAt), EndedAt: utcOr(s.EndedAt), Later: s.Later}
	if s.Run != 0 {
		v.Run = s.Run.String()
	}
	var open []string
	for i, t := range terms {
		v.Terms[i] = UpstreamTerm{Workflow: t.Workflow, Namespace: t.Namespace, Node: t.Node, On: t.Outcome, Match: t.Match, Take: t.Take}
		at := slices.IndexFunc(s.Satisfied, func(got store.Satisfied) bool { return got.Place == t.Place })
		if at < 0 {
			open = append(open, termName(t, namespace))
			continue
		}
		got := s.Satisfied[at]
		when := utc(got.At)
		v.Terms[i].Satisfied, v.Terms[i].SatisfiedAt = true, &when
		if got.Run != 0 {
			v.Terms[i].Run = got.Run.String()
		}
	}
	need := len(terms)
	if anyOf {
		need = 1
	}
	v.Message = fmt.Sprintf("%d of %d", min(len(s.Satisfied), need), need)
	if s.State == store.SetWaiting && len(open) > 0 {
		joint := ", "
		if anyOf {
			joint = " or "
		}
		v.Message += ", waiting for " + strings.Join(open, joint)
	}
	return v
}

// termName is what a term is about, as seen from a namespace.
func termName(t store.NamedTerm, namespace string) string {
	name := t.Workflow
	if t.Namespace != namespace {
		name = t.Namespace + "/" + name
	}
	if t.Node != "" {
		name += "/" + t.Node
	}
	return name
}

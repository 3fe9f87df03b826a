package api

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// Workflow is a workflow as lists show it.
type Workflow struct {
	Workflow   string     `json:"workflow"`
	Version    int        `json:"version" doc:"The newest version, which new runs use."`
	Title      string     `json:"title,omitempty"`
	Owner      string     `json:"owner,omitempty"`
	Tags       []string   `json:"tags" nullable:"false"`
	MaxRuns    *int32     `json:"max_runs,omitempty" doc:"How many runs may run at once; absent for no limit."`
	MaxQueued  *int32     `json:"max_queued,omitempty"`
	Paused     *Pause     `json:"paused,omitempty" doc:"Present while schedules start nothing."`
	NextFireAt *time.Time `json:"next_fire_at,omitempty"`
	LastRun    *LastRun   `json:"last_run,omitempty"`
	CreatedAt  time.Time  `json:"created_at"`
	UpdatedAt  time.Time  `json:"updated_at"`
}

// Pause says since when, by whom and why a workflow is paused.
type Pause struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}

// LastRun is the newest run of a workflow.
type LastRun struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

// WorkflowDetail is one workflow with its newest definition and its schedules.
type WorkflowDetail struct {
	Workflow
	Definition Object     `json:"definition" doc:"The newest version, with every default written out."`
	Schedules  []Schedule `json:"schedules" nullable:"false"`
}

// Schedule is one automatic trigger that a workflow has now.
type Schedule struct {
	Name       string     `json:"name"`
	Spec       Object     `json:"spec"`
	NextFireAt *time.Time `json:"next_fire_at,omitempty" doc:"Absent when it is over."`
	CreatedAt  time.Time  `json:"created_at"`
}

type listWorkflowsInput struct {
	InNamespace
	PageInput
}

// ReasonBody says why something is done.
type ReasonBody struct {
	Reason string `json:"reason,omitempty" maxLength:"1000"`
}

func (r *ReasonBody) reason() string {
	if r == nil {
		return ""
	}
	return r.Reason
}

type reasonInput struct {
	OfWorkflow
	Body *ReasonBody
}

// ResumeBody says how a paused workflow goes on.
type ResumeBody struct {
	ReasonBody
	Catchup string `json:"catchup,omitempty" enum:"none,latest,all" doc:"What to make up of what was skipped in the pause: of each schedule the newest instant, or all up to its catchup_limit; nothing when left out."`
}

// ResumedWorkflow is a workflow that was resumed.
type ResumedWorkflow struct {
	WorkflowDetail
	Filled []Fire `json:"filled" nullable:"false" doc:"The runs that were made up."`
}

type resumeInput struct {
	OfWorkflow
	Body *ResumeBody
}

func (a *API) workflowRoutes() {
	handle(a, op(http.MethodGet, ns+"/workflows", "list-workflows", "workflows"), "List workflows, newest first", a.listWorkflows)
	handle(a, op(http.MethodGet, ns+"/workflows/{workflow}", "get-workflow", "workflows"), "Show one workflow", a.getWorkflow)
	handle(a, registerOperation(), "Register a definition; the same content gives the same version", a.register)
	handle(a, op(http.MethodPost, ns+"/workflows/{workflow}/pause", "pause-workflow", "workflows"),
		"Pause a workflow: its schedules start nothing", a.pause)
	handle(a, op(http.MethodPost, ns+"/workflows/{workflow}/resume", "resume-workflow", "workflows"),
		"Resume a paused workflow; nothing is made up unless asked for", a.resume)
	handle(a, triggerOperation(), "Start a run", a.trigger)
}

type workflowMark int64

func (a *API) listWorkflows(ctx context.Context, in *listWorkflowsInput) (*body[Page[Workflow]], error) {
	before, err := readCursor(in.Cursor, workflowMark(math.MaxInt64))
	if err != nil {
		return nil, err
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.Workflows(ctx, namespace, int64(before), in.Limit+1)
	if err != nil {
		return nil, err
	}
	return answerOf(paged(rows, in.Limit, workflowView, func(w store.WorkflowRow) workflowMark { return workflowMark(w.ID) }))
}

func (a *API) getWorkflow(ctx context.Context, in *OfWorkflow) (*body[WorkflowDetail], error) {
	return answerOf(a.workflowDetail(ctx, *in))
}

func (a *API) workflowDetail(ctx context.Context, in OfWorkflow) (WorkflowDetail, error) {
	w, err := a.workflow(ctx, in)
	if err != nil {
		return WorkflowDetail{}, err
	}
	version, err := a.Store.Version(ctx, w.ID, w.Version)
	if err != nil {
		return WorkflowDetail{}, err
	}
	schedules, err := a.Store.Schedules(ctx, w.ID)
	if err != nil {
		return WorkflowDetail{}, err
	}
	d := WorkflowDetail{Workflow: workflowView(w), Definition: version.Definition, Schedules: make([]Schedule, len(schedules))}
	for i, s := range schedules {
		d.Schedules[i] = Schedule{Name: s.Name, Spec: s.Spec, NextFireAt: utcOr(s.NextFireAt), CreatedAt: utc(s.CreatedAt)}
	}
	return d, nil
}

// workflow finds the workflow that a request is about.
func (a *API) workflow(ctx context.Context, in OfWorkflow) (store.WorkflowRow, error) {
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return store.WorkflowRow{}, err
	}
	return a.Store.Workflow(ctx, namespace, in.Workflow)
}

func (a *API) pause(ctx context.Context, in *reasonInput) (*body[WorkflowDetail], error) {
	w, err := a.workflow(ctx, in.OfWorkflow)
	if err != nil {
		return nil, err
	}
	if err := a.Store.Pause(ctx, w.ID, actor(ctx), in.Body.reason()); err != nil {
		return nil, err
	}
	return a.getWorkflow(ctx, &in.OfWorkflow)
}

func (a *API) resume(ctx context.Context, in *resumeInput) (*body[ResumedWorkflow], error) {
	w, err := a.workflow(ctx, in.OfWorkflow)
	if err != nil {
		return nil, err
	}
	r := planner.Resuming{Workflow: w.ID, Actor: actor(ctx), Launcher: a.Launcher}
	if in.Body != nil {
		r.Catchup = dag.Catchup(in.Body.Catchup)
	}
	got, err := planner.Resume(ctx, a.Store, r)
	if err != nil {
		return nil, err
	}
	out := ResumedWorkflow{Filled: make([]Fire, len(got.Filled))}
	if out.WorkflowDetail, err = a.workflowDetail(ctx, in.OfWorkflow); err != nil {
		return nil, err
	}
	names, err := a.scheduleNames(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	for i, f := range got.Filled {
		out.Filled[i] = Fire{Schedule: names[f.Schedule], ScheduledAt: utc(f.At), Count: 1, Kind: f.Kind, Result: string(f.Result), Reason: f.Reason, Run: f.Run.String()}
	}
	return &body[ResumedWorkflow]{out}, nil
}

func (a *API) scheduleNames(ctx context.Context, workflow int64) (map[int64]string, error) {
	rows, err := a.Store.Schedules(ctx, workflow)
	if err != nil {
		return nil, err
	}
	names := make(map[int64]string, len(rows))
	for _, r := range rows {
		names[r.ID] = r.Name
	}
	return names, nil
}

func workflowView(w store.WorkflowRow) Workflow {
	v := Workflow{
		Workflow: w.Code, Version: w.Version, Title: w.Title, Owner: w.Owner, Tags: w.Tags, MaxRuns: w.MaxRuns, MaxQueued: w.MaxQueued,
		NextFireAt: utcOr(w.NextFireAt), CreatedAt: utc(w.CreatedAt), UpdatedAt: utc(w.UpdatedAt),
	}
	v.Paused = pauseView(w)
	if w.LastRun != 0 {
		v.LastRun = &LastRun{ID: w.LastRun.String(), State: w.LastState}
	}
	return v
}

// pauseView says how a workflow is paused; nil for one that is not.
func pauseView(w store.WorkflowRow) *Pause {
	if w.PausedAt == nil {
		return nil
	}
	return &Pause{At: utc(*w.PausedAt), By: w.PausedBy, Reason: w.PauseReason}
}

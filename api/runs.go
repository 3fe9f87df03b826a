package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// Run is a run as lists show it.
type Run struct {
	ID                  string     `json:"id"`
	Workflow            string     `json:"workflow"`
	Version             int        `json:"version" doc:"The version that the run is pinned to."`
	State               string     `json:"state" enum:"queued,running,succeeded,failed,canceled,skipped"`
	Reason              string     `json:"reason,omitempty" doc:"Why it ended as it did."`
	Warnings            int        `json:"warnings" doc:"Failures that were tolerated."`
	Canceling           bool       `json:"canceling,omitempty" doc:"A cancel was accepted and the run has not ended yet."`
	CanceledBy          string     `json:"canceled_by,omitempty"`
	CancelReason        string     `json:"cancel_reason,omitempty" doc:"Why, in the words of who canceled it."`
	TimedOut            bool       `json:"timed_out,omitempty"`
	Generation          int        `json:"generation"`
	Priority            int        `json:"priority"`
	Trigger             string     `json:"trigger" doc:"What started it: schedule, api …"`
	Actor               string     `json:"actor"`
	Schedule            string     `json:"schedule,omitempty"`
	ScheduledAt         time.Time  `json:"scheduled_at" doc:"The logical time."`
	Timezone            string     `json:"timezone,omitempty" doc:"The zone of its dates: that of its schedule, else the server's."`
	LogicalDate         string     `json:"logical_date" format:"date" doc:"The date of the logical time in the schedule's zone."`
	PreviousScheduledAt *time.Time `json:"previous_scheduled_at,omitempty"`
	Key                 string     `json:"key,omitempty" doc:"Runs of one key share the workflow's limit."`
	CreatedAt           time.Time  `json:"created_at"`
	StartedAt           *time.Time `json:"started_at,omitempty"`
	DeadlineAt          *time.Time `json:"deadline_at,omitempty"`
	FinishedAt          *time.Time `json:"finished_at,omitempty"`
	DurationMS          *int64     `json:"duration_ms,omitempty" doc:"From start to end; absent before the end."`
	RunAt               *time.Time `json:"run_at,omitempty" doc:"When it is to start: the run was asked for in advance, and has not begun."`
}

// RunDetail is one run.
type RunDetail struct {
	Run
	Params    Object     `json:"params" doc:"Every parameter of the workflow, with the value this run has."`
	BlockedBy *BlockedBy `json:"blocked_by,omitempty" doc:"What a queued or held run waits for."`
	ReplayOf  string     `json:"replay_of,omitempty" doc:"The run whose outputs it took over."`
	OnlyNodes []string   `json:"only_nodes,omitempty" nullable:"false" doc:"A test run: the nodes that run."`
	Backfill  string     `json:"backfill,omitempty" doc:"The backfill that made it."`
	HeldAt    *time.Time `json:"held_at,omitempty" doc:"Since when nothing new of it starts."`
}

type listRunsInput struct {
	InNamespace
	PageInput
	Workflow    string    `query:"workflow" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"`
	State       string    `query:"state" enum:"queued,running,succeeded,failed,canceled,skipped"`
	From        time.Time `query:"from" doc:"Created at this instant or later."`
	To          time.Time `query:"to" doc:"Created before this instant."`
	LogicalDate string    `query:"logical_date" format:"date"`
}

func (a *API) runRoutes() {
	handle(a, op(http.MethodGet, ns+"/runs", "list-runs", "runs"), "List runs, newest first", a.listRuns)
	handle(a, op(http.MethodGet, ns+"/runs/{run}", "get-run", "runs"), "Show one run", a.getRun)
	a.traceRoute()
	handle(a, op(http.MethodGet, ns+"/delayed-runs", "list-delayed-runs", "runs"), "List runs asked for in advance, newest first", a.listDelayed)
	cancel := op(http.MethodPost, ns+"/runs/{run}/cancel", "cancel-run", "runs")
	cancel.DefaultStatus = http.StatusAccepted
	handle(a, cancel, "Cancel a run; a second time, its finally nodes too", a.cancelRun)
}

type runMark store.RunID

func (a *API) listRuns(ctx context.Context, in *listRunsInput) (*body[Page[Run]], error) {
	before, err := readCursor(in.Cursor, runMark(0))
	if err != nil {
		return nil, err
	}
	q := store.RunQuery{State: progress.State(in.State), From: in.From, To: in.To, LogicalDate: in.LogicalDate,
		Before: store.RunID(before), Limit: in.Limit + 1}
	if in.LogicalDate != "" {
		if err := checkDate("query.logical_date", in.LogicalDate); err != nil {
			return nil, err
		}
	}
	if in.Workflow != "" {
		w, err := a.workflow(ctx, OfWorkflow{in.InNamespace, in.Workflow})
		if err != nil {
			return nil, err
		}
		q.Workflow = w.ID
	} else if q.Namespace, err = a.namespace(ctx, in.Namespace); err != nil {
		return nil, err
	}
	rows, err := a.Store.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	return answerOf(paged(rows, in.Limit, a.listedRun, func(r store.RunRow) runMark { return runMark(r.ID) }))
}

// checkDate refuses dates that the calendar, or the database, does not have.
func checkDate(location, date string) error {
	if t, err := time.Parse(time.DateOnly, date); err != nil || t.Year() < 1 {
		return invalid(location, "want a date such as 2026-11-30")
	}
	return nil
}

func (a *API) getRun(ctx context.Context, in *OfRun) (*body[RunDetail], error) {
	run, err := a.run(ctx, *in)
	if errors.Is(err, store.ErrNotFound) {
		return a.getDelayed(ctx, *in, err)
	}
	if err != nil {
		return nil, err
	}
	return answerOf(a.runDetail(ctx, run))
}

// run finds the run that a request is about.
func (a *API) run(ctx context.Context, in OfRun) (store.RunRow, error) {
	id, err := store.ParseRunID(in.Run)
	if err != nil {
		return store.RunRow{}, err
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return store.RunRow{}, err
	}
	return a.Store.Run(ctx, namespace, id)
}

// maxHolders is how many runs are named that hold what another waits for.
const maxHolders = 10

func (a *API) runDetail(ctx context.Context, run store.RunRow) (RunDetail, error) {
	more, err := a.Store.RunDetail(ctx, run.ID)
	if err != nil {
		return RunDetail{}, err
	}
	d := RunDetail{Run: runView(run), Params: more.Params, OnlyNodes: more.OnlyNodes, HeldAt: utcOr(more.HeldAt)}
	if more.ReplayOf != 0 {
		d.ReplayOf = more.ReplayOf.String()
	}
	if more.Backfill != 0 {
		d.Backfill = more.Backfill.String()
	}
	d.Canceling = !run.State.Terminal() && (run.Canceling || more.CancelAsked)
	if d.Timezone = a.zoneOf(run); run.State == progress.Queued && more.Limited {
		holders, err := a.Store.Holders(ctx, run.WorkflowID, run.Key, maxHolders)
		if err != nil {
			return d, err
		}
		d.BlockedBy = blockedRun(run, more.MaxRuns, holders)
	}
	if d.HeldAt != nil && !run.State.Terminal() {
		d.BlockedBy = &BlockedBy{Reason: Paused, Since: d.HeldAt, Message: "the run is held: what runs goes on, and nothing new starts"}
	}
	return d, nil
}

// ended is a terminal state as a verb.
func ended(s progress.State) string {
	switch s {
	case progress.Canceled, progress.Skipped:
		return "was " + string(s)
	}
	return string(s)
}

func runView(r store.RunRow) Run {
	return Run{
		ID: r.ID.String(), Workflow: r.Workflow, Version: r.Version, State: string(r.State), Reason: r.Reason, Warnings: r.Warnings,
		Canceling: r.Canceling && !r.State.Terminal(), TimedOut: r.TimedOut, Generation: r.Generation, Priority: r.Priority, Trigger: r.Trigger, Actor: r.Actor,
		Schedule: r.Schedule, ScheduledAt: utc(r.ScheduledAt), LogicalDate: r.LogicalDate, PreviousScheduledAt: utcOr(r.PreviousScheduledAt),
		Key: r.Key, CreatedAt: utc(r.CreatedAt), StartedAt: utcOr(r.StartedAt), DeadlineAt: utcOr(r.DeadlineAt), FinishedAt: utcOr(r.FinishedAt),
		DurationMS: millis(r.StartedAt, r.FinishedAt), CanceledBy: r.CanceledBy, CancelReason: r.CancelReason,
	}
}

// zoneOf is the zone of a run's dates.
func (a *API) zoneOf(run store.RunRow) string { return cmp.Or(run.Timezone, a.DefaultTimezone) }

func (a *API) listedRun(r store.RunRow) Run {
	v := runView(r)
	v.Timezone = a.zoneOf(r)
	return v
}

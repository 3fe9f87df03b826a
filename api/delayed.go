package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// DelayedRun is a run that was asked for in advance (S4).
type DelayedRun struct {
	ID          string     `json:"id" doc:"What the request was answered with; a run of its own once it has started."`
	Workflow    string     `json:"workflow"`
	Version     int        `json:"version" doc:"The one asked for, else the newest by now; a run has the newest when it starts."`
	State       string     `json:"state" enum:"waiting,started,canceled,failed"`
	RunAt       time.Time  `json:"run_at"`
	ScheduledAt time.Time  `json:"scheduled_at" doc:"The logical time."`
	LogicalDate string     `json:"logical_date" format:"date"`
	Actor       string     `json:"actor"`
	CreatedAt   time.Time  `json:"created_at"`
	Run         string     `json:"run,omitempty" doc:"The run that it became."`
	Reason      string     `json:"reason,omitempty" doc:"Why it was canceled, could not start, or still waits."`
	EndedBy     string     `json:"ended_by,omitempty"`
	EndedAt     *time.Time `json:"ended_at,omitempty"`
	Params      Object     `json:"params"`
}

type listDelayedInput struct {
	InNamespace
	PageInput
	Workflow string `query:"workflow" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"`
	State    string `query:"state" enum:"waiting,started,canceled,failed"`
}

type delayedMark store.RunID

func (a *API) listDelayed(ctx context.Context, in *listDelayedInput) (*body[Page[DelayedRun]], error) {
	before, err := readCursor(in.Cursor, delayedMark(math.MaxInt64))
	if err != nil {
		return nil, err
	}
	q := store.DelayedQuery{State: store.DelayedState(in.State), Before: store.RunID(before), Limit: in.Limit + 1}
	if q.Namespace, err = a.namespace(ctx, in.Namespace); err != nil {
		return nil, err
	}
	if in.Workflow != "" {
		w, err := a.workflow(ctx, OfWorkflow{in.InNamespace, in.Workflow})
		if err != nil {
			return nil, err
		}
		q.Workflow = w.ID
	}
	rows, err := a.Store.DelayedRuns(ctx, q)
	if err != nil {
		return nil, err
	}
	return answerOf(paged(rows, in.Limit, delayedView, func(r store.DelayedRow) delayedMark { return delayedMark(r.ID) }))
}

func delayedView(r store.DelayedRow) DelayedRun {
	v := DelayedRun{
		ID: r.ID.String(), Workflow: r.Workflow, Version: r.Version, State: string(r.State), RunAt: utc(r.RunAt), ScheduledAt: utc(r.ScheduledAt),
		LogicalDate: r.LogicalDate, Actor: r.Actor, CreatedAt: utc(r.CreatedAt), Reason: r.Reason, EndedBy: r.EndedBy, EndedAt: utcOr(r.EndedAt), Params: r.Params,
	}
	if r.Run != 0 {
		v.Run = r.Run.String()
	}
	return v
}

// delay keeps a run for later, once its parameters are known to fit.
func (a *API) delay(ctx context.Context, in *triggerInput, w store.WorkflowRow, t store.Trigger) (*triggerOutput, error) {
	graph, err := a.graphs.of(ctx, t.Version)
	if err != nil {
		return nil, err
	}
	if t.Params, err = graph.Definition().ResolveParams(t.Params); err != nil {
		return nil, err
	}
	given := in.Body.Params
	if given == nil {
		given = Object("{}")
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	var named int64
	if t.Named {
		named = t.Version
	}
	var ids []store.RunID
	err = a.Store.InTx(ctx, func(tx pgx.Tx) error {
		ids, err = a.Store.AddDelayed(ctx, tx, []store.DelayedRun{{
			Namespace: namespace, Workflow: w.ID, Version: named, Params: given, RunAt: *in.Body.RunAt, ScheduledAt: t.ScheduledAt, LogicalDate: t.LogicalDate, Actor: t.Actor,
		}})
		if err != nil {
			return err
		}
		return a.noteKey(ctx, tx, http.StatusAccepted, runPath(in.Namespace, ids[0].String()))
	})
	if err != nil {
		return nil, err
	}
	row, err := a.Store.DelayedRun(ctx, namespace, ids[0])
	if err != nil {
		return nil, err
	}
	return triggered(in, http.StatusAccepted, delayedDetail(row)), nil
}

// getDelayed shows a delayed run as the run that it will be, or the run that it has become; missing is the answer for neither.
func (a *API) getDelayed(ctx context.Context, in OfRun, missing error) (*body[RunDetail], error) {
	row, err := a.delayedRun(ctx, in)
	if errors.Is(err, store.ErrNotFound) {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	if row.Run != 0 {
		in.Run = row.Run.String()
		run, err := a.run(ctx, in)
		if err != nil {
			return nil, err
		}
		return answerOf(a.runDetail(ctx, run))
	}
	return answerOf(delayedDetail(row), nil)
}

func (a *API) delayedRun(ctx context.Context, in OfRun) (store.DelayedRow, error) {
	id, err := store.ParseRunID(in.Run)
	if err != nil {
		return store.DelayedRow{}, err
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return store.DelayedRow{}, err
	}
	return a.Store.DelayedRun(ctx, namespace, id)
}

// started finds the run that is to be changed, also by the id of the delayed run that it was; one that waits for its time cannot be.
func (a *API) started(ctx context.Context, in OfRun) (store.RunRow, error) {
	run, missing := a.run(ctx, in)
	if !errors.Is(missing, store.ErrNotFound) {
		return run, missing
	}
	row, err := a.delayedRun(ctx, in)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return run, missing
	case err != nil:
		return run, err
	case row.Run != 0:
		return a.run(ctx, OfRun{in.InNamespace, row.Run.String()})
	case row.State == store.DelayedWaiting:
		return run, conflict("run %s has not started: it is due at %s, and can only be canceled", row.ID, utc(row.RunAt).Format(time.RFC3339))
	}
	return run, conflict("run %s never started: it is %s", row.ID, row.State)
}

// cancelDelayed cancels what waits to start, or the run that it has become.
func (a *API) cancelDelayed(ctx context.Context, in *cancelInput, missing error) (*body[RunDetail], error) {
	row, err := a.delayedRun(ctx, in.OfRun)
	if errors.Is(err, store.ErrNotFound) {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	if row.State == store.DelayedWaiting {
		canceled, err := a.Store.CancelDelayed(ctx, row.ID, actor(ctx), in.Body.reason())
		if err != nil {
			return nil, err
		}
		if canceled {
			return a.getDelayed(ctx, in.OfRun, missing)
		}
		if row, err = a.delayedRun(ctx, in.OfRun); err != nil {
			return nil, err
		}
	}
	if row.Run == 0 {
		return nil, conflict("delayed run %s is over already: %s", row.ID, row.State)
	}
	return a.cancel(ctx, &cancelInput{OfRun: OfRun{in.InNamespace, row.Run.String()}, Body: in.Body})
}

// delayedDetail shows a delayed run as a run that waits for its time, or that never came to be.
func delayedDetail(r store.DelayedRow) RunDetail {
	at := utc(r.RunAt)
	d := RunDetail{Params: r.Params, Run: Run{
		ID: r.ID.String(), Workflow: r.Workflow, Version: r.Version, State: string(progress.Queued), Reason: r.Reason, Generation: 1, Priority: r.Priority, Trigger: "api",
		Actor: r.Actor, ScheduledAt: utc(r.ScheduledAt), LogicalDate: r.LogicalDate, CreatedAt: utc(r.CreatedAt), FinishedAt: utcOr(r.EndedAt), RunAt: &at,
	}}
	switch {
	case r.State == store.DelayedCanceled:
		d.State = string(progress.Canceled)
	case r.State == store.DelayedFailed:
		d.State = string(progress.Failed)
	default:
		d.BlockedBy = blockedDelayed(r)
	}
	return d
}

func blockedDelayed(r store.DelayedRow) *BlockedBy {
	created, at := utc(r.CreatedAt), utc(r.RunAt)
	switch {
	case r.Paused:
		return &BlockedBy{Reason: Paused, Since: &created, Message: r.Workflow + " is paused; the run starts when it is resumed, and not before its time"}
	case r.Reason != "":
		return &BlockedBy{Reason: QueuedMaxActive, Since: &at, Message: "too many runs of " + r.Workflow + " wait already; it is tried again"}
	}
	return &BlockedBy{Reason: NotYetDue, Since: &created, Until: &at, Message: "it was asked for in advance and is not due yet"}
}

package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// Backfill makes the runs of a stretch of the past (S32).
type Backfill struct {
	ID           string     `json:"id"`
	Workflow     string     `json:"workflow"`
	Schedules    []string   `json:"schedules" nullable:"false"`
	From         string     `json:"from" doc:"As it was asked for."`
	To           string     `json:"to,omitempty" doc:"As it was asked for; absent for the time of the request."`
	Reprocess    string     `json:"reprocess" enum:"missing,failed,all"`
	Order        string     `json:"order" enum:"oldest,newest"`
	MaxRuns      int        `json:"max_runs" doc:"How many of its runs may be active at once."`
	Version      *int       `json:"version,omitempty" doc:"The version that was asked for; absent for the newest when each run is made."`
	Params       Object     `json:"params" doc:"Values that its runs have instead of the schedule's."`
	Cascade      bool       `json:"cascade" doc:"Its runs count for the workflows that wait for them."`
	State        string     `json:"state" enum:"running,paused,completed,completed_with_failures,canceled"`
	Actor        string     `json:"actor"`
	Reason       string     `json:"reason,omitempty" doc:"Why it was made, in the words of who made it."`
	ChangedBy    string     `json:"changed_by,omitempty" doc:"Who paused, resumed, retried or canceled it last."`
	ChangeReason string     `json:"change_reason,omitempty"`
	Problem      string     `json:"problem,omitempty" doc:"Why it cannot go on for now; it is tried again every minute."`
	Progress     Progress   `json:"progress"`
	CreatedAt    time.Time  `json:"created_at"`
	EndedAt      *time.Time `json:"ended_at,omitempty"`
}

// Progress counts a backfill's instants.
type Progress struct {
	Total     int `json:"total"`
	Passed    int `json:"passed" doc:"Nothing was to be made: they have a run, or the schedule's calendars exclude them."`
	Waiting   int `json:"waiting" doc:"There was no place for their run yet."`
	Active    int `json:"active"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed" doc:"Their run ended without success, or could not be made."`
	Left      int `json:"left" doc:"Not looked at yet."`
}

// BackfillSlot is an instant for which a backfill has made something.
type BackfillSlot struct {
	Schedule    string    `json:"schedule"`
	ScheduledAt time.Time `json:"scheduled_at"`
	State       string    `json:"state" enum:"waiting,active,succeeded,failed"`
	Reason      string    `json:"reason,omitempty" doc:"How its run ended, or why there is none."`
	Run         string    `json:"run,omitempty" doc:"Its newest run."`
	Round       int       `json:"round" doc:"How often it was taken up."`
}

// OfBackfill is the path of one backfill.
type OfBackfill struct {
	InNamespace
	Backfill string `path:"backfill" maxLength:"40"`
}

type listBackfillsInput struct {
	InNamespace
	PageInput
	Workflow string `query:"workflow" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"`
	State    string `query:"state" enum:"running,paused,completed,completed_with_failures,canceled"`
}

type listSlotsInput struct {
	OfBackfill
	PageInput
	State string `query:"state" enum:"waiting,active,succeeded,failed"`
}

type backfillMark store.RunID

func (a *API) backfillRoutes() {
	one := ns + "/backfills/{backfill}"
	handle(a, op(http.MethodGet, ns+"/backfills", "list-backfills", "backfills"), "List backfills, newest first", a.listBackfills)
	create := op(http.MethodPost, ns+"/backfills", "create-backfill", "backfills")
	create.DefaultStatus = http.StatusCreated
	handle(a, create, "Make the runs that a stretch of the past lacks, or make them anew", a.createBackfill)
	handle(a, op(http.MethodGet, one, "get-backfill", "backfills"), "Show a backfill and how far it is", a.getBackfill)
	handle(a, op(http.MethodGet, one+"/slots", "list-backfill-slots", "backfills"), "List the instants for which a backfill has made something, newest first", a.listBackfillSlots)
	handle(a, op(http.MethodPost, one+"/pause", "pause-backfill", "backfills"), "Let a backfill make no more runs for now", a.pauseBackfill)
	handle(a, op(http.MethodPost, one+"/resume", "resume-backfill", "backfills"), "Let a paused backfill go on", a.resumeBackfill)
	handle(a, op(http.MethodPost, one+"/cancel", "cancel-backfill", "backfills"), "End a backfill, and cancel its runs that go on", a.cancelBackfill)
	handle(a, op(http.MethodPost, one+"/retry_failed", "retry-backfill", "backfills"), "Try again what has failed of a backfill", a.retryBackfill)
}

func (a *API) listBackfills(ctx context.Context, in *listBackfillsInput) (*body[Page[Backfill]], error) {
	before, err := readCursor(in.Cursor, backfillMark(math.MaxInt64))
	if err != nil {
		return nil, err
	}
	q := store.BackfillQuery{State: store.BackfillState(in.State), Before: store.RunID(before), Limit: in.Limit + 1}
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
	rows, err := a.Store.Backfills(ctx, q)
	if err != nil {
		return nil, err
	}
	return answerOf(paged(rows, in.Limit, backfillView, func(b store.Backfill) backfillMark { return backfillMark(b.ID) }))
}

func (a *API) getBackfill(ctx context.Context, in *OfBackfill) (*body[Backfill], error) {
	b, err := a.backfill(ctx, *in)
	return answerOf(backfillView(b), err)
}

// backfill finds the backfill that a request is about.
func (a *API) backfill(ctx context.Context, in OfBackfill) (store.Backfill, error) {
	id, err := store.ParseRunID(in.Backfill)
	if err != nil {
		return store.Backfill{}, notFound("there is no backfill %.40q", in.Backfill)
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return store.Backfill{}, err
	}
	b, err := a.Store.Backfill(ctx, namespace, id)
	if errors.Is(err, store.ErrNotFound) {
		return b, notFound("there is no backfill %s", id)
	}
	return b, err
}

func (a *API) listBackfillSlots(ctx context.Context, in *listSlotsInput) (*body[Page[BackfillSlot]], error) {
	b, err := a.backfill(ctx, in.OfBackfill)
	if err != nil {
		return nil, err
	}
	before, err := readCursor(in.Cursor, store.SlotMark{At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.BackfillSlots(ctx, store.SlotQuery{Backfill: b.ID, State: store.SlotState(in.State), Before: before, Limit: in.Limit + 1})
	if err != nil {
		return nil, err
	}
	view := func(s store.BackfillSlot) BackfillSlot { return slotView(&b, s) }
	return answerOf(paged(rows, in.Limit, view, func(s store.BackfillSlot) store.SlotMark { return store.SlotMark{At: s.At, Schedule: s.Schedule} }))
}

func slotView(b *store.Backfill, s store.BackfillSlot) BackfillSlot {
	v := BackfillSlot{ScheduledAt: utc(s.At), State: string(s.State), Reason: s.Reason, Round: s.Round}
	for _, l := range b.Lines {
		if l.Schedule == s.Schedule {
			v.Schedule = l.Name
		}
	}
	if s.Run != 0 {
		v.Run = s.Run.String()
	}
	return v
}

const orderOldest, orderNewest = "oldest", "newest"

func backfillView(b store.Backfill) Backfill {
	c := b.Counts
	v := Backfill{
		ID: b.ID.String(), Workflow: b.Code, Schedules: make([]string, len(b.Lines)), From: b.From, To: b.To, Reprocess: b.Reprocess, Order: orderOldest,
		MaxRuns: b.MaxRuns, Params: b.Params, Cascade: b.Cascade, State: string(b.State), Actor: b.Actor, Reason: b.Note,
		ChangedBy: b.ChangedBy, ChangeReason: b.ChangeNote, Problem: b.Problem, CreatedAt: utc(b.CreatedAt), EndedAt: utcOr(b.EndedAt),
		Progress: Progress{
			Total: c.Total, Passed: c.Passed, Waiting: c.Waiting, Active: c.Active, Succeeded: c.Succeeded, Failed: c.Failed,
			Left: c.Total - c.Passed - c.Waiting - c.Active - c.Succeeded - c.Failed,
		},
	}
	for i, l := range b.Lines {
		v.Schedules[i] = l.Name
	}
	if b.NewestFirst {
		v.Order = orderNewest
	}
	if b.Number != 0 {
		v.Version = &b.Number
	}
	return v
}

package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/cron"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// inquiry reads the facts of an answer.
type inquiry struct {
	whyFacts
	api       *API
	namespace string
	lines     []whyLine
}

// aboutWorkflow reads what every answer needs of the workflow.
func (q *inquiry) aboutWorkflow(ctx context.Context, code string) error {
	namespace, err := q.api.namespace(ctx, q.namespace)
	if err != nil {
		return err
	}
	if q.workflow, err = q.api.Store.Workflow(ctx, namespace, code); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return q.unknownWorkflow(ctx, namespace, code)
		}
		return err
	}
	histories, err := q.api.Store.ScheduleHistories(ctx, q.workflow.ID)
	if err != nil {
		return err
	}
	calendars, err := q.api.Store.CalendarsNamed(ctx, namespace, planner.CalendarsIn(histories))
	if err != nil {
		return err
	}
	for _, h := range histories {
		q.lines = append(q.lines, whyLine{id: h.ID, name: h.Name, next: h.NextFireAt, past: planner.NewPast(h.Specs, q.workflow.ID, calendars)})
	}
	current, err := q.api.Store.Schedules(ctx, q.workflow.ID)
	if err != nil {
		return err
	}
	q.clock.zone, err = zoneOf(current, q.api.DefaultTimezone)
	return err
}

// unknownWorkflow names the workflow that was probably meant.
func (q *inquiry) unknownWorkflow(ctx context.Context, namespace int64, code string) error {
	codes, err := q.api.Store.WorkflowCodes(ctx, namespace)
	if err != nil {
		return err
	}
	hint := "`ax workflows` lists those that there are"
	if near := dag.Nearest(code, codes); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	p := notFound("there is no workflow %s here: %s", code, hint)
	return p.with(ProblemDetail{Location: "query.workflow", Message: "unknown workflow", Value: code, Code: "not_found", Hint: hint})
}

// aboutMoment reads the facts about a workflow and a time.
func (q *inquiry) aboutMoment(ctx context.Context, code, text string) error {
	if err := q.aboutWorkflow(ctx, code); err != nil {
		return err
	}
	if text == "" {
		return q.aboutNewest(ctx)
	}
	var err error
	if q.moment, err = readMoment(text, q.now.In(q.clock.zone)); err != nil {
		return invalid("query.at", "%s", err)
	}
	if err := q.lookAtLines(ctx); err != nil {
		return err
	}
	return q.follow(ctx)
}

// aboutNewest is about the workflow's newest fire; where it has none, about its newest run.
func (q *inquiry) aboutNewest(ctx context.Context) error {
	at, err := q.api.Store.NewestFire(ctx, q.workflow.ID)
	if err != nil {
		return err
	}
	if at == nil && q.workflow.LastRun != 0 {
		return q.aboutRun(ctx, q.workflow.LastRun.String())
	}
	q.moment = planner.Moment{Exact: q.now.Truncate(time.Minute), Within: time.Minute}
	if at != nil {
		q.moment = planner.Moment{Exact: *at, Within: time.Microsecond}
	}
	if err := q.lookAtLines(ctx); err != nil {
		return err
	}
	return q.follow(ctx)
}

// lookAtLines asks every schedule how it stood to the moment, and chooses the one that has most to say.
func (q *inquiry) lookAtLines(ctx context.Context) error {
	at, _ := q.moment.In(q.clock.zone)
	for i := range q.lines {
		l := &q.lines[i]
		if l.outlook = l.past.Outlook(q.moment); l.outlook.Standing == planner.AfterRun {
			if err := q.findDelay(ctx, l); err != nil {
				return err
			}
		}
		if q.line == nil || better(l, q.line) {
			q.line = l
		}
	}
	q.clock.base, q.asked = at[0], &at[0]
	if q.line == nil {
		return nil
	}
	q.clock.zone = q.line.outlook.At.Location()
	if q.line.fires() {
		q.clock.base = q.line.outlook.At
		for i := range q.lines {
			if o := &q.lines[i].outlook; &q.lines[i] != q.line && o.Standing == planner.Expected && o.At.Equal(q.line.outlook.At) {
				q.others++
			}
		}
	} else {
		here, _ := q.moment.In(q.clock.zone)
		q.clock.base, q.asked = here[0], &here[0]
	}
	if !q.moment.Exact.IsZero() {
		q.asked = &q.moment.Exact
	}
	return nil
}

// telling is how much a standing has to say: the least comes first.
var standingOrder = map[planner.Standing]int{
	planner.Expected: 0, planner.OffCalendar: 1, planner.InGap: 2, planner.OtherPass: 2, planner.BeforeStart: 3, planner.AfterEnd: 3,
	planner.Unregistered: 4, planner.Removed: 4, planner.Edited: 4, planner.Unreadable: 5, planner.AfterRun: 6, planner.Unplanned: 7,
}

// better reports whether a schedule has more to say of the moment than another, whose name comes before.
func better(a, b *whyLine) bool {
	x, y := &a.outlook, &b.outlook
	order := cmp.Compare(standingOrder[x.Standing], standingOrder[y.Standing])
	if order == 0 && x.Standing == planner.Expected {
		order = x.At.Compare(y.At)
	}
	if order == 0 && x.Gone != y.Gone {
		return y.Gone
	}
	return order < 0
}

// findDelay finds the instants of a fixed delay in the ledger.
func (q *inquiry) findDelay(ctx context.Context, l *whyLine) error {
	o := &l.outlook
	beside, err := q.api.Store.FiresBeside(ctx, l.id, o.At)
	if err != nil {
		return err
	}
	if l.next != nil {
		beside = append(beside, *l.next)
	}
	at := o.At
	for _, t := range beside {
		here := t.In(at.Location())
		switch {
		case t.Before(at):
			o.Before = &here
		case o.Standing == planner.AfterRun && t.Before(at.Add(q.moment.Within)):
			o.Standing, o.At, o.Due = planner.Expected, here, here
		case o.After == nil:
			o.After = &here
		}
	}
	return nil
}

// follow reads what became of the moment: in the ledger of the schedule, else of what else may have started a run then.
func (q *inquiry) follow(ctx context.Context) error {
	if q.line != nil {
		// Also an instant that it did not have then may have been made up.
		if err := q.followSlot(ctx); err != nil || q.line.fires() || q.slot.Fill != nil {
			return err
		}
		q.slot, q.run = store.Slot{}, nil
	}
	for _, look := range []func(context.Context) error{q.lookAtUpstream, q.lookAtDelayed, q.lookAtRuns} {
		if err := look(ctx); err != nil {
			return err
		}
		if q.run != nil || q.upstream != nil && q.upstream.set != nil {
			q.line = nil
			return nil
		}
	}
	if q.upstream != nil && q.line != nil {
		q.upstream = nil // nothing came of it, and a schedule has something to say
	}
	return nil
}

// followSlot reads the ledger of the schedule's instant, and its run.
func (q *inquiry) followSlot(ctx context.Context) error {
	var err error
	if q.slot, err = q.api.Store.SlotAt(ctx, q.line.id, q.line.outlook.At); err != nil {
		return err
	}
	row, run := q.slot.Fire, store.RunID(0)
	switch {
	case q.slot.Fill != nil:
		run = q.slot.Fill.Run
	case row == nil:
	case row.Result == string(store.Coalesced) && q.slot.Into != nil:
		run = q.slot.Into.Run
	default:
		run = row.Run
	}
	if row != nil && row.Reason == store.SkipOverlap {
		if q.active, err = q.api.Store.RunsActiveAt(ctx, q.workflow.ID, row.CreatedAt, maxHolders); err != nil {
			return err
		}
	}
	if run == 0 {
		return nil
	}
	if err := q.readRun(ctx, run); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil // it is not kept any more
}

// lookAtDelayed looks for a run that was asked for in advance for the moment.
func (q *inquiry) lookAtDelayed(ctx context.Context) error {
	id, err := q.api.Store.DelayedAbout(ctx, q.workflow.ID, q.clock.base, q.clock.base.Add(q.moment.Within))
	if err != nil || id == 0 {
		return err
	}
	return q.readRun(ctx, id)
}

// lookAtRuns looks for a run that somebody asked for at the moment.
func (q *inquiry) lookAtRuns(ctx context.Context) error {
	rows, err := q.api.Store.Runs(ctx, store.RunQuery{Workflow: q.workflow.ID, From: q.clock.base, To: q.clock.base.Add(q.moment.Within), Limit: 1})
	if err != nil || len(rows) == 0 {
		return err
	}
	return q.readRun(ctx, rows[0].ID)
}

// aboutRun reads the facts about a run, with the schedule and the fire that it came from.
func (q *inquiry) aboutRun(ctx context.Context, id string) error {
	detail, err := q.api.getRun(ctx, &OfRun{InNamespace{q.namespace}, id})
	if err != nil {
		return err
	}
	run := &detail.Body
	if q.workflow.ID == 0 {
		if err := q.aboutWorkflow(ctx, run.Workflow); err != nil {
			return err
		}
	}
	if zone, err := cron.LoadZone(run.Timezone); err == nil {
		q.clock.zone = zone
	}
	q.clock.base = run.ScheduledAt
	for i := range q.lines {
		l := &q.lines[i]
		if run.Schedule != "" && l.name == run.Schedule {
			q.line = l
			q.lookBack(run.ScheduledAt)
			if q.slot, err = q.api.Store.SlotAt(ctx, l.id, run.ScheduledAt); err != nil {
				return err
			}
		}
	}
	if run.Trigger == "upstream" {
		q.moment = planner.Moment{Exact: run.CreatedAt, Within: time.Microsecond}
		if err := q.lookAtUpstreamOf(ctx, run.LogicalDate); err != nil {
			return err
		}
		if q.upstream != nil && (q.upstream.set == nil || q.upstream.set.Run != run.ID) {
			q.upstream = nil
		}
	}
	return q.detail(ctx, run)
}

// lookBack is the outlook of the instant that a run was fired for: it was expected, whatever the spec is.
func (q *inquiry) lookBack(at time.Time) {
	o := q.line.past.Outlook(planner.Moment{Exact: at, Within: time.Microsecond})
	if o.Standing != planner.Expected {
		o.Standing, o.At, o.Due = planner.Expected, at.In(o.At.Location()), at
	}
	q.line.outlook, q.clock.zone, q.clock.base = o, o.At.Location(), o.At
}

// readRun reads a run and what matters of it.
func (q *inquiry) readRun(ctx context.Context, id store.RunID) error {
	got, err := q.api.getRun(ctx, &OfRun{InNamespace{q.namespace}, id.String()})
	if err != nil {
		return err
	}
	return q.detail(ctx, &got.Body)
}

// detail reads the nodes of a run that has begun, and the one that matters.
func (q *inquiry) detail(ctx context.Context, run *RunDetail) error {
	q.run = run
	if run.RunAt != nil || run.State == string(progress.Queued) || run.State == string(progress.Skipped) {
		return nil
	}
	return q.readNodes(ctx)
}

// aboutNode reads the facts about a node run.
func (q *inquiry) aboutNode(ctx context.Context, id string) error {
	n, err := q.api.nodeRun(ctx, q.namespace, id)
	if err != nil {
		return err
	}
	if _, _, err := q.api.nodeRunFacts(ctx, n, 0); err != nil {
		return err
	}
	q.forced = true
	if err := q.aboutRun(ctx, n.run.ID.String()); err != nil {
		return err
	}
	if q.nodes == nil {
		if err := q.readNodes(ctx); err != nil {
			return err
		}
	}
	return q.readNode(ctx, n.graph, id)
}

package planner

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// schedule makes a workflow's schedules those of the definition, by name, and returns what comes next.
func (r *registration) schedule(ctx context.Context, def *dag.Definition) ([]Upcoming, error) {
	old := make(map[string]store.Schedule, len(r.workflow.Schedules))
	for _, s := range r.workflow.Schedules {
		old[s.Name] = s
	}
	if err := r.readCalendars(ctx, def); err != nil {
		return nil, err
	}
	next := make([]Upcoming, 0, len(def.Schedules))
	changed := false
	for i, spec := range def.Schedules {
		row, err := r.put(ctx, spec, old[spec.Name])
		if err != nil {
			return nil, err
		}
		if !sameSpec(row, old[spec.Name]) {
			changed = true
			r.checkFires(i, spec, row)
		}
		delete(old, spec.Name)
		fires, err := r.timetable(spec, row.Anchor).Undecided(row.NextFireAt, r.workflow.Now, upcoming)
		if err != nil {
			return nil, err
		}
		next = append(next, Upcoming{Schedule: spec.Name, Fires: fires})
	}
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	for _, s := range old {
		if s.RemovedAt == nil {
			if err := r.remove(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	if !changed {
		return next, nil
	}
	return next, r.store.NotifySchedules(ctx, r.tx)
}

// checkFires refuses an expression that is over, such as one for a year that is past: Build, which has no clock, cannot know.
// What an end or an instant in the past says is meant so.
func (r *registration) checkFires(i int, spec dag.Schedule, row store.Schedule) {
	if row.NextFireAt != nil || spec.Cron == "" || spec.End != nil {
		return
	}
	r.problems = append(r.problems, dag.Problem{
		Path: fmt.Sprintf("schedules[%d].cron", i), Severity: dag.SeverityError, Code: dag.CodeNeverFires,
		Message: "the schedule never fires: its last instant is past", Hint: "remove it, or correct the expression", Value: spec.Cron,
	})
}

// put writes one schedule. Old is its row, or the zero value.
func (r *registration) put(ctx context.Context, spec dag.Schedule, old store.Schedule) (store.Schedule, error) {
	row := store.Schedule{ID: old.ID, Name: spec.Name}
	var err error
	if row.Spec, err = encodeSpec(spec); err != nil {
		return row, err
	}
	if sameSpec(row, old) {
		return old, nil
	}
	if err := r.aim(ctx, &row, spec, old); err != nil {
		return row, err
	}
	if old.ID == 0 {
		err = r.store.AddSchedule(ctx, r.tx, r.workflow.ID, &row)
	} else {
		err = r.store.SetSchedule(ctx, r.tx, row)
	}
	if err != nil {
		return row, err
	}
	return row, r.store.AddScheduleSpec(ctx, r.tx, row, r.workflow.Now)
}

// sameSpec reports whether a schedule is there already exactly as it should be.
func sameSpec(row, old store.Schedule) bool {
	return old.ID != 0 && old.RemovedAt == nil && bytes.Equal(row.Spec, old.Spec)
}

// aim sets where a new or changed schedule counts from and when it fires next. While its instants stay the same it goes on
// as it was, so that an edit of its params loses no fire; otherwise it starts anew from now, and what it owed is recorded.
func (r *registration) aim(ctx context.Context, row *store.Schedule, spec dag.Schedule, old store.Schedule) error {
	var before *dag.Schedule
	if old.ID != 0 && old.RemovedAt == nil {
		// A row that cannot be read any more is as good as none.
		if was, err := decodeSpec(old.Spec); err == nil {
			before = &was
		}
	}
	row.Delay = time.Duration(spec.Delay)
	if before != nil && sameTiming(*before, spec) {
		row.Anchor, row.NextFireAt = old.Anchor, old.NextFireAt
		return nil
	}
	if err := r.settle(ctx, old); err != nil {
		return err
	}
	row.Anchor = anchorOf(spec, before, old.Anchor, r.workflow.Now)
	line, err := r.timetable(spec, row.Anchor).line()
	if err != nil {
		return err
	}
	if line.delay > 0 && old.ID != 0 {
		// While its last run goes on, the end of that says when it fires.
		if runs, err := r.store.StillRuns(ctx, r.tx, old.ID); err != nil || runs {
			return err
		}
	}
	if at, ok := line.next(r.workflow.Now); ok {
		row.NextFireAt = new(line.due(at))
	}
	return nil
}

// settle records what a schedule that is changed or removed still owed. Others may have waited for it.
func (r *registration) settle(ctx context.Context, old store.Schedule) error {
	row := r.row(old)
	owed, _ := settle(row, r.workflow.Now, store.SkipEdited)
	if err := r.store.WriteFires(ctx, r.tx, owed, nil); err != nil || old.ID == 0 || old.RemovedAt != nil {
		return err
	}
	return tellUnfired(ctx, r.store, r.tx, row, append(owed, store.Fire{Schedule: old.ID, At: r.workflow.Now, Count: 1}))
}

// remove ends a schedule that the definition does not have any more; its history stays.
func (r *registration) remove(ctx context.Context, s store.Schedule) error {
	if err := r.settle(ctx, s); err != nil {
		return err
	}
	s.NextFireAt, s.RemovedAt = nil, &r.workflow.Now
	if err := r.store.SetSchedule(ctx, r.tx, s); err != nil {
		return err
	}
	return r.store.AddScheduleSpec(ctx, r.tx, s, r.workflow.Now)
}

// timetable is one of the workflow's schedules.
func (r *registration) timetable(spec dag.Schedule, anchor time.Time) Timetable {
	return Timetable{Spec: spec, Anchor: anchor, Calendars: r.calendars, Workflow: r.workflow.ID}
}

func (r *registration) row(s store.Schedule) rowOf {
	return rowOf{Schedule: s, workflow: r.workflow.ID, calendars: r.calendars}
}

// rowOf is a schedule's row with what else its instants depend on.
type rowOf struct {
	store.Schedule
	workflow  int64
	calendars []store.Calendar
}

// settle are the ledger's rows for the instants up to now that a schedule owes and that will never be runs, and when it fires next
// after them. A spec that cannot be read owes nothing that could be told.
func settle(s rowOf, now time.Time, why string) (owed []store.Fire, next *time.Time) {
	if s.NextFireAt == nil {
		return nil, nil
	}
	spec, err := decodeSpec(s.Spec)
	if err != nil {
		return nil, s.NextFireAt
	}
	line, err := Timetable{Spec: spec, Anchor: s.Anchor, Calendars: s.calendars, Workflow: s.workflow}.line()
	if err != nil {
		return nil, s.NextFireAt
	}
	line.pin(*s.NextFireAt)
	first, until := line.instant(*s.NextFireAt), now
	if why == store.SkipPaused { // what has come and is not due yet is not owed yet
		until = line.come(now)
	}
	if first.After(until) {
		return nil, s.NextFireAt
	}
	d := decider{schedule: s.ID, times: line}
	d.skip(first.Add(-tick), until, store.Fire{Result: store.SkippedFire, Reason: why})
	d.setNext(until)
	if line.delay > 0 && len(d.Ledger) > 0 {
		d.Next = new(now.Add(line.delay))
	}
	return d.Ledger, d.Next
}

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// ChannelSchedules tells planners that a schedule may be due earlier than they know.
const ChannelSchedules = "ax_schedules"

// Schedule is a schedule's row. It is over, or removed, when NextFireAt is nil.
type Schedule struct {
	ID   int64
	Name string
	// Spec is the schedule as the stored version has it, in JSON.
	Spec []byte
	// Anchor is where an interval is counted from (S4).
	Anchor                time.Time
	NextFireAt, RemovedAt *time.Time
	// Delay is set for a fixed delay: the end of its last run sets NextFireAt (S4).
	Delay time.Duration
}

// LockSchedules locks a workflow's schedules, removed ones too, against whoever fires or changes them. It returns them, and
// the database's clock after the locks were taken: whatever was due before has been fired or is still owed.
func (s *Store) LockSchedules(ctx context.Context, tx pgx.Tx, workflow int64) ([]Schedule, time.Time, error) {
	q := db.New(tx)
	rows, err := q.LockSchedules(ctx, workflow)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("lock schedules: %w", err)
	}
	now, err := q.Clock(ctx)
	if err != nil {
		return nil, now, fmt.Errorf("read the clock: %w", err)
	}
	scheds, err := mapRows(rows, func(r db.LockSchedulesRow) (Schedule, error) {
		return Schedule{ID: r.ID, Name: r.Name, Spec: r.Spec, Anchor: r.Anchor, NextFireAt: r.NextFireAt, RemovedAt: r.RemovedAt}, nil
	})
	return scheds, now, err
}

// AllSchedules lists the schedules that a workflow has and has had, by name, without locking them.
func (s *Store) AllSchedules(ctx context.Context, tx pgx.Tx, workflow int64) ([]Schedule, error) {
	rows, err := db.New(tx).AllSchedules(ctx, workflow)
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	return mapRows(rows, func(r db.AllSchedulesRow) (Schedule, error) {
		return Schedule{ID: r.ID, Name: r.Name, Spec: r.Spec, Anchor: r.Anchor, NextFireAt: r.NextFireAt, RemovedAt: r.RemovedAt}, nil
	})
}

// StillRuns reports whether the run that a schedule fired last has not ended.
func (s *Store) StillRuns(ctx context.Context, tx pgx.Tx, sched int64) (bool, error) {
	runs, err := db.New(tx).RunOfSchedule(ctx, sched)
	if err != nil {
		return false, fmt.Errorf("look for the run of schedule %d: %w", sched, err)
	}
	return runs, nil
}

// MendDelays gives schedules of a fixed delay their next fire where the end of a run could not: the schedule became one while
// its run ended. It says how many there were.
func (s *Store) MendDelays(ctx context.Context) (int64, error) {
	n, err := db.New(s.pool).MendDelays(ctx)
	if err != nil {
		return 0, fmt.Errorf("mend schedules with a delay: %w", err)
	}
	return n, nil
}

// AddSchedule writes a workflow's new schedule; its ID is filled in.
func (s *Store) AddSchedule(ctx context.Context, tx pgx.Tx, workflow int64, sched *Schedule) error {
	id, err := db.New(tx).AddSchedule(ctx, db.AddScheduleParams{
		WorkflowID: workflow, Name: sched.Name, Spec: sched.Spec, Anchor: sched.Anchor, NextFireAt: sched.NextFireAt,
		DelayUs: orNull(sched.Delay.Microseconds()),
	})
	if err != nil {
		return fmt.Errorf("add schedule %q: %w", sched.Name, err)
	}
	sched.ID = id
	return nil
}

// SetSchedule writes all of a schedule that its caller has locked with LockWorkflow.
func (s *Store) SetSchedule(ctx context.Context, tx pgx.Tx, sched Schedule) error {
	err := db.New(tx).SetSchedule(ctx, db.SetScheduleParams{
		ID: sched.ID, Spec: sched.Spec, Anchor: sched.Anchor, NextFireAt: sched.NextFireAt, RemovedAt: sched.RemovedAt,
		DelayUs: orNull(sched.Delay.Microseconds()),
	})
	if err != nil {
		return fmt.Errorf("change schedule %q: %w", sched.Name, err)
	}
	return nil
}

// AddScheduleSpec records which spec a schedule has from an instant on; a schedule that is removed has none (S32).
func (s *Store) AddScheduleSpec(ctx context.Context, tx pgx.Tx, sched Schedule, from time.Time) error {
	p := db.AddScheduleSpecParams{ScheduleID: sched.ID, ValidFrom: from}
	if sched.RemovedAt == nil {
		p.Spec, p.Anchor = sched.Spec, &sched.Anchor
	}
	if err := db.New(tx).AddScheduleSpec(ctx, p); err != nil {
		return fmt.Errorf("record the spec of schedule %d: %w", sched.ID, err)
	}
	return nil
}

// NotifySchedules tells all planners, at the commit, that there may be an earlier instant to wake at.
func (s *Store) NotifySchedules(ctx context.Context, tx pgx.Tx) error {
	if err := db.New(tx).NotifySchedules(ctx, ChannelSchedules); err != nil {
		return fmt.Errorf("notify planners: %w", err)
	}
	return nil
}

// Resumed is a workflow whose pause was ended.
type Resumed struct {
	PausedAt           time.Time
	Namespace, Version int64
}

// ClearPaused lets a workflow start by itself again; false says that it was not paused (S33). The caller has locked its
// schedules, and says what becomes of what they owe.
func (s *Store) ClearPaused(ctx context.Context, tx pgx.Tx, workflow int64) (Resumed, bool, error) {
	r, err := db.New(tx).ClearPaused(ctx, workflow)
	if errors.Is(err, pgx.ErrNoRows) {
		return Resumed{}, false, nil
	}
	if err != nil {
		return Resumed{}, false, fmt.Errorf("clear the pause: %w", err)
	}
	return Resumed{PausedAt: r.PausedAt, Namespace: r.NamespaceID, Version: r.VersionID}, true, nil
}

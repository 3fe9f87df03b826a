package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// ScheduleHistory is a schedule that a workflow has or had, with the specs that it has had, oldest first; one at least.
type ScheduleHistory struct {
	ID   int64
	Name string
	// NextFireAt is nil when it is over or removed, and while the run of a fixed delay goes on.
	NextFireAt *time.Time
	Specs      []SpecRow
}

// ScheduleHistories lists the schedules that a workflow has had, by name.
func (s *Store) ScheduleHistories(ctx context.Context, workflow int64) ([]ScheduleHistory, error) {
	rows, err := db.New(s.pool).SpecsOfWorkflow(ctx, workflow)
	if err != nil {
		return nil, fmt.Errorf("read the history of schedules: %w", err)
	}
	var all []ScheduleHistory
	for _, r := range rows {
		if n := len(all); n == 0 || all[n-1].ID != r.ID {
			all = append(all, ScheduleHistory{ID: r.ID, Name: r.Name, NextFireAt: r.NextFireAt})
		}
		spec := SpecRow{From: r.ValidFrom, Spec: r.Spec}
		if r.Anchor != nil {
			spec.Anchor = *r.Anchor
		}
		last := &all[len(all)-1]
		last.Specs = append(last.Specs, spec)
	}
	return all, nil
}

// Slot is what the ledger has of one instant of a schedule; its rows are nil where there is none.
type Slot struct {
	// Fire is the row of the instant, or of the stretch that it is in; Fill is the run that was made up for it (S9).
	Fire, Fill *FireRow
	// Into is the next fire that became a run: the one that a coalesced instant is represented by.
	Into *FireRow
	// PrunedUntil is up to where the schedule's ledger is not kept any more, where it has nothing of the instant; nil while all of it is.
	PrunedUntil *time.Time
}

// SlotAt reads what the ledger has of an instant of a schedule.
func (s *Store) SlotAt(ctx context.Context, sched int64, at time.Time) (Slot, error) {
	var slot Slot
	rows, err := db.New(s.pool).FiresAbout(ctx, db.FiresAboutParams{ScheduleID: sched, At: at})
	if err != nil {
		return slot, fmt.Errorf("read the ledger: %w", err)
	}
	for _, r := range rows {
		row := &FireRow{ScheduleID: sched, ScheduledAt: r.ScheduledAt, Kind: r.Kind, Result: r.Result, Reason: text(r.Reason),
			UntilAt: r.UntilAt, Count: int(r.Count), CreatedAt: r.CreatedAt}
		if r.RunID != nil {
			row.Run = RunID(*r.RunID)
		}
		switch {
		case r.Role == "fire" && (row.ScheduledAt.Equal(at) || row.UntilAt != nil && !row.UntilAt.Before(at)):
			slot.Fire = row
		case r.Role == "fill":
			slot.Fill = row
		case r.Role == "into":
			slot.Into = row
		}
	}
	if slot.Fire == nil && slot.Fill == nil {
		err = s.pool.QueryRow(ctx, "SELECT max(pruned_until) FROM ax.ledger_starts WHERE schedule_id = $1", sched).Scan(&slot.PrunedUntil)
	}
	if err != nil {
		return slot, fmt.Errorf("read the ledger: %w", err)
	}
	return slot, nil
}

// FiresBeside lists the instants of a schedule's ledger next to a time, oldest first: one before it, and two from it on.
func (s *Store) FiresBeside(ctx context.Context, sched int64, at time.Time) ([]time.Time, error) {
	got, err := db.New(s.pool).FiresBeside(ctx, db.FiresBesideParams{ScheduleID: sched, At: at})
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	return got, nil
}

// NewestFire is the newest instant of a workflow's ledger; nil when it is empty.
func (s *Store) NewestFire(ctx context.Context, workflow int64) (*time.Time, error) {
	at, err := db.New(s.pool).NewestDue(ctx, workflow)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	return &at, nil
}

// ActiveRun is a run that had not ended at some time. StartedAt is nil for one that has not started by now.
type ActiveRun struct {
	ID        RunID
	StartedAt *time.Time
}

// RunsActiveAt lists runs of a workflow that had not ended at an instant, those that had begun first; it looks at the newest thousand of then.
func (s *Store) RunsActiveAt(ctx context.Context, workflow int64, at time.Time, limit int) ([]ActiveRun, error) {
	rows, err := db.New(s.pool).RunsActiveAt(ctx, db.RunsActiveAtParams{WorkflowID: workflow, At: at, Most: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list the runs of a time: %w", err)
	}
	return mapRows(rows, func(r db.RunsActiveAtRow) (ActiveRun, error) { return ActiveRun{RunID(r.ID), r.StartedAt}, nil })
}

// SetsAbout lists the upstream sets of a workflow for some keys, with those of their runs, and those that began from since until a time;
// newest first, fifty at most.
func (s *Store) SetsAbout(ctx context.Context, workflow int64, keys []string, since, until time.Time) ([]UpstreamSet, error) {
	rows, err := db.New(s.pool).SetsAbout(ctx, db.SetsAboutParams{WorkflowID: workflow, Keys: keys, Since: since, Until: until})
	if err != nil {
		return nil, fmt.Errorf("list upstream sets: %w", err)
	}
	return mapRows(rows, func(r db.SetsAboutRow) (UpstreamSet, error) { return upstreamSet(db.LockSetRow(r)) })
}

// DelayedAbout is a run of a workflow that was asked for in advance for a time in a stretch, and that has not started; 0 for none.
func (s *Store) DelayedAbout(ctx context.Context, workflow int64, since, until time.Time) (RunID, error) {
	ids, err := db.New(s.pool).DelayedAbout(ctx, db.DelayedAboutParams{WorkflowID: workflow, Since: since, Until: until})
	if err != nil {
		return 0, fmt.Errorf("look for a delayed run: %w", err)
	}
	if len(ids) == 0 {
		return 0, nil
	}
	return RunID(ids[0]), nil
}

// QueueWorker is a worker that takes from the queue of a held node.
type QueueWorker struct {
	Name   string
	BeatAt time.Time
	// State is online, suspect, draining or lost.
	State string
	// Takes is whether it has the node's handler, Fits whether it has the labels, and is the worker, that the node's route asks for.
	Takes, Fits bool
}

// WorkersAbout lists the workers that take from the queue of a held node, those that were heard last first, twenty at most; of the
// attempt only its node and shard count.
func (s *Store) WorkersAbout(ctx context.Context, held Attempt) ([]QueueWorker, error) {
	rows, err := db.New(s.pool).WorkersAbout(ctx, db.WorkersAboutParams{RunID: int64(held.Run), Node: held.Node, Shard: int32(held.Shard)})
	if err != nil {
		return nil, fmt.Errorf("list workers for node %s: %w", held.Node, err)
	}
	return mapRows(rows, func(r db.WorkersAboutRow) (QueueWorker, error) { return QueueWorker(r), nil })
}

// maxCodes is how many codes are looked through for one that was probably meant.
const maxCodes = 5000

// WorkflowCodes lists the codes of a namespace's workflows in order, five thousand at most.
func (s *Store) WorkflowCodes(ctx context.Context, namespace int64) ([]string, error) {
	codes, err := db.New(s.pool).WorkflowCodes(ctx, db.WorkflowCodesParams{NamespaceID: namespace, Most: maxCodes})
	if err != nil {
		return nil, fmt.Errorf("list workflows: %w", err)
	}
	return codes, nil
}

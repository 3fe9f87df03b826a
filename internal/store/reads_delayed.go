package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// DelayedRow is a run that was asked for in advance, as people see it.
type DelayedRow struct {
	ID         RunID
	WorkflowID int64
	Workflow   string
	// Version is the one asked for, else the workflow's newest.
	Version, Priority  int
	Params             []byte
	RunAt, ScheduledAt time.Time
	LogicalDate, Actor string
	CreatedAt          time.Time
	State              DelayedState
	// Paused says that it waits, and that its workflow is paused.
	Paused bool
	// Run is 0 unless it was started.
	Run             RunID
	Reason, EndedBy string
	EndedAt         *time.Time
}

// DelayedQuery chooses delayed runs of a namespace; zero values choose all.
type DelayedQuery struct {
	Namespace, Workflow int64
	State               DelayedState
	Before              RunID
	Limit               int
}

// DelayedRuns lists runs asked for in advance, newest first.
func (s *Store) DelayedRuns(ctx context.Context, q DelayedQuery) ([]DelayedRow, error) {
	before := int64(maxID)
	if q.Before > 0 {
		before = int64(q.Before)
	}
	return s.delayedRuns(ctx, db.DelayedRunsParams{
		NamespaceID: q.Namespace, WorkflowID: q.Workflow, State: string(q.State), Before: before, Most: int32(q.Limit)})
}

// DelayedRun reads one of them, or returns ErrNotFound.
func (s *Store) DelayedRun(ctx context.Context, namespace int64, id RunID) (DelayedRow, error) {
	rows, err := s.delayedRuns(ctx, db.DelayedRunsParams{NamespaceID: namespace, Before: min(int64(id), maxID-1) + 1, Most: 1})
	if err == nil && (len(rows) == 0 || rows[0].ID != id) {
		return DelayedRow{}, found(pgx.ErrNoRows, "run %s", id)
	}
	if err != nil {
		return DelayedRow{}, err
	}
	return rows[0], nil
}

func (s *Store) delayedRuns(ctx context.Context, p db.DelayedRunsParams) ([]DelayedRow, error) {
	rows, err := db.New(s.pool).DelayedRuns(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list delayed runs: %w", err)
	}
	return mapRows(rows, func(r db.DelayedRunsRow) (DelayedRow, error) {
		return DelayedRow{
			ID: RunID(r.ID), WorkflowID: r.WorkflowID, Workflow: r.Code, Version: int(r.Number), Priority: int(r.Priority), Params: r.Params, RunAt: r.RunAt, ScheduledAt: r.ScheduledAt,
			LogicalDate: r.LogicalDate, Actor: r.Actor, CreatedAt: r.CreatedAt, State: DelayedState(r.State), Paused: r.Paused, Run: RunID(r.RunID),
			Reason: text(r.Reason), EndedBy: text(r.EndedBy), EndedAt: r.EndedAt,
		}, nil
	})
}

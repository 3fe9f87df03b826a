package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store/internal/db"
)

// RunRow is a run without its nodes and params.
type RunRow struct {
	ID                  RunID
	WorkflowID          int64
	Workflow            string
	Version             int
	VersionID           int64
	State               progress.State
	Generation          int
	Priority            int
	Trigger, Actor      string
	Schedule            string
	ScheduledAt         time.Time
	LogicalDate         string
	PreviousScheduledAt *time.Time
	Key                 string
	Warnings            int
	Canceling, TimedOut bool
	// CanceledBy and CancelReason tell who canceled it and why; "" for nobody and for no reason.
	CanceledBy, CancelReason string
	// Timezone is its schedule's, "" for a run without one.
	Timezone   string
	Reason     string
	CreatedAt  time.Time
	StartedAt  *time.Time
	DeadlineAt *time.Time
	FinishedAt *time.Time
}

// RunDetail is what only one run's own page shows.
type RunDetail struct {
	Params []byte
	// Limited tells that the run counts against MaxRuns of its workflow (S22); 0 is unlimited by now.
	Limited bool
	MaxRuns int
	// ReplayOf is the run that it repeats, or 0; OnlyNodes are what a test run is about, nil for others; HeldAt is since when it is held.
	ReplayOf RunID
	// Backfill is the one that made it, or 0.
	Backfill  RunID
	OnlyNodes []string
	HeldAt    *time.Time
	// CancelAsked tells that a cancel was accepted and is not carried out yet.
	CancelAsked bool
}

// RunQuery chooses runs. Zero fields choose all.
type RunQuery struct {
	Namespace, Workflow int64
	State               progress.State
	// LogicalDate is yyyy-mm-dd.
	LogicalDate string
	// From and To bound when the run was created, From included, To not.
	From, To time.Time
	// Before is the run after which the list goes on; 0 begins with the newest.
	Before RunID
	Limit  int
}

// Runs lists runs, newest first.
func (s *Store) Runs(ctx context.Context, q RunQuery) ([]RunRow, error) {
	before := min(maxID, runIDAt(q.To, maxID))
	if q.Before > 0 {
		before = min(before, int64(q.Before))
	}
	since, queries := runIDAt(q.From, math.MinInt64), db.New(s.pool)
	if q.Workflow != 0 {
		rows, err := queries.RunsOfWorkflow(ctx, db.RunsOfWorkflowParams{
			WorkflowID: q.Workflow, Since: since, Before: before, State: string(q.State), LogicalDate: q.LogicalDate, Most: int32(q.Limit)})
		if err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		return mapRows(rows, func(r db.RunsOfWorkflowRow) (RunRow, error) { return runRow(db.RunByIDRow(r)), nil })
	}
	rows, err := queries.RunsOfNamespace(ctx, db.RunsOfNamespaceParams{
		NamespaceID: q.Namespace, Since: since, Before: before, State: string(q.State), LogicalDate: q.LogicalDate, Most: int32(q.Limit)})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return mapRows(rows, func(r db.RunsOfNamespaceRow) (RunRow, error) { return runRow(db.RunByIDRow(r)), nil })
}

// runIDAt is the least id of a run created at an instant (ax.run_id_at); the zero time gives none.
func runIDAt(at time.Time, none int64) int64 {
	if at.IsZero() {
		return none
	}
	const bits = 20
	return min(max(at.UnixMilli(), 0), maxID>>bits) << bits
}

// Run reads one run of a namespace, or returns ErrNotFound.
func (s *Store) Run(ctx context.Context, namespace int64, id RunID) (RunRow, error) {
	r, err := db.New(s.pool).RunByID(ctx, db.RunByIDParams{ID: int64(id), NamespaceID: namespace})
	return runRow(r), found(err, "run %s", id)
}

// RunDetail reads the rest of a run, or returns ErrNotFound.
func (s *Store) RunDetail(ctx context.Context, id RunID) (RunDetail, error) {
	r, err := db.New(s.pool).RunDetail(ctx, int64(id))
	return RunDetail{Params: r.Params, Limited: r.Limited, MaxRuns: int(r.MaxRuns), CancelAsked: r.CancelAsked,
		ReplayOf: RunID(r.ReplayOf), Backfill: RunID(r.BackfillID), OnlyNodes: r.OnlyNodes, HeldAt: r.HeldAt}, found(err, "run %s", id)
}

// Holders lists at most limit running runs that hold the places that a queued run of the same workflow and key waits for.
func (s *Store) Holders(ctx context.Context, workflow int64, key string, limit int) ([]RunID, error) {
	rows, err := db.New(s.pool).RunHolders(ctx, db.RunHoldersParams{WorkflowID: workflow, Key: key, Most: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list holders of workflow's places: %w", err)
	}
	return mapRows(rows, func(id int64) (RunID, error) { return RunID(id), nil })
}

func runRow(r db.RunByIDRow) RunRow {
	return RunRow{
		ID: RunID(r.ID), WorkflowID: r.WorkflowID, Workflow: r.Code, Version: int(r.Number), VersionID: r.VersionID,
		State: progress.State(r.State), Generation: int(r.Generation), Priority: int(r.Priority), Trigger: r.Trigger, Actor: r.Actor,
		Schedule: r.Schedule, ScheduledAt: r.ScheduledAt, LogicalDate: r.LogicalDate, PreviousScheduledAt: r.PreviousScheduledAt, Key: r.Key,
		Warnings: int(r.Warnings), Canceling: r.Canceling, TimedOut: r.TimedOut, Reason: text(r.Reason),
		CanceledBy: text(r.CanceledBy), CancelReason: text(r.CancelReason), Timezone: r.Timezone,
		CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, DeadlineAt: r.DeadlineAt, FinishedAt: r.FinishedAt,
	}
}

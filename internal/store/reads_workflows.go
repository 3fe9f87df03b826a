package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// WorkflowRow is a workflow with its newest version's description and its newest run.
type WorkflowRow struct {
	ID           int64
	Namespace    int64
	Code         string
	Version      int
	Title, Owner string
	Tags         []string
	// MaxRuns and MaxQueued are nil where there is no limit (S22).
	MaxRuns, MaxQueued *int32
	// Overflow is what becomes of a run that finds no place; "" where there is no limit.
	Overflow string
	// PausedAt is nil unless the workflow is paused.
	PausedAt              *time.Time
	PausedBy, PauseReason string
	CreatedAt, UpdatedAt  time.Time
	NextFireAt            *time.Time
	// LastRun is 0 before the first run.
	LastRun   RunID
	LastState string
}

// ScheduleRow is a schedule that a workflow has now.
type ScheduleRow struct {
	ID   int64
	Name string
	// Spec is the schedule as its version says it, in JSON.
	Spec       []byte
	Anchor     time.Time
	NextFireAt *time.Time
	CreatedAt  time.Time
}

// VersionRow is one version of a workflow. Definition is nil in lists.
type VersionRow struct {
	ID         int64
	Number     int
	Digest     []byte
	Definition []byte
	CreatedAt  time.Time
	CreatedBy  string
}

// Namespace returns the id of a namespace, or ErrNotFound.
func (s *Store) Namespace(ctx context.Context, name string) (int64, error) {
	id, err := db.New(s.pool).NamespaceID(ctx, name)
	return id, found(err, "namespace %q", name)
}

// Workflows lists a namespace's workflows, newest first: at most limit of those whose id is below before.
func (s *Store) Workflows(ctx context.Context, namespace, before int64, limit int) ([]WorkflowRow, error) {
	rows, err := db.New(s.pool).ListWorkflows(ctx, db.ListWorkflowsParams{NamespaceID: namespace, Before: before, Most: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list workflows: %w", err)
	}
	return mapRows(rows, workflowRow)
}

// Workflow reads one workflow by its code, or returns ErrNotFound.
func (s *Store) Workflow(ctx context.Context, namespace int64, code string) (WorkflowRow, error) {
	rows, err := db.New(s.pool).ListWorkflows(ctx, db.ListWorkflowsParams{NamespaceID: namespace, Before: maxID, Code: code, Most: 1})
	if err == nil && len(rows) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return WorkflowRow{}, found(err, "workflow %q", code)
	}
	return workflowRow(rows[0])
}

func workflowRow(r db.ListWorkflowsRow) (WorkflowRow, error) {
	w := WorkflowRow{
		ID: r.ID, Namespace: r.NamespaceID, Code: r.Code, Version: int(r.Number), Title: r.Title, Owner: r.Owner, MaxRuns: r.MaxRuns, MaxQueued: r.MaxQueued, Overflow: r.Overflow,
		PausedAt: r.PausedAt, PausedBy: text(r.PausedBy), PauseReason: text(r.PauseReason), CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		LastRun: RunID(r.LastRun), LastState: r.LastState,
	}
	if len(r.NextFire) > 0 {
		w.NextFireAt = &r.NextFire[0]
	}
	if err := json.Unmarshal(r.Tags, &w.Tags); err != nil {
		return w, fmt.Errorf("read tags of workflow %q: %w", r.Code, err)
	}
	return w, nil
}

// Schedules lists the schedules that a workflow has now, by name.
func (s *Store) Schedules(ctx context.Context, workflow int64) ([]ScheduleRow, error) {
	rows, err := db.New(s.pool).ListSchedules(ctx, workflow)
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	return mapRows(rows, func(r db.ListSchedulesRow) (ScheduleRow, error) { return ScheduleRow(r), nil })
}

// Versions lists a workflow's versions, newest first: at most limit of those whose number is below before.
func (s *Store) Versions(ctx context.Context, workflow int64, before, limit int) ([]VersionRow, error) {
	rows, err := db.New(s.pool).ListVersions(ctx, db.ListVersionsParams{WorkflowID: workflow, Before: int32(before), Most: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list versions: %w", err)
	}
	return mapRows(rows, func(r db.ListVersionsRow) (VersionRow, error) {
		return VersionRow{ID: r.ID, Number: int(r.Number), Digest: r.Digest, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy}, nil
	})
}

// Version reads one version of a workflow with its definition, or returns ErrNotFound.
func (s *Store) Version(ctx context.Context, workflow int64, number int) (VersionRow, error) {
	r, err := db.New(s.pool).VersionByNumber(ctx, db.VersionByNumberParams{WorkflowID: workflow, Number: int32(number)})
	return VersionRow{
		ID: r.ID, Number: int(r.Number), Digest: r.Digest, Definition: r.Definition, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy,
	}, found(err, "version %d", number)
}

// VersionByDigest returns the number of the version of a workflow that has a digest, or ErrNotFound.
func (s *Store) VersionByDigest(ctx context.Context, workflow int64, digest []byte) (int, error) {
	r, err := db.New(s.pool).VersionByDigest(ctx, db.VersionByDigestParams{WorkflowID: workflow, Digest: digest})
	return int(r.Number), found(err, "version %x", digest)
}

// maxID is above every id.
const maxID = 1<<63 - 1

// found is nil for nil, ErrNotFound for no rows, and any other error with what was read.
func found(err error, what string, args ...any) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf(what+": %w", append(args, ErrNotFound)...)
	}
	return fmt.Errorf("read "+what+": %w", append(args, err)...)
}

// text is a nullable text, null as "".
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func mapRows[F, T any](rows []F, convert func(F) (T, error)) ([]T, error) {
	out := make([]T, len(rows))
	for i, r := range rows {
		var err error
		if out[i], err = convert(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

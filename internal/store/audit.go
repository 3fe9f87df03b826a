package store

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// AuditRow is one change that somebody made, or tried to make, through the API.
type AuditRow struct {
	ID        int64
	At        time.Time
	Actor     string
	Namespace *string
	Operation string
	Path      string
	// Request, Before and After are JSON, or nil.
	Request, Before, After []byte
	// Status is that of the answer; nil while the call goes on, and for good if the server died in it.
	Status    *int16
	RequestID string
	Address   string
}

// AuditQuery says which rows to list.
type AuditQuery struct {
	Namespace        *string
	Actor, Operation string
	Since, Until     time.Time
	Before           int64
	Limit            int
}

// BeginAudit notes a call before anything is done, and returns the row's id.
func (s *Store) BeginAudit(ctx context.Context, r AuditRow) (int64, error) {
	id, err := db.New(s.pool).BeginAudit(ctx, db.BeginAuditParams{
		Actor: r.Actor, Namespace: r.Namespace, Operation: r.Operation, Path: r.Path, Request: r.Request, Before: r.Before, RequestID: r.RequestID, Address: r.Address,
	})
	if err != nil {
		return 0, fmt.Errorf("note the call for audit: %w", err)
	}
	return id, nil
}

// EndAudit notes how a call was answered.
func (s *Store) EndAudit(ctx context.Context, id int64, status int, after []byte) error {
	if err := db.New(s.pool).EndAudit(ctx, db.EndAuditParams{ID: id, Status: int16(status), After: after}); err != nil {
		return fmt.Errorf("note the answer for audit: %w", err)
	}
	return nil
}

// Audit lists rows, the newest first.
func (s *Store) Audit(ctx context.Context, q AuditQuery) ([]AuditRow, error) {
	rows, err := db.New(s.pool).ListAudit(ctx, db.ListAuditParams{
		BeforeID: q.Before, Namespace: q.Namespace, Actor: q.Actor, Operation: q.Operation, Since: q.Since, Until: q.Until, Most: int32(q.Limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list audit: %w", err)
	}
	return mapRows(rows, func(r db.AxAudit) (AuditRow, error) { return AuditRow(r), nil })
}

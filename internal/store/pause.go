package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// Pause is who stops a workflow's automatic starts, and why (S33).
type Pause struct {
	Workflow      int64
	Actor, Reason string
}

// SetPaused stops a workflow's automatic starts; false says that it was paused already and is as it was.
func (s *Store) SetPaused(ctx context.Context, tx pgx.Tx, p Pause) (bool, error) {
	n, err := db.New(tx).SetPaused(ctx, db.SetPausedParams{ID: p.Workflow, Actor: p.Actor, Reason: orNull(p.Reason)})
	if err != nil {
		return false, fmt.Errorf("pause the workflow: %w", err)
	}
	return n > 0, nil
}

// ClearPaused lets a workflow start by itself again; false says that it was not paused.
func (s *Store) ClearPaused(ctx context.Context, tx pgx.Tx, workflow int64) (bool, error) {
	n, err := db.New(tx).ClearPaused(ctx, workflow)
	if err != nil {
		return false, fmt.Errorf("resume the workflow: %w", err)
	}
	return n > 0, nil
}

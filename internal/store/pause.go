package store

import (
	"context"
	"fmt"
)

// Pause stops a workflow's automatic starts (S33). Pausing a paused one keeps its time and changes who and why.
func (s *Store) Pause(ctx context.Context, workflow int64, actor, reason string) error {
	_, err := s.pool.Exec(ctx, `UPDATE ax.workflows SET paused_at = COALESCE(paused_at, now()), paused_by = $2, pause_reason = $3, updated_at = now()
		WHERE id = $1`, workflow, actor, orNull(reason))
	if err != nil {
		return fmt.Errorf("pause workflow: %w", err)
	}
	return nil
}

// Resume lets a workflow's automatic starts go on from now; what was due meanwhile stays recorded as skipped (S10).
func (s *Store) Resume(ctx context.Context, workflow int64) error {
	_, err := s.pool.Exec(ctx, `UPDATE ax.workflows SET paused_at = NULL, paused_by = NULL, pause_reason = NULL, updated_at = now()
		WHERE id = $1 AND paused_at IS NOT NULL`, workflow)
	if err != nil {
		return fmt.Errorf("resume workflow: %w", err)
	}
	return nil
}

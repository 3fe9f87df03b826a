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

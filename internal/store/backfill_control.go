package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// BackfillChange is what a person does to a backfill, and why.
type BackfillChange struct {
	Backfill    RunID
	Actor, Note string
}

// PauseBackfill lets a running backfill make no more runs; those that go on are not touched. False says that it was not running.
func (s *Store) PauseBackfill(ctx context.Context, c BackfillChange) (bool, error) {
	return s.changeBackfill(ctx, c, "state = 'paused', look_at = CASE WHEN active > 0 THEN 'infinity'::timestamptz END", "state = 'running'")
}

// ResumeBackfill lets a paused backfill go on. False says that it was not paused.
func (s *Store) ResumeBackfill(ctx context.Context, c BackfillChange) (bool, error) {
	return s.changeBackfill(ctx, c, "state = 'running', look_at = now()", "state = 'paused'")
}

// RetryBackfill has everything that failed so far tried again. False says that nothing has failed, or that the backfill was canceled.
func (s *Store) RetryBackfill(ctx context.Context, c BackfillChange) (bool, error) {
	return s.changeBackfill(ctx, c, `round = round + 1, state = CASE state WHEN 'paused' THEN 'paused' ELSE 'running' END, ended_at = NULL,
		look_at = CASE state WHEN 'paused' THEN look_at ELSE now() END`, "state IN ('running', 'paused', 'completed_with_failures') AND failed > 0")
}

func (s *Store) changeBackfill(ctx context.Context, c BackfillChange, set, where string) (changed bool, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		changed, err = changeBackfill(ctx, tx, c, set, where)
		return err
	})
	return changed, err
}

func changeBackfill(ctx context.Context, tx pgx.Tx, c BackfillChange, set, where string) (bool, error) {
	tag, err := tx.Exec(ctx, "UPDATE ax.backfills SET changed_by = $2, change_note = $3, "+set+" WHERE id = $1 AND "+where, c.Backfill, c.Actor, orNull(c.Note))
	if err == nil {
		_, err = tx.Exec(ctx, "SELECT pg_notify($1, '')", ChannelBackfills)
	}
	if err != nil {
		return false, fmt.Errorf("change backfill %s: %w", c.Backfill, err)
	}
	return tag.RowsAffected() > 0, nil
}

// CancelBackfill ends a backfill: it makes no more runs, and those of its own that go on are canceled. False says that it had ended.
func (s *Store) CancelBackfill(ctx context.Context, c BackfillChange) (changed bool, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		changed, err = changeBackfill(ctx, tx, c, "state = 'canceled', ended_at = now(), look_at = CASE WHEN active > 0 THEN 'infinity'::timestamptz END",
			"state IN ('running', 'paused')")
		if err != nil || !changed {
			return err
		}
		// A run that is being canceled already is not asked again: a second cancel would stop its finally nodes.
		_, err := tx.Exec(ctx, `WITH asked AS (
				INSERT INTO ax.run_intents (run_id, kind, actor, reason)
				SELECT r.id, 'cancel', $2, $3 FROM ax.backfill_slots s JOIN ax.runs r ON r.id = s.run_id
				WHERE s.backfill_id = $1 AND s.state = 'active' AND r.state IN ('queued', 'running') AND NOT r.canceling
				ON CONFLICT DO NOTHING RETURNING run_id)
			SELECT pg_notify('ax_intent', '') FROM asked LIMIT 1`, c.Backfill, c.Actor, "its backfill was canceled")
		if err != nil {
			return fmt.Errorf("cancel the runs of backfill %s: %w", c.Backfill, err)
		}
		return nil
	})
	return changed, err
}

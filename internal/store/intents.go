package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// IntentKind says what somebody wants of a run.
type IntentKind string

// The kinds.
const (
	// IntentSettle asks for the end of a run whose ordinary nodes have all succeeded.
	IntentSettle IntentKind = "settle"
	IntentCancel IntentKind = "cancel"
	// IntentAct keeps the fast path away from a run on which somebody is about to act by hand.
	IntentAct IntentKind = "act"
	// IntentDeadline says that the run's timeout has passed.
	IntentDeadline IntentKind = "deadline"
)

// Intent is a wish about a run that a transaction of its own will carry out (design: run_intents).
type Intent struct {
	Run    RunID
	Kind   IntentKind
	Actor  string
	Reason string
}

// AddIntent records a wish; the same wish twice is one. From its commit on, the fast path leaves the run alone.
func (s *Store) AddIntent(ctx context.Context, tx pgx.Tx, i Intent) error {
	_, err := tx.Exec(ctx, `WITH i AS (INSERT INTO ax.run_intents (run_id, kind, actor, reason) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING)
		SELECT pg_notify('ax_intent', '')`, i.Run, i.Kind, i.Actor, orNull(i.Reason))
	if err != nil {
		return fmt.Errorf("record %s of run %s: %w", i.Kind, i.Run, err)
	}
	return nil
}

// Intents lists wishes, oldest first.
func (s *Store) Intents(ctx context.Context, limit int) ([]Intent, error) {
	rows, err := s.pool.Query(ctx, `SELECT run_id, kind, actor, COALESCE(reason, '') FROM ax.run_intents ORDER BY created_at LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("list intents: %w", err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Intent])
	if err != nil {
		return nil, fmt.Errorf("list intents: %w", err)
	}
	return got, nil
}

// MarkDeadlines records the deadline of every running run past its timeout (S17) and says how many there were.
func (s *Store) MarkDeadlines(ctx context.Context) (int64, error) {
	tag, err := s.pool.Exec(ctx, `INSERT INTO ax.run_intents (run_id, kind, actor)
		SELECT id, 'deadline', 'engine' FROM ax.runs WHERE state = 'running' AND deadline_at <= now() AND stopped_at IS NULL ON CONFLICT DO NOTHING`)
	if err != nil {
		return 0, fmt.Errorf("find runs past their timeout: %w", err)
	}
	return tag.RowsAffected(), nil
}

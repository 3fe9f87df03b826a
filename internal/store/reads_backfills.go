package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// BackfillQuery chooses backfills of a namespace; zero values choose all.
type BackfillQuery struct {
	Namespace, Workflow int64
	State               BackfillState
	Before              RunID
	Limit               int
}

// Backfills lists backfills, newest first.
func (s *Store) Backfills(ctx context.Context, q BackfillQuery) ([]Backfill, error) {
	before := int64(maxID)
	if q.Before > 0 {
		before = int64(q.Before)
	}
	where := "WHERE b.namespace_id = $1 AND $5::bigint = 0"
	if q.Workflow != 0 {
		where = "WHERE b.namespace_id = $1 AND b.workflow_id = $5"
	}
	rows, err := s.pool.Query(ctx, "SELECT "+backfillColumns+where+" AND b.id < $2 AND ($3 = '' OR b.state = $3) ORDER BY b.id DESC LIMIT $4",
		q.Namespace, before, string(q.State), q.Limit, q.Workflow)
	if err != nil {
		return nil, fmt.Errorf("list backfills: %w", err)
	}
	got, err := pgx.CollectRows(rows, scanBackfill)
	if err != nil {
		return nil, fmt.Errorf("list backfills: %w", err)
	}
	return got, nil
}

// Backfill reads a backfill of a namespace, or returns ErrNotFound.
func (s *Store) Backfill(ctx context.Context, namespace int64, id RunID) (Backfill, error) {
	rows, err := s.pool.Query(ctx, "SELECT "+backfillColumns+"WHERE b.id = $1 AND b.namespace_id = $2", id, namespace)
	if err != nil {
		return Backfill{}, fmt.Errorf("read backfill %s: %w", id, err)
	}
	b, err := pgx.CollectExactlyOneRow(rows, scanBackfill)
	return b, found(err, "backfill %s", id)
}

// SlotMark is a place in a list of a backfill's instants: newest first.
type SlotMark struct {
	At       time.Time
	Schedule int64
}

// SlotQuery chooses instants of a backfill.
type SlotQuery struct {
	Backfill RunID
	// State is "" for all.
	State  SlotState
	Before SlotMark
	Limit  int
}

// BackfillSlots lists the instants for which a backfill has made something, newest first.
func (s *Store) BackfillSlots(ctx context.Context, q SlotQuery) ([]BackfillSlot, error) {
	rows, err := s.pool.Query(ctx, "SELECT "+slotColumns+` FROM ax.backfill_slots s WHERE s.backfill_id = $1 AND ($2 = '' OR s.state = $2)
			AND (s.scheduled_at, s.schedule_id) < ($3::timestamptz, $4::bigint) ORDER BY s.scheduled_at DESC, s.schedule_id DESC LIMIT $5`,
		q.Backfill, string(q.State), q.Before.At, q.Before.Schedule, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("list slots of backfill %s: %w", q.Backfill, err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[BackfillSlot])
	if err != nil {
		return nil, fmt.Errorf("list slots of backfill %s: %w", q.Backfill, err)
	}
	return got, nil
}

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
)

// SlotState says what became of an instant of a backfill.
type SlotState string

// The states.
const (
	// SlotWaiting could not start yet: too many of its workflow's runs went on.
	SlotWaiting   SlotState = "waiting"
	SlotActive    SlotState = "active"
	SlotSucceeded SlotState = "succeeded"
	SlotFailed    SlotState = "failed"
)

// BackfillSlot is an instant for which a backfill makes something.
type BackfillSlot struct {
	Schedule int64
	At       time.Time
	State    SlotState
	// Reason is why it failed: the state of its run, or why there is none.
	Reason string
	// Run is its newest run; 0 for none.
	Run   RunID
	Round int
}

// SlotFact is what is known of an instant of a schedule.
type SlotFact struct {
	At time.Time
	// Result and Reason are the ledger's; "" where the instant is not in it.
	Result FireResult
	Reason string
	// Filled is the run that the ledger has of it; 0 for none.
	Filled RunID
	// Run is the newest of that run and those that repeat it; 0 where there is none, or none any more.
	Run   RunID
	State progress.State
	// Previous is the instant before that became a run; nil for none.
	Previous *time.Time
}

// SlotFacts reads what is known of some instants of a schedule, in order of time.
func (s *Store) SlotFacts(ctx context.Context, tx pgx.Tx, sched int64, instants []time.Time) ([]SlotFact, error) {
	rows, err := tx.Query(ctx, moves["backfill_facts"], sched, instants)
	if err != nil {
		return nil, fmt.Errorf("read slots of schedule %d: %w", sched, err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[SlotFact])
	if err != nil {
		return nil, fmt.Errorf("read slots of schedule %d: %w", sched, err)
	}
	return got, nil
}

const settleSlots = `UPDATE ax.backfill_slots s SET state = CASE r.state WHEN 'succeeded' THEN 'succeeded' ELSE 'failed' END,
	reason = CASE r.state WHEN 'succeeded' THEN NULL ELSE r.state END
	FROM ax.runs r WHERE s.backfill_id = $1 AND s.state = 'active' AND r.id = s.run_id AND r.state IN ('succeeded', 'failed', 'canceled', 'skipped')
	RETURNING s.state`

// SettleSlots notes of a backfill's active instants whose run has ended how it did, and counts them.
func (s *Store) SettleSlots(ctx context.Context, tx pgx.Tx, backfill RunID) (succeeded, failed int, err error) {
	rows, err := tx.Query(ctx, settleSlots, backfill)
	if err != nil {
		return 0, 0, fmt.Errorf("settle slots of backfill %s: %w", backfill, err)
	}
	var state SlotState
	_, err = pgx.ForEachRow(rows, []any{&state}, func() error {
		if state == SlotSucceeded {
			succeeded++
		} else {
			failed++
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("settle slots of backfill %s: %w", backfill, err)
	}
	return succeeded, failed, nil
}

const slotColumns = "s.schedule_id, s.scheduled_at, s.state, COALESCE(s.reason, ''), COALESCE(s.run_id, 0), s.round"

// WaitingSlots lists instants of a backfill that wait for a place, in its order.
func (s *Store) WaitingSlots(ctx context.Context, tx pgx.Tx, b *Backfill, limit int) ([]BackfillSlot, error) {
	return slots(ctx, tx, b, slotsWaiting, limit)
}

// FailedSlots lists instants of a backfill that failed in an earlier round than the present one, in its order.
func (s *Store) FailedSlots(ctx context.Context, tx pgx.Tx, b *Backfill, limit int) ([]BackfillSlot, error) {
	return slots(ctx, tx, b, slotsFailed, limit)
}

const (
	slotsWaiting = "s.state = 'waiting' AND s.round <= $3"
	slotsFailed  = "s.state = 'failed' AND s.round < $3"
)

func slotsQuery(b *Backfill, where string) string {
	order := "s.scheduled_at, s.schedule_id"
	if b.NewestFirst {
		order = "s.scheduled_at DESC, s.schedule_id DESC"
	}
	return "SELECT " + slotColumns + " FROM ax.backfill_slots s WHERE s.backfill_id = $1 AND " + where + " ORDER BY " + order + " LIMIT $2"
}

func slots(ctx context.Context, tx pgx.Tx, b *Backfill, where string, limit int) ([]BackfillSlot, error) {
	rows, err := tx.Query(ctx, slotsQuery(b, where), b.ID, limit, b.Round)
	if err != nil {
		return nil, fmt.Errorf("list slots of backfill %s: %w", b.ID, err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[BackfillSlot])
	if err != nil {
		return nil, fmt.Errorf("list slots of backfill %s: %w", b.ID, err)
	}
	return got, nil
}

// AddSlots writes instants that a backfill takes up. Each can be taken up once, ever.
func (s *Store) AddSlots(ctx context.Context, tx pgx.Tx, backfill RunID, slots []BackfillSlot) error {
	if len(slots) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `INSERT INTO ax.backfill_slots (backfill_id, schedule_id, scheduled_at, state, reason, run_id, round)
		SELECT $1::bigint, * FROM unnest($2::bigint[], $3::timestamptz[], $4::text[], $5::text[], $6::bigint[], $7::int[])`, slotArgs(backfill, slots)...)
	if err != nil {
		return fmt.Errorf("write %d slots of backfill %s: %w", len(slots), backfill, err)
	}
	return nil
}

// SaveSlots writes what became of instants that were taken up before.
func (s *Store) SaveSlots(ctx context.Context, tx pgx.Tx, backfill RunID, slots []BackfillSlot) error {
	if len(slots) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `UPDATE ax.backfill_slots s SET state = t.state, reason = t.reason, run_id = t.run_id, round = t.round
		FROM unnest($2::bigint[], $3::timestamptz[], $4::text[], $5::text[], $6::bigint[], $7::int[]) AS t (schedule_id, scheduled_at, state, reason, run_id, round)
		WHERE s.backfill_id = $1 AND s.scheduled_at = t.scheduled_at AND s.schedule_id = t.schedule_id`, slotArgs(backfill, slots)...)
	if err != nil {
		return fmt.Errorf("write %d slots of backfill %s: %w", len(slots), backfill, err)
	}
	return nil
}

// DropSlots forgets instants that were taken up, and for which nothing is to be made after all.
func (s *Store) DropSlots(ctx context.Context, tx pgx.Tx, backfill RunID, slots []BackfillSlot) error {
	if len(slots) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `DELETE FROM ax.backfill_slots s USING unnest($2::bigint[], $3::timestamptz[]) AS t (schedule_id, scheduled_at)
		WHERE s.backfill_id = $1 AND s.scheduled_at = t.scheduled_at AND s.schedule_id = t.schedule_id`, slotArgs(backfill, slots)[:3]...)
	if err != nil {
		return fmt.Errorf("drop %d slots of backfill %s: %w", len(slots), backfill, err)
	}
	return nil
}

func slotArgs(backfill RunID, slots []BackfillSlot) []any {
	return []any{
		backfill,
		column(slots, func(s *BackfillSlot) int64 { return s.Schedule }),
		column(slots, func(s *BackfillSlot) time.Time { return s.At }),
		column(slots, func(s *BackfillSlot) string { return string(s.State) }),
		column(slots, func(s *BackfillSlot) *string { return orNull(s.Reason) }),
		column(slots, func(s *BackfillSlot) *int64 { return orNull(int64(s.Run)) }),
		column(slots, func(s *BackfillSlot) int32 { return int32(s.Round) }),
	}
}

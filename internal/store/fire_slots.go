package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// SpecRow is a spec that a schedule had from an instant on; nil Spec is none, because it was removed.
type SpecRow struct {
	From   time.Time
	Spec   []byte
	Anchor time.Time
}

// SpecHistory lists the specs that a schedule has had, oldest first.
func (s *Store) SpecHistory(ctx context.Context, tx pgx.Tx, sched int64) ([]SpecRow, error) {
	rows, err := db.New(tx).SpecsOfSchedule(ctx, sched)
	if err != nil {
		return nil, fmt.Errorf("read the specs of schedule %d: %w", sched, err)
	}
	return mapRows(rows, func(r db.SpecsOfScheduleRow) (SpecRow, error) {
		row := SpecRow{From: r.ValidFrom, Spec: r.Spec}
		if r.Anchor != nil {
			row.Anchor = *r.Anchor
		}
		return row, nil
	})
}

// PausedFires lists what a schedule skipped since it was paused and nothing has made up yet, newest first: single instants, or stretches
// of which some may have been made up.
func (s *Store) PausedFires(ctx context.Context, tx pgx.Tx, sched int64, since time.Time, limit int) ([]Fire, error) {
	rows, err := db.New(tx).PausedFires(ctx, db.PausedFiresParams{ScheduleID: sched, Since: since, Most: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list what schedule %d skipped: %w", sched, err)
	}
	return mapRows(rows, func(r db.PausedFiresRow) (Fire, error) {
		return Fire{Schedule: sched, At: r.ScheduledAt, Until: r.UntilAt, Count: int(r.Count), Result: SkippedFire, Reason: SkipPaused}, nil
	})
}

// SlotRun is what the ledger knows of an instant of a schedule.
type SlotRun struct {
	At time.Time
	// Run is 0 when no run was made for it.
	Run RunID
	// Previous is the instant before that became a run; nil for none.
	Previous *time.Time
}

// SlotRuns reads what the ledger knows of some instants of a schedule, in order of time.
func (s *Store) SlotRuns(ctx context.Context, tx pgx.Tx, sched int64, instants []time.Time) ([]SlotRun, error) {
	rows, err := tx.Query(ctx, moves["slots"], sched, instants)
	if err != nil {
		return nil, fmt.Errorf("read slots of schedule %d: %w", sched, err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[SlotRun])
	if err != nil {
		return nil, fmt.Errorf("read slots of schedule %d: %w", sched, err)
	}
	return got, nil
}

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Prunable is what grows with time and is not kept for ever.
type Prunable string

// What can be pruned. Fires go schedule by schedule, the others workflow by workflow.
const (
	PruneFires     Prunable = "fires"
	PruneDelayed   Prunable = "delayed"
	PruneSets      Prunable = "sets"
	PruneWatched   Prunable = "watched"
	PruneBackfills Prunable = "backfills"
)

// PruneStep bounds one step of pruning.
type PruneStep struct {
	What Prunable
	// After is the schedule or workflow after which the step begins, 0 for the first. It looks at Owners of them, and removes Rows at most.
	After        int64
	Owners, Rows int
	// Keep is for workflows that do not say how long. Watched runs of those are kept as long as somebody waits.
	Keep time.Duration
}

// Pruned is what came of a step.
type Pruned struct {
	// Busy says that another process prunes; nothing was done.
	Busy bool
	// Last is the last schedule or workflow that was looked at, 0 when there was none after After.
	Last int64
	// Gone is how many rows were removed. While it is not 0, there may be more of the same ones.
	Gone int
}

// alonePruning makes one process prune at a time, and by index however small the tables are said to be.
const alonePruning = "SELECT pg_try_advisory_xact_lock(hashtextextended('ax.prune', 0)) FROM set_config('enable_seqscan', 'off', true)"

// Prune makes one step, in one transaction. Only one process prunes at a time.
func (s *Store) Prune(ctx context.Context, step PruneStep) (Pruned, error) {
	var out Pruned
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var alone bool
		if err := tx.QueryRow(ctx, alonePruning).Scan(&alone); err != nil {
			return err
		}
		if out.Busy = !alone; out.Busy {
			return nil
		}
		args := []any{step.After, step.Owners, step.Rows}
		if step.What != PruneWatched {
			args = append(args, step.Keep.Microseconds())
		}
		return tx.QueryRow(ctx, moves["prune_"+string(step.What)], args...).Scan(&out.Last, &out.Gone)
	})
	if err != nil {
		return Pruned{}, fmt.Errorf("prune %s: %w", step.What, err)
	}
	return out, nil
}

// LedgerSpan says what the ledger of a schedule can tell of.
type LedgerSpan struct {
	// Begun is when the schedule was registered first.
	Begun time.Time
	// PrunedUntil is the last instant that is not kept any more; nil while all are.
	PrunedUntil *time.Time
}

// Forgotten reports whether an instant that is not in the ledger may have been in it.
func (l LedgerSpan) Forgotten(at time.Time) bool {
	return l.PrunedUntil != nil && !at.After(*l.PrunedUntil) && !at.Before(l.Begun)
}

// LedgerSpan reads what the ledger of a schedule can tell of.
func (s *Store) LedgerSpan(ctx context.Context, tx pgx.Tx, sched int64) (l LedgerSpan, err error) {
	err = tx.QueryRow(ctx, `SELECT s.created_at, l.pruned_until FROM ax.schedules s LEFT JOIN ax.ledger_starts l ON l.schedule_id = s.id
		WHERE s.id = $1`, sched).Scan(&l.Begun, &l.PrunedUntil)
	return l, found(err, "schedule %d", sched)
}

// LedgerPruned is up to where the ledger of any of a workflow's schedules is not kept any more; nil while all of it is.
func (s *Store) LedgerPruned(ctx context.Context, workflow int64) (until *time.Time, err error) {
	err = s.pool.QueryRow(ctx, `SELECT max(l.pruned_until) FROM ax.schedules s JOIN ax.ledger_starts l ON l.schedule_id = s.id
		WHERE s.workflow_id = $1`, workflow).Scan(&until)
	if err != nil {
		return nil, fmt.Errorf("read the beginning of the ledger: %w", err)
	}
	return until, nil
}

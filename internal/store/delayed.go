package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// DelayedState says what became of a run that was asked for in advance.
type DelayedState string

// The states. A delayed run that is refused, by an overlap or a pause, goes on waiting (S10).
const (
	DelayedWaiting  DelayedState = "waiting"
	DelayedStarted  DelayedState = "started"
	DelayedCanceled DelayedState = "canceled"
	// DelayedFailed could not become a run, such as for a parameter that the newest version does not take.
	DelayedFailed DelayedState = "failed"
)

// DelayedRun is a one-off run to be started at RunAt (S4).
type DelayedRun struct {
	ID                  RunID
	Namespace, Workflow int64
	// Version is 0 for the newest when it starts.
	Version            int64
	Params             []byte
	RunAt, ScheduledAt time.Time
	LogicalDate, Actor string
}

// AddDelayed writes runs that are to start later and returns their ids, in order. They exist when tx commits.
func (s *Store) AddDelayed(ctx context.Context, tx pgx.Tx, runs []DelayedRun) ([]RunID, error) {
	rows, err := tx.Query(ctx, moves["delay"],
		column(runs, func(r *DelayedRun) int64 { return r.Namespace }), column(runs, func(r *DelayedRun) int64 { return r.Workflow }),
		column(runs, func(r *DelayedRun) *int64 { return orNull(r.Version) }), column(runs, func(r *DelayedRun) string { return string(r.Params) }),
		column(runs, func(r *DelayedRun) time.Time { return r.RunAt }), column(runs, func(r *DelayedRun) time.Time { return r.ScheduledAt }),
		column(runs, func(r *DelayedRun) string { return r.LogicalDate }), column(runs, func(r *DelayedRun) string { return r.Actor }))
	if err != nil {
		return nil, fmt.Errorf("add %d delayed runs: %w", len(runs), err)
	}
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (RunID, error) {
		var id RunID
		return id, row.Scan(&id, nil)
	})
	if err != nil {
		return nil, fmt.Errorf("add %d delayed runs: %w", len(runs), err)
	}
	return got, nil
}

// ClaimDelayed claims at most limit delayed runs whose time has come, in order; Version is the one that they are to have.
func (s *Store) ClaimDelayed(ctx context.Context, tx pgx.Tx, limit int) ([]DelayedRun, error) {
	rows, err := tx.Query(ctx, moves["delayed_due"], limit)
	if err != nil {
		return nil, fmt.Errorf("claim delayed runs: %w", err)
	}
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (DelayedRun, error) {
		var r DelayedRun
		return r, row.Scan(&r.ID, &r.Namespace, &r.Workflow, &r.Version, &r.Params, &r.RunAt, &r.ScheduledAt, &r.LogicalDate, &r.Actor)
	})
	if err != nil {
		return nil, fmt.Errorf("claim delayed runs: %w", err)
	}
	return got, nil
}

// DelayedEnd is what became of a claimed delayed run; in state DelayedWaiting it is taken up again later.
type DelayedEnd struct {
	ID     RunID
	State  DelayedState
	Run    RunID
	Reason string
}

// EndDelayed writes what became of claimed delayed runs.
func (s *Store) EndDelayed(ctx context.Context, tx pgx.Tx, ends []DelayedEnd) error {
	_, err := tx.Exec(ctx, moves["delayed_end"], column(ends, func(e *DelayedEnd) int64 { return int64(e.ID) }),
		column(ends, func(e *DelayedEnd) string { return string(e.State) }), column(ends, func(e *DelayedEnd) *int64 { return orNull(int64(e.Run)) }),
		column(ends, func(e *DelayedEnd) *string { return orNull(e.Reason) }))
	if err != nil {
		return fmt.Errorf("write what became of %d delayed runs: %w", len(ends), err)
	}
	return nil
}

// ParkDelayed puts aside the due delayed runs of paused workflows until those are resumed (S33).
func (s *Store) ParkDelayed(ctx context.Context) error {
	if _, err := s.pool.Exec(ctx, moves["delayed_park"]); err != nil {
		return fmt.Errorf("put delayed runs aside: %w", err)
	}
	return nil
}

// UnparkDelayed takes up again what ParkDelayed put aside. The caller has ended the workflow's pause in the same transaction.
func (s *Store) UnparkDelayed(ctx context.Context, tx pgx.Tx, workflow int64) error {
	_, err := tx.Exec(ctx, "UPDATE ax.delayed_runs SET due_at = run_at WHERE workflow_id = $1 AND due_at = 'infinity'", workflow)
	if err != nil {
		return fmt.Errorf("take up delayed runs again: %w", err)
	}
	return nil
}

// UntilNextDelayed is how long until the next delayed run is due by the database's clock; ok is false when none is.
func (s *Store) UntilNextDelayed(ctx context.Context) (d time.Duration, ok bool, err error) {
	var us *int64
	err = s.pool.QueryRow(ctx, `SELECT (extract(epoch FROM min(due_at) - clock_timestamp()) * 1000000)::bigint
		FROM ax.delayed_runs WHERE due_at IS NOT NULL AND due_at < 'infinity'`).Scan(&us)
	if err != nil {
		return 0, false, fmt.Errorf("find the next delayed run: %w", err)
	}
	if us == nil {
		return 0, false, nil
	}
	return time.Duration(*us) * time.Microsecond, true, nil
}

// CancelDelayed ends a delayed run that waits; false says that it does not wait any more.
func (s *Store) CancelDelayed(ctx context.Context, id RunID, actor, reason string) (bool, error) {
	tag, err := s.pool.Exec(ctx, `UPDATE ax.delayed_runs SET state = 'canceled', due_at = NULL, ended_at = now(), ended_by = $2, reason = $3
		WHERE id = $1 AND state = 'waiting'`, id, actor, orNull(reason))
	if err != nil {
		return false, fmt.Errorf("cancel delayed run %s: %w", id, err)
	}
	return tag.RowsAffected() > 0, nil
}

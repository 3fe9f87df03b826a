package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store/internal/db"
)

// Limit is a limited workflow under its lock.
type Limit struct {
	Workflow           int64
	MaxRuns, MaxQueued int
	Overflow           dag.Overflow
}

// Load is how many runs of one key of a limited workflow there are. Ready are the queued ones that are not held.
type Load struct {
	Workflow               int64
	Key                    string
	Running, Queued, Ready int
}

// Limits are limited workflows under their locks, with the load of each of their keys.
type Limits struct {
	Limits []Limit
	Loads  []Load
}

// LockLimits locks the limited ones among some workflows, in id order, and counts their active runs.
func (s *Store) LockLimits(ctx context.Context, tx pgx.Tx, workflows []int64) (found Limits, err error) {
	b := &pgx.Batch{}
	queueLimits(b, workflows, &found)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return found, fmt.Errorf("lock limits of %d workflows: %w", len(workflows), err)
	}
	return found, nil
}

func queueLimits(b *pgx.Batch, workflows []int64, found *Limits) {
	b.Queue(`SELECT id, max_runs, COALESCE(max_queued, 2147483647), COALESCE(overflow, 'queue') FROM ax.workflows
		WHERE id = ANY ($1::bigint[]) AND max_runs IS NOT NULL ORDER BY id FOR NO KEY UPDATE`, workflows).
		Query(collect(&found.Limits, func(l *Limit) []any { return []any{&l.Workflow, &l.MaxRuns, &l.MaxQueued, &l.Overflow} }))
	b.Queue(moves["admit"], workflows).
		Query(collect(&found.Loads, func(l *Load) []any { return []any{&l.Workflow, &l.Key, &l.Running, &l.Queued, &l.Ready} }))
}

// NextRuns draws ids for new runs, and locks the limited ones among their workflows as LockLimits does.
func (s *Store) NextRuns(ctx context.Context, tx pgx.Tx, n int, workflows []int64) (drawn []RunID, found Limits, err error) {
	b := &pgx.Batch{}
	b.Queue("SELECT ax.next_run_id() FROM generate_series(1, $1::int)", n).
		Query(collect(&drawn, func(id *RunID) []any { return []any{id} }))
	if len(workflows) > 0 {
		queueLimits(b, workflows, &found)
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, found, fmt.Errorf("draw ids for %d runs: %w", n, err)
	}
	return drawn, found, nil
}

// Displaced finds and locks the queued runs of a key that newer ones displace: those that never started, all but the newest keep. The caller
// holds the workflow's lock.
func (s *Store) Displaced(ctx context.Context, tx pgx.Tx, workflow int64, key string, keep int) ([]RunID, error) {
	rows, err := tx.Query(ctx, moves["displaced"], workflow, key, keep)
	if err != nil {
		return nil, fmt.Errorf("find displaced runs: %w", err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[RunID])
	if err != nil {
		return nil, fmt.Errorf("find displaced runs: %w", err)
	}
	return got, nil
}

// MakeRoom asks for the end of running runs of a key, the oldest first, until as many as wait are about to end. The caller holds the
// workflow's lock.
func (s *Store) MakeRoom(ctx context.Context, tx pgx.Tx, workflow int64, key string, waiting int) error {
	if _, err := tx.Exec(ctx, moves["make_room"], workflow, key, waiting); err != nil {
		return fmt.Errorf("cancel runs to make room: %w", err)
	}
	return nil
}

// StirQueued has the engine look at a workflow's queued runs once tx commits: its limit may have risen.
func (s *Store) StirQueued(ctx context.Context, tx pgx.Tx, workflow int64) error {
	n, err := db.New(tx).StirQueued(ctx, workflow)
	if err == nil && n > 0 {
		_, err = tx.Exec(ctx, "SELECT pg_notify($1, '')", ChannelIntent)
	}
	if err != nil {
		return fmt.Errorf("look for queued runs: %w", err)
	}
	return nil
}

package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Completion is what ended of a workflow that others wait for (S12): a run, or with Node set one of its nodes, or with Run zero a slot
// of a schedule that made no run.
type Completion struct {
	ID, Workflow int64
	Node         string
	Run          RunID
	Generation   int
	ScheduledAt  time.Time
	LogicalDate  string
}

// ClaimCompletions claims at most limit completions, oldest first.
func (s *Store) ClaimCompletions(ctx context.Context, tx pgx.Tx, limit int) ([]Completion, error) {
	rows, err := tx.Query(ctx, `SELECT id, workflow_id, node, COALESCE(run_id, 0), generation, scheduled_at, to_char(logical_date, 'YYYY-MM-DD')
		FROM ax.completions WHERE due_at <= now() ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED`, limit)
	if err != nil {
		return nil, fmt.Errorf("claim completions: %w", err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Completion])
	if err != nil {
		return nil, fmt.Errorf("claim completions: %w", err)
	}
	return got, nil
}

// AddCompletions tells of slots that made no run.
func (s *Store) AddCompletions(ctx context.Context, tx pgx.Tx, slots []Completion) error {
	if len(slots) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `WITH c AS (INSERT INTO ax.completions (workflow_id, scheduled_at, logical_date)
			SELECT workflow_id, scheduled_at, logical_date::date FROM unnest($1::bigint[], $2::timestamptz[], $3::text[]) t (workflow_id, scheduled_at, logical_date))
		SELECT pg_notify('ax_completed', '')`,
		column(slots, func(c *Completion) int64 { return c.Workflow }), column(slots, func(c *Completion) time.Time { return c.ScheduledAt }),
		column(slots, func(c *Completion) string { return c.LogicalDate }))
	if err != nil {
		return fmt.Errorf("tell of %d slots without a run: %w", len(slots), err)
	}
	return nil
}

// DropCompletions removes claimed completions that were consumed.
func (s *Store) DropCompletions(ctx context.Context, tx pgx.Tx, done []Completion) error {
	if _, err := tx.Exec(ctx, "DELETE FROM ax.completions WHERE id = ANY ($1::bigint[])", column(done, func(c *Completion) int64 { return c.ID })); err != nil {
		return fmt.Errorf("drop %d completions: %w", len(done), err)
	}
	return nil
}

// PutOffCompletion leaves a claimed completion for later: it could not be consumed.
func (s *Store) PutOffCompletion(ctx context.Context, tx pgx.Tx, c Completion, d time.Duration) error {
	_, err := tx.Exec(ctx, "UPDATE ax.completions SET due_at = now() + $2::bigint * interval '1 microsecond' WHERE id = $1", c.ID, d.Microseconds())
	if err != nil {
		return fmt.Errorf("put off a completion: %w", err)
	}
	return nil
}

// NoteEnded notes of the runs among some completions that they have ended.
func (s *Store) NoteEnded(ctx context.Context, tx pgx.Tx, done []Completion) error {
	var runs []int64
	for _, c := range done {
		if c.Run != 0 && c.Node == "" {
			runs = append(runs, int64(c.Run))
		}
	}
	if len(runs) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, moves["watch"], runs); err != nil {
		return fmt.Errorf("note that %d runs have ended: %w", len(runs), err)
	}
	return nil
}

// Counting are those of some completions that count for others: not those of a backfill that does not cascade.
func (s *Store) Counting(ctx context.Context, tx pgx.Tx, done []Completion) ([]Completion, error) {
	rows, err := tx.Query(ctx, `SELECT r.id FROM ax.runs r WHERE r.id = ANY ($1::bigint[]) AND r.trigger = 'backfill'
		AND NOT EXISTS (SELECT FROM ax.watched_runs k WHERE k.run_id = r.id)`, column(done, func(c *Completion) int64 { return int64(c.Run) }))
	if err != nil {
		return nil, fmt.Errorf("sort %d completions: %w", len(done), err)
	}
	aside, err := pgx.CollectRows(rows, pgx.RowTo[RunID])
	if err != nil {
		return nil, fmt.Errorf("sort %d completions: %w", len(done), err)
	}
	return slices.DeleteFunc(slices.Clone(done), func(c Completion) bool { return slices.Contains(aside, c.Run) }), nil
}

// WatchRuns makes runs that are not waited for by themselves, those of a backfill that cascades, count for the workflows that wait.
func (s *Store) WatchRuns(ctx context.Context, tx pgx.Tx, runs []RunID) error {
	_, err := tx.Exec(ctx, `INSERT INTO ax.watched_runs (run_id, workflow_id, scheduled_at, logical_date)
		SELECT id, workflow_id, scheduled_at, logical_date FROM ax.runs WHERE id = ANY ($1::bigint[]) ON CONFLICT DO NOTHING`, ids(runs))
	if err != nil {
		return fmt.Errorf("watch %d runs: %w", len(runs), err)
	}
	return nil
}

// NowIn is the database's clock as a transaction sees it.
func (s *Store) NowIn(ctx context.Context, tx pgx.Tx) (now time.Time, err error) {
	if err = tx.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return now, fmt.Errorf("read the database's clock: %w", err)
	}
	return now, nil
}

// Watched reports whether other workflows wait for one's completions.
func (s *Store) Watched(ctx context.Context, tx pgx.Tx, workflow int64) (watched bool, err error) {
	err = tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM ax.upstream_terms WHERE upstream_id = $1)", workflow).Scan(&watched)
	if err != nil {
		return false, fmt.Errorf("look for workflows that wait: %w", err)
	}
	return watched, nil
}

package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Expired lists attempts that have waited longer than their queue_timeout, at most limit of each sort.
func (s *Store) Expired(ctx context.Context, limit int) ([]Claim, error) {
	return s.waiting(ctx, moves["expired"], limit)
}

// ExpiredByDefault lists queued attempts without a queue_timeout of their own that have stood in the queue for a day, at most limit. It walks the
// queue, so it is for now and then.
func (s *Store) ExpiredByDefault(ctx context.Context, limit int) ([]Claim, error) {
	return s.waiting(ctx, `SELECT id, args #>> '{}' FROM ax_river.river_job
		WHERE state = 'available' AND created_at < now() - interval '1 day' AND NOT metadata ? 'expires' LIMIT $1`, limit)
}

func (s *Store) waiting(ctx context.Context, query string, limit int) ([]Claim, error) {
	rows, err := s.pool.Query(ctx, query, limit)
	if err != nil {
		return nil, fmt.Errorf("list what has waited too long: %w", err)
	}
	claims, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Claim, error) {
		var c Claim
		var args string
		if err := row.Scan(&c.Job.ID, &args); err != nil {
			return c, err
		}
		var err error
		c.Attempt, err = ParseJobArgs(args)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("list what has waited too long: %w", err)
	}
	return claims, nil
}

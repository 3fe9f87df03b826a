package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// TakeDuty takes on work that one process does at a time, if it is due and nobody has it. If the holder dies, it is due again after lease.
func (s *Store) TakeDuty(ctx context.Context, name, holder string, lease time.Duration) (taken bool, err error) {
	err = s.pool.QueryRow(ctx, `INSERT INTO ax.duties AS d (name, holder, due_at) VALUES ($1, $2, now() + $3::bigint * interval '1 microsecond')
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, due_at = excluded.due_at WHERE d.due_at <= now() RETURNING true`,
		name, holder, lease.Microseconds()).Scan(&taken)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("take on %s: %w", name, err)
	}
	return taken, nil
}

// EndDuty says that the work is done, and due again after a while.
func (s *Store) EndDuty(ctx context.Context, name, holder string, again time.Duration) error {
	_, err := s.pool.Exec(ctx, "UPDATE ax.duties SET due_at = now() + $3::bigint * interval '1 microsecond' WHERE name = $1 AND holder = $2",
		name, holder, again.Microseconds())
	if err != nil {
		return fmt.Errorf("end %s: %w", name, err)
	}
	return nil
}

// EnsurePartitions makes the partitions of this month and of some months after it, where they are missing.
func (s *Store) EnsurePartitions(ctx context.Context, ahead int) error {
	if _, err := s.pool.Exec(ctx, "SELECT ax.ensure_partitions(now(), $1)", ahead); err != nil {
		return fmt.Errorf("make partitions: %w", err)
	}
	return nil
}

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Lane is a pair of River queue and job kind.
type Lane struct{ Queue, Kind string }

func laneArgs(lanes []Lane, limit int) []any {
	return []any{
		column(lanes, func(l *Lane) string { return l.Queue }),
		column(lanes, func(l *Lane) string { return l.Kind }),
		limit,
	}
}

// ReleaseDue queues at most limit held nodes whose time has come, and says how many it took.
func (s *Store) ReleaseDue(ctx context.Context, live []Lane, limit int) (int, error) {
	return s.release(ctx, "release_due", live, limit)
}

// ReleaseWorker queues at most limit held nodes that a live worker would take by now, and says how many it took.
func (s *Store) ReleaseWorker(ctx context.Context, live []Lane, limit int) (int, error) {
	return s.release(ctx, "release_worker", live, limit)
}

func (s *Store) release(ctx context.Context, move string, live []Lane, limit int) (int, error) {
	var taken, notified int
	if err := s.pool.QueryRow(ctx, moves[move], laneArgs(live, limit)...).Scan(&taken, &notified); err != nil {
		return 0, fmt.Errorf("release held nodes: %w", err)
	}
	return taken, nil
}

// Strand takes at most limit queued jobs that no live worker would take back to held, and says how many.
func (s *Store) Strand(ctx context.Context, live []Lane, limit int) (int, error) {
	var n int
	if err := s.pool.QueryRow(ctx, moves["strand"], laneArgs(live, limit)...).Scan(&n); err != nil {
		return 0, fmt.Errorf("take back stranded jobs: %w", err)
	}
	return n, nil
}

// NextDue is how long until the next held node is due by the database's clock; ok is false when none is.
func (s *Store) NextDue(ctx context.Context) (d time.Duration, ok bool, err error) {
	var us *int64
	err = s.pool.QueryRow(ctx, `SELECT (extract(epoch FROM min(due_at) - now()) * 1000000)::bigint FROM ax.held
		WHERE due_at IS NOT NULL AND kind IN ('due', 'wait')`).Scan(&us)
	if err != nil {
		return 0, false, fmt.Errorf("find the next due node: %w", err)
	}
	if us == nil {
		return 0, false, nil
	}
	return time.Duration(*us) * time.Microsecond, true, nil
}

// Approval finds the attempt of a node that waits for a person; ErrNotFound when none does.
func (s *Store) Approval(ctx context.Context, a Attempt) (c Claim, err error) {
	c.Attempt = a
	err = s.pool.QueryRow(ctx, `SELECT generation, attempt FROM ax.held WHERE run_id = $1 AND node = $2 AND shard = $3 AND kind = 'approval'`,
		a.Run, a.Node, a.Shard).Scan(&c.Attempt.Generation, &c.Attempt.Number)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, fmt.Errorf("approval of %s: %w", a.ExecutionID(), ErrNotFound)
	}
	if err != nil {
		return c, fmt.Errorf("find approval: %w", err)
	}
	return c, nil
}

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

// Lanes are where nodes may go now: Open has a live worker and a queue that is not paused; Paused are the River queues that are.
type Lanes struct {
	Open   []Lane
	Paused []string
}

func (l *Lanes) open() []any {
	return []any{column(l.Open, func(l *Lane) string { return l.Queue }), column(l.Open, func(l *Lane) string { return l.Kind })}
}

// ReleaseDue sends at most limit held nodes whose time has come on, and says how many it took.
func (s *Store) ReleaseDue(ctx context.Context, lanes Lanes, limit int) (int, error) {
	return s.release(ctx, "release_due", append(lanes.open(), lanes.paused(), limit))
}

// ReleaseWorker queues at most limit held nodes that a live worker would take by now, and says how many it took.
func (s *Store) ReleaseWorker(ctx context.Context, lanes Lanes, limit int) (int, error) {
	return s.release(ctx, "release_worker", append(lanes.open(), limit))
}

func (s *Store) release(ctx context.Context, move string, args []any) (int, error) {
	var taken, notified int
	if err := s.pool.QueryRow(ctx, moves[move], args...).Scan(&taken, &notified); err != nil {
		return 0, fmt.Errorf("release held nodes: %w", err)
	}
	return taken, nil
}

// Strand takes at most limit queued jobs that no live worker would take back to held, and says how many.
func (s *Store) Strand(ctx context.Context, lanes Lanes, limit int) (int, error) {
	var n, notified int
	if err := s.pool.QueryRow(ctx, moves["strand"], append(lanes.open(), lanes.paused(), limit)...).Scan(&n, &notified); err != nil {
		return 0, fmt.Errorf("take back stranded jobs: %w", err)
	}
	return n, nil
}

// paused is never null: nothing is among null's elements, and nothing is not.
func (l *Lanes) paused() []string {
	if l.Paused == nil {
		return []string{}
	}
	return l.Paused
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

// Approval finds the attempt of a node that waits for a person, of any generation where a has none; ErrNotFound when none does.
func (s *Store) Approval(ctx context.Context, a Attempt) (c Claim, err error) {
	c.Attempt = a
	err = s.pool.QueryRow(ctx, `SELECT generation, attempt FROM ax.held WHERE run_id = $1 AND node = $2 AND shard = $3 AND kind = 'approval'
		AND ($4 = 0 OR generation = $4)`, a.Run, a.Node, a.Shard, a.Generation).Scan(&c.Attempt.Generation, &c.Attempt.Number)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, fmt.Errorf("approval of %s: %w", a.ExecutionID(), ErrNotFound)
	}
	if err != nil {
		return c, fmt.Errorf("find approval: %w", err)
	}
	return c, nil
}

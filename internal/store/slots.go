package store

import (
	"context"
	"fmt"
	"time"
)

// FreeSlots gives back the slots of an attempt that has ended and whose body has stopped now, or been given up on.
func (s *Store) FreeSlots(ctx context.Context, a Attempt) error {
	_, err := s.pool.Exec(ctx, `WITH freed AS (
			DELETE FROM ax.slots WHERE run_id = $1 AND node = $2 AND shard = $3 AND generation = $4 AND attempt = $5 AND stopping_until IS NOT NULL
			RETURNING 1)
		SELECT pg_notify('ax_pool', '') FROM freed LIMIT 1`, a.Run, a.Node, a.Shard, a.Generation, a.Number)
	if err != nil {
		return fmt.Errorf("free the slots of %s: %w", a.ExecutionID(), err)
	}
	return nil
}

// FreeStopped gives back the slots of bodies whose grace is over, and says how long until the next one's is; 0 when there is none.
func (s *Store) FreeStopped(ctx context.Context) (next time.Duration, err error) {
	var us *int64
	err = s.pool.QueryRow(ctx, `WITH freed AS (DELETE FROM ax.slots WHERE stopping_until <= now())
		SELECT (extract(epoch FROM min(stopping_until) - now()) * 1000000)::bigint FROM ax.slots WHERE stopping_until > now()`).Scan(&us)
	if err != nil {
		return 0, fmt.Errorf("free slots of stopped bodies: %w", err)
	}
	if us == nil {
		return 0, nil
	}
	return time.Duration(*us) * time.Microsecond, nil
}

// strayWhere holds for slots that belong to no attempt that is queued, running or stopping.
const strayWhere = `s.stopping_until IS NULL
	AND NOT EXISTS (SELECT FROM ax_river.river_job j WHERE j.unique_key = ax.job_key(s.run_id, s.node, s.shard)
		AND j.unique_key IS NOT NULL AND j.unique_states IS NOT NULL AND ax_river.river_job_state_in_bitmask(j.unique_states, j.state)
		AND j.args = ax.job_args(s.run_id, s.node, s.shard, s.generation, s.attempt))
	AND NOT EXISTS (SELECT FROM ax.held h WHERE h.run_id = s.run_id AND h.node = s.node AND h.shard = s.shard AND h.generation = s.generation
		AND h.attempt = s.attempt AND h.kind = 'remote')`

// StraySlots lists, at most limit, the attempts that have slots and are not queued, running or stopping. There are none, unless somebody has
// changed the rows by hand.
func (s *Store) StraySlots(ctx context.Context, limit int) ([]Attempt, error) {
	return s.stray(ctx, "SELECT DISTINCT s.run_id, s.node, s.shard, s.generation, s.attempt FROM ax.slots s WHERE "+strayWhere+" LIMIT $1", limit)
}

// FreeStray gives back such slots, and returns whose they were.
func (s *Store) FreeStray(ctx context.Context) ([]Attempt, error) {
	return s.stray(ctx, `WITH freed AS (DELETE FROM ax.slots s WHERE `+strayWhere+` RETURNING run_id, node, shard, generation, attempt)
		SELECT DISTINCT freed.* FROM freed WHERE (SELECT count(pg_notify('ax_pool', '')) FROM (SELECT 1 FROM freed LIMIT 1) f) > 0`)
}

func (s *Store) stray(ctx context.Context, query string, args ...any) ([]Attempt, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("look for stray slots: %w", err)
	}
	var stray []Attempt
	if err := collect(&stray, attemptTargets)(rows); err != nil {
		return nil, fmt.Errorf("look for stray slots: %w", err)
	}
	return stray, nil
}

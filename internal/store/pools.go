package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
)

// PoolSpec is what people decide of a pool (S23). Nil is no limit.
type PoolSpec struct {
	Slots      *int
	Rate       progress.Rate
	MaxWaiting *int
}

// Pool is a pool as it is now.
type Pool struct {
	PoolKey
	PoolSpec
	// Used is the weight of those who hold slots, of whom there are Holders; Stopping of that weight belongs to bodies that have not stopped
	// after their attempt's end. Waiting are the nodes that wait.
	Used, Holders, Stopping, Waiting int
	// NextAt is when the rate lets the next one start.
	NextAt                *time.Time
	PausedAt              *time.Time
	PausedBy, PauseReason string
	CreatedAt, UpdatedAt  time.Time
	// NamespaceName is the namespace's own name.
	NamespaceName string
}

const poolColumns = `SELECT p.namespace_id, n.name, p.name, p.slots, COALESCE(p.rate_count, 0), COALESCE(p.rate_seconds, 0), COALESCE(p.burst, 0), p.max_waiting,
		p.next_at, p.paused_at, COALESCE(p.paused_by, ''), COALESCE(p.pause_reason, ''), p.created_at, p.updated_at, u.used, u.holders, u.stopping
	FROM ax.pools p JOIN ax.namespaces n ON n.id = p.namespace_id CROSS JOIN LATERAL (
		SELECT COALESCE(sum(weight), 0) AS used, count(*) AS holders, COALESCE(sum(weight) FILTER (WHERE stopping_until IS NOT NULL), 0) AS stopping
		FROM ax.slots s WHERE s.namespace_id = p.namespace_id AND s.pool = p.name) u `

func poolTargets(p *Pool) []any {
	return []any{&p.Namespace, &p.NamespaceName, &p.Name, &p.Slots, &p.Rate.Count, &seconds{&p.Rate.Per}, &p.Rate.Burst, &p.MaxWaiting,
		&p.NextAt, &p.PausedAt, &p.PausedBy, &p.PauseReason, &p.CreatedAt, &p.UpdatedAt, &p.Used, &p.Holders, &p.Stopping}
}

// PoolUse reads every pool with what it has in use. Use is counted from the slots that attempts hold, never kept (S23, I6).
func (s *Store) PoolUse(ctx context.Context) ([]Pool, error) {
	return s.pools(ctx, poolColumns+"ORDER BY p.namespace_id, p.name")
}

// Pools lists the pools of a namespace by name, at most limit of those after a name.
func (s *Store) Pools(ctx context.Context, namespace int64, after string, limit int) ([]Pool, error) {
	return s.pools(ctx, poolColumns+"WHERE p.namespace_id = $1 AND p.name > $2 ORDER BY p.name LIMIT $3", namespace, after, limit)
}

// PoolNamed reads one pool, or returns ErrNotFound.
func (s *Store) PoolNamed(ctx context.Context, key PoolKey) (Pool, error) {
	found, err := s.pools(ctx, poolColumns+"WHERE p.namespace_id = $1 AND p.name = $2", key.Namespace, key.Name)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("pool %q: %w", key.Name, ErrNotFound)
	}
	if err != nil {
		return Pool{}, err
	}
	return found[0], nil
}

// pools reads pools at one instant, with those who wait.
func (s *Store) pools(ctx context.Context, query string, args ...any) ([]Pool, error) {
	var pools []Pool
	var waiting map[PoolKey]int
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, s.pool, snapshot, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		if err := collect(&pools, poolTargets)(rows); err != nil {
			return err
		}
		waiting, err = poolsWaiting(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read pools: %w", err)
	}
	for i := range pools {
		pools[i].Waiting = waiting[pools[i].PoolKey]
	}
	return pools, nil
}

// poolsWaiting counts who waits for each pool.
func poolsWaiting(ctx context.Context, tx pgx.Tx) (map[PoolKey]int, error) {
	rows, err := tx.Query(ctx, "SELECT demand, count(*) FROM ax.held WHERE kind = 'pool' GROUP BY demand")
	if err != nil {
		return nil, err
	}
	waiting := make(map[PoolKey]int)
	var demand Demand
	var n int
	_, err = pgx.ForEachRow(rows, []any{&demand, &n}, func() error {
		shares, err := demand.Shares()
		for _, share := range shares {
			waiting[share.PoolKey] += n
		}
		return err
	})
	return waiting, err
}

// PoolHolder is an attempt that holds slots of a pool.
type PoolHolder struct {
	Attempt Attempt
	Weight  int
	Since   time.Time
	// StoppingUntil is set when the attempt has ended and its body may not have.
	StoppingUntil *time.Time
}

// PoolHolders lists at most limit of those that hold slots of a pool, the longest first.
func (s *Store) PoolHolders(ctx context.Context, key PoolKey, limit int) ([]PoolHolder, error) {
	rows, err := s.pool.Query(ctx, `SELECT run_id, node, shard, generation, attempt, weight, taken_at, stopping_until FROM ax.slots
		WHERE namespace_id = $1 AND pool = $2 ORDER BY taken_at, run_id, node, shard LIMIT $3`, key.Namespace, key.Name, limit)
	if err != nil {
		return nil, fmt.Errorf("list holders of pool %q: %w", key.Name, err)
	}
	var holders []PoolHolder
	err = collect(&holders, func(h *PoolHolder) []any {
		return []any{&h.Attempt.Run, &h.Attempt.Node, &h.Attempt.Shard, &h.Attempt.Generation, &h.Attempt.Number, &h.Weight, &h.Since, &h.StoppingUntil}
	})(rows)
	if err != nil {
		return nil, fmt.Errorf("list holders of pool %q: %w", key.Name, err)
	}
	return holders, nil
}

// SetPool makes a pool, or gives one that exists another specification: what its rate has counted begins anew when the rate changes. It reports
// whether the pool is new; *PoolInUseError says why it was left as it is.
func (s *Store) SetPool(ctx context.Context, key PoolKey, spec PoolSpec) (created bool, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		users, err := lockPool(ctx, tx, key)
		if err != nil {
			return err
		}
		tooHeavy := heavier(users, spec.Slots)
		if tooHeavy == nil && spec.Slots != nil {
			if users, err = poolWaiters(ctx, tx, key); err != nil {
				return err
			}
			tooHeavy = heavier(users, spec.Slots)
		}
		if tooHeavy != nil {
			return &PoolInUseError{Pool: key.Name, Users: tooHeavy, Slots: *spec.Slots}
		}
		return tx.QueryRow(ctx, `WITH put AS (
				INSERT INTO ax.pools AS p (namespace_id, name, slots, rate_count, rate_seconds, burst, max_waiting) VALUES ($1, $2, $3, $4, $5, $6, $7)
				ON CONFLICT (namespace_id, name) DO UPDATE SET slots = excluded.slots, rate_count = excluded.rate_count, rate_seconds = excluded.rate_seconds,
					burst = excluded.burst, max_waiting = excluded.max_waiting, updated_at = now(),
					next_at = CASE WHEN (p.rate_count, p.rate_seconds, p.burst) IS NOT DISTINCT FROM
						(excluded.rate_count, excluded.rate_seconds, excluded.burst) THEN p.next_at END
				RETURNING xmax = 0 AS created)
			SELECT created, count(pg_notify('ax_pool', '')) FROM put GROUP BY created`, specArgs(key, spec)...).Scan(&created, new(int))
	})
	if err != nil {
		return false, fmt.Errorf("set pool %q: %w", key.Name, err)
	}
	return created, nil
}

func specArgs(key PoolKey, spec PoolSpec) []any {
	return []any{key.Namespace, key.Name, spec.Slots, orNull(spec.Rate.Count), orNull(int(spec.Rate.Per / time.Second)), orNull(spec.Rate.Burst), spec.MaxWaiting}
}

// AddPool makes a pool unless there is one of this name already.
func (s *Store) AddPool(ctx context.Context, key PoolKey, spec PoolSpec) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO ax.pools (namespace_id, name, slots, rate_count, rate_seconds, burst, max_waiting) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT DO NOTHING`, specArgs(key, spec)...)
	if err != nil {
		return fmt.Errorf("make pool %q: %w", key.Name, err)
	}
	return nil
}

// DeletePool removes a pool that nobody uses, holds or waits for. ErrNotFound and *PoolInUseError say why it was not.
func (s *Store) DeletePool(ctx context.Context, key PoolKey) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		users, err := lockPool(ctx, tx, key)
		if err != nil {
			return err
		}
		var holders int
		if err := tx.QueryRow(ctx, "SELECT count(*) FROM ax.slots WHERE namespace_id = $1 AND pool = $2", key.Namespace, key.Name).Scan(&holders); err != nil {
			return err
		}
		waiting, err := poolsWaiting(ctx, tx)
		if err != nil {
			return err
		}
		if len(users) > 0 || holders > 0 || waiting[key] > 0 {
			return &PoolInUseError{Pool: key.Name, Users: users, Holders: holders, Waiting: waiting[key]}
		}
		tag, err := tx.Exec(ctx, "DELETE FROM ax.pools WHERE namespace_id = $1 AND name = $2", key.Namespace, key.Name)
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete pool %q: %w", key.Name, err)
	}
	return nil
}

// PausePool lets nobody more into a pool; who holds slots goes on. Pausing a paused one keeps its time and changes who and why.
func (s *Store) PausePool(ctx context.Context, key PoolKey, actor, reason string) error {
	return s.shift(ctx, "pool "+key.Name, `UPDATE ax.pools SET paused_at = COALESCE(paused_at, now()), paused_by = $3, pause_reason = $4, updated_at = now()
		WHERE namespace_id = $1 AND name = $2`, key.Namespace, key.Name, actor, orNull(reason))
}

// ResumePool lets nodes into a paused pool again.
func (s *Store) ResumePool(ctx context.Context, key PoolKey) error {
	return s.shift(ctx, "pool "+key.Name, `WITH woken AS (SELECT pg_notify('ax_pool', '')) UPDATE ax.pools SET paused_at = NULL, paused_by = NULL,
		pause_reason = NULL, updated_at = now() FROM woken WHERE namespace_id = $1 AND name = $2`, key.Namespace, key.Name)
}

// shift carries out a change of one row, which must exist.
func (s *Store) shift(ctx context.Context, what, change string, args ...any) error {
	tag, err := s.pool.Exec(ctx, change, args...)
	if err != nil {
		return fmt.Errorf("change %s: %w", what, err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	return nil
}

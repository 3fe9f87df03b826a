package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Crowd is a pool or queue in which more nodes wait than may (M12).
type Crowd struct {
	Name string
	// Most is how many may wait.
	Most int
	// Beyond are the newest of those that wait, which are too many; at most as many as were asked for.
	Beyond []Claim
}

// bounded is a pool or queue with a limit, and how many of it may wait.
type bounded struct {
	namespace int64
	name      string
	// queues are the queue's River name and those of its routes.
	queues []string
	most   int
	// free is how many of those that wait could go at once: they do not count.
	free int
}

// CrowdedPools finds the pools in which more nodes wait than may, with at most limit of those that are too many of each. Lines are those in which
// somebody waits. A pool at which an admission is at work is left out.
func (s *Store) CrowdedPools(ctx context.Context, lines []PoolLine, limit int) ([]Crowd, error) {
	var crowds []Crowd
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT p.namespace_id, p.name, p.max_waiting, CASE WHEN p.slots IS NULL OR p.paused_at IS NOT NULL THEN 0 ELSE
				GREATEST(p.slots - (SELECT COALESCE(sum(s.weight), 0) FROM ax.slots s WHERE s.namespace_id = p.namespace_id AND s.pool = p.name), 0) END
			FROM ax.pools p WHERE p.max_waiting IS NOT NULL ORDER BY p.namespace_id, p.name FOR NO KEY UPDATE OF p SKIP LOCKED`)
		if err != nil {
			return err
		}
		var pools []bounded
		if err := collect(&pools, func(p *bounded) []any { return []any{&p.namespace, &p.name, &p.most, &p.free} })(rows); err != nil {
			return err
		}
		for _, p := range pools {
			demands, err := demandsFor(lines, PoolKey{p.namespace, p.name})
			if err != nil {
				return err
			}
			beyond, err := readClaims(tx.Query(ctx, `SELECT 0::bigint, ax.job_args(run_id, node, shard, generation, attempt) #>> '{}' FROM ax.held
				WHERE kind = 'pool' AND demand = ANY ($1::text[]) ORDER BY since, run_id, node, shard OFFSET $2 LIMIT $3`, demands, p.most+p.free, limit))
			if err != nil {
				return err
			}
			crowds = appendCrowd(crowds, p, beyond)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for crowded pools: %w", err)
	}
	return crowds, nil
}

// demandsFor are the demands, among those of some lines, that ask for a pool.
func demandsFor(lines []PoolLine, pool PoolKey) ([]string, error) {
	demands := []string{}
	for _, l := range lines {
		shares, err := l.Demand.Shares()
		if err != nil {
			return nil, err
		}
		for _, s := range shares {
			if s.PoolKey == pool {
				demands = append(demands, string(l.Demand))
			}
		}
	}
	return demands, nil
}

// CrowdedQueues finds the queues in which more nodes wait than may, with at most limit of those that are too many of each. Who waits for
// a pool does not wait in the queue yet.
func (s *Store) CrowdedQueues(ctx context.Context, limit int) ([]Crowd, error) {
	rows, err := s.pool.Query(ctx, `SELECT name, 'q' || id || ARRAY(SELECT 'q' || q.id || '-' || r.id FROM ax.routes r WHERE r.queue_id = q.id), max_waiting
		FROM ax.queues q WHERE max_waiting IS NOT NULL ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("look for crowded queues: %w", err)
	}
	var queues []bounded
	if err := collect(&queues, func(q *bounded) []any { return []any{&q.name, &q.queues, &q.most} })(rows); err != nil {
		return nil, fmt.Errorf("look for crowded queues: %w", err)
	}
	var crowds []Crowd
	for _, q := range queues {
		beyond, err := readClaims(s.pool.Query(ctx, `SELECT id, args FROM (
				SELECT id, args #>> '{}' AS args, created_at AS since FROM ax_river.river_job WHERE state = 'available' AND queue = ANY ($1::text[])
				UNION ALL SELECT 0, ax.job_args(run_id, node, shard, generation, attempt) #>> '{}', since FROM ax.held
				WHERE kind IN ('worker', 'queue') AND queue = ANY ($1::text[])) w
			ORDER BY since, id, args OFFSET $2 LIMIT $3`, q.queues, q.most, limit))
		if err != nil {
			return nil, fmt.Errorf("look for crowded queues: %w", err)
		}
		crowds = appendCrowd(crowds, q, beyond)
	}
	return crowds, nil
}

func appendCrowd(crowds []Crowd, b bounded, beyond []Claim) []Crowd {
	if len(beyond) == 0 {
		return crowds
	}
	return append(crowds, Crowd{Name: b.name, Most: b.most, Beyond: beyond})
}

// readClaims reads job ids, 0 for held rows, and the arguments of their attempts. The jobs are those that nobody has taken.
func readClaims(rows pgx.Rows, err error) ([]Claim, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Claim, err error) {
		return c, row.Scan(&c.Job.ID, &jobArgs{&c.Attempt})
	})
}

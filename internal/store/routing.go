package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// WaitingRoute is a route whose nodes are to be given to workers.
type WaitingRoute struct {
	Route
	// Lane is the route's own River queue.
	Lane string
}

// WaitingRoutes lists the routes that give nodes to workers and in which some wait, of queues that are not paused.
func (s *Store) WaitingRoutes(ctx context.Context) ([]WaitingRoute, error) {
	rows, err := s.pool.Query(ctx, `SELECT 'q' || r.queue_id, r.kind, r.labels, r.worker, l.lane FROM ax.routes r JOIN ax.queues q ON q.id = r.queue_id
		CROSS JOIN LATERAL (SELECT 'q' || r.queue_id || '-' || r.id AS lane) l
		WHERE r.kind <> 'any' AND q.paused_at IS NULL
			AND EXISTS (SELECT FROM ax.held h WHERE h.queue = l.lane AND h.kind IN ('worker', 'pool', 'queue') AND h.queue LIKE '%-%')`)
	if err != nil {
		return nil, fmt.Errorf("list waiting routes: %w", err)
	}
	var found []WaitingRoute
	err = collect(&found, func(r *WaitingRoute) []any { return []any{&r.Queue, &r.Kind, &r.Labels, &r.Worker, &r.Lane} })(rows)
	if err != nil {
		return nil, fmt.Errorf("list waiting routes: %w", err)
	}
	return found, nil
}

// RouteWaiter is a node that waits to be given to a worker. Kind is the job's.
type RouteWaiter struct {
	Attempt Attempt
	Kind    string
	Since   time.Time
}

// LockedRoute is a route under its lock: how many it has given away, and the first of those that wait. Mine is false when somebody else has the lock.
type LockedRoute struct {
	Turn    int64
	Waiters []RouteWaiter
	Mine    bool
}

// LockRoute locks a route and reads the first of those that wait in it and whose runs go on: priority first, then age.
func (s *Store) LockRoute(ctx context.Context, tx pgx.Tx, lane string, limit int) (l LockedRoute, err error) {
	b := &pgx.Batch{}
	b.Queue("SELECT turn FROM ax.routes WHERE id = split_part($1, '-', 2)::bigint FOR NO KEY UPDATE SKIP LOCKED", lane).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&l.Turn}, func() error { l.Mine = true; return nil })
		return err
	})
	b.Queue(`SELECT h.run_id, h.node, h.shard, h.generation, h.attempt, h.job_kind, h.since FROM ax.held h JOIN ax.runs r ON r.id = h.run_id
		WHERE h.queue = $1 AND h.kind IN ('worker', 'pool', 'queue') AND h.queue LIKE '%-%' AND r.held_at IS NULL
		ORDER BY h.priority, h.since, h.run_id, h.node, h.shard LIMIT $2`, lane, limit).Query(collect(&l.Waiters, func(w *RouteWaiter) []any {
		return []any{&w.Attempt.Run, &w.Attempt.Node, &w.Attempt.Shard, &w.Attempt.Generation, &w.Attempt.Number, &w.Kind, &w.Since}
	}))
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return l, fmt.Errorf("lock route %q: %w", lane, err)
	}
	return l, nil
}

// Routed is a waiter that was given to a worker: Lane is that worker's River queue.
type Routed struct {
	Attempt Attempt
	Lane    string
}

// GiveRouted moves waiters of a locked route to the queues of their workers, under the locks of their runs, and notes how many were given away in turn.
func (s *Store) GiveRouted(ctx context.Context, tx pgx.Tx, lane string, given []Routed, turn int64) error {
	b := &pgx.Batch{}
	b.Queue("SELECT 1 FROM ax.runs WHERE id = ANY ($1::bigint[]) ORDER BY id FOR SHARE", column(given, func(r *Routed) int64 { return int64(r.Attempt.Run) }))
	b.Queue(`UPDATE ax.held h SET queue = t.lane, kind = CASE h.kind WHEN 'queue' THEN 'worker' ELSE h.kind END,
			detail = COALESCE(h.detail, '{}') || jsonb_build_object('route', $7::text)
		FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[], $6::text[]) t (run_id, node, shard, generation, attempt, lane)
		WHERE h.run_id = t.run_id AND h.node = t.node AND h.shard = t.shard AND h.generation = t.generation AND h.attempt = t.attempt
			AND h.queue = $7 AND h.kind IN ('worker', 'pool', 'queue')`,
		append(attemptNumbers(given, func(r *Routed) *Attempt { return &r.Attempt }), column(given, func(r *Routed) string { return r.Lane }), lane)...)
	b.Queue("UPDATE ax.routes SET turn = $2 WHERE id = split_part($1, '-', 2)::bigint", lane, turn)
	b.Queue("SELECT pg_notify('ax_workers', ''), pg_notify('ax_pool', '')")
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("give %d nodes of route %q to workers: %w", len(given), lane, err)
	}
	return nil
}

// UnrouteLost takes back what waits for a worker that was chosen for it and takes nothing any more: another is chosen. What was made for one worker
// waits for it.
func (s *Store) UnrouteLost(ctx context.Context) (int64, error) {
	tag, err := s.pool.Exec(ctx, `WITH stray AS (
			SELECT h.run_id, h.node, h.shard FROM ax.held h JOIN ax.routes l ON l.id = split_part(h.queue, '-', 2)::bigint
			JOIN ax.queues q ON q.id = l.queue_id JOIN ax.routes r ON r.id = split_part(h.detail ->> 'route', '-', 2)::bigint
			WHERE h.kind IN ('worker', 'pool', 'queue') AND h.queue LIKE '%-%' AND h.detail ? 'route' AND h.queue <> h.detail ->> 'route' AND r.kind <> 'pinned'
				AND NOT EXISTS (SELECT FROM ax.workers w WHERE w.namespace_id = q.namespace_id AND w.name = l.worker AND ax.worker_takes(w) AND h.job_kind = ANY (w.kinds))
			ORDER BY h.run_id FOR UPDATE OF h SKIP LOCKED)
		UPDATE ax.held h SET queue = h.detail ->> 'route' FROM stray s WHERE h.run_id = s.run_id AND h.node = s.node AND h.shard = s.shard`)
	if err != nil {
		return 0, fmt.Errorf("take back what waits for lost workers: %w", err)
	}
	return tag.RowsAffected(), nil
}

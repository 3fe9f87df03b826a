package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// RouteKind is how the worker of a node is found (S26).
type RouteKind string

// The kinds of routes: any worker with the labels, or the one of the name, takes what is queued there itself; the others are given to one worker
// at a time, in turn, by a key, or to that which a shard was made for.
const (
	RouteAny    RouteKind = "any"
	RouteInTurn RouteKind = "round_robin"
	RouteByKey  RouteKind = "consistent_hash"
	RoutePinned RouteKind = "pinned"
)

// Route is where nodes of a queue wait that not every worker may run.
type Route struct {
	// Queue is the River name of the queue.
	Queue  string
	Kind   RouteKind
	Labels map[string]string
	// Worker is the only one that may run them, "" for any with the labels.
	Worker string
}

// EnsureRoute makes a route exist and returns its River queue. The workers that serve it hear of it when it is new.
func (s *Store) EnsureRoute(ctx context.Context, r Route) (string, error) {
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	queue, err := strconv.ParseInt(strings.TrimPrefix(r.Queue, "q"), 10, 64)
	if err != nil {
		return "", fmt.Errorf("make route of queue %q: %w", r.Queue, err)
	}
	var id int64
	err = s.pool.QueryRow(ctx, `WITH old AS (SELECT id FROM ax.routes WHERE queue_id = $1 AND kind = $2 AND labels = $3::jsonb AND worker = $4
		), made AS (INSERT INTO ax.routes (queue_id, kind, labels, worker) SELECT $1, $2, $3::jsonb, $4 WHERE NOT EXISTS (SELECT FROM old)
			ON CONFLICT (queue_id, kind, labels, worker) DO UPDATE SET worker = excluded.worker RETURNING id, pg_notify('ax_workers', ''))
		SELECT id FROM old UNION ALL SELECT id FROM made`, queue, string(r.Kind), r.Labels, r.Worker).Scan(&id)
	if err != nil {
		return "", fmt.Errorf("make route of queue %q: %w", r.Queue, err)
	}
	return r.Queue + "-" + strconv.FormatInt(id, 10), nil
}

// ServedRoutes lists the River queues of the routes that a worker of some name and labels serves.
func (s *Store) ServedRoutes(ctx context.Context, namespace int64, name string, labels map[string]string) ([]string, error) {
	if labels == nil {
		labels = map[string]string{}
	}
	rows, err := s.pool.Query(ctx, `SELECT 'q' || r.queue_id || '-' || r.id FROM ax.routes r JOIN ax.queues q ON q.id = r.queue_id
		WHERE q.namespace_id = $1 AND r.kind = 'any' AND r.labels <@ $3::jsonb AND r.worker IN ('', $2)`, namespace, name, labels)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	served, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	return served, nil
}

// BaseQueue is the River queue that a route's queue belongs to; a queue's own is itself.
func BaseQueue(queue string) string {
	base, _, _ := strings.Cut(queue, "-")
	return base
}

// Candidate is a worker that a route may choose.
type Candidate struct {
	Name     string
	Kinds    []string
	Capacity int
	// Load is how many attempts wait for it alone or are run by it through a route.
	Load int
}

// Candidates lists the workers that take a queue, have some labels and take something now, by name.
func (s *Store) Candidates(ctx context.Context, tx pgx.Tx, queue string, labels map[string]string) ([]Candidate, error) {
	if labels == nil {
		labels = map[string]string{}
	}
	rows, err := tx.Query(ctx, `SELECT w.name, w.kinds, w.capacity,
			(SELECT count(*) FROM ax_river.river_job j WHERE j.state IN ('available', 'running') AND j.queue = l.queue)
			+ (SELECT count(*) FROM ax.held h WHERE h.queue = l.queue AND h.kind IN ('remote', 'worker', 'pool'))
		FROM ax.workers w JOIN ax.queues q ON 'q' || q.id = $1 AND q.namespace_id = w.namespace_id
		LEFT JOIN LATERAL (SELECT 'q' || r.queue_id || '-' || r.id AS queue FROM ax.routes r
			WHERE r.queue_id = q.id AND r.kind = 'any' AND r.labels = '{}' AND r.worker = w.name) l ON true
		WHERE ax.worker_takes(w) AND $1 = ANY (w.queues) AND $2::jsonb <@ w.labels ORDER BY w.name`, queue, labels)
	if err != nil {
		return nil, fmt.Errorf("list the workers of queue %q: %w", queue, err)
	}
	var found []Candidate
	err = collect(&found, func(c *Candidate) []any { return []any{&c.Name, &c.Kinds, &c.Capacity, &c.Load} })(rows)
	if err != nil {
		return nil, fmt.Errorf("list the workers of queue %q: %w", queue, err)
	}
	return found, nil
}

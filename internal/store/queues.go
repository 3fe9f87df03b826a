package store

import (
	"context"
	"fmt"
	"time"
)

// Queue is a queue as it is now.
type Queue struct {
	ID   int64
	Name string
	// MaxWaiting is how many nodes may wait in it, nil for no limit.
	MaxWaiting *int
	// Queued are the nodes that a worker may take, Running those that one has, Waiting those that are held back: for a worker, or because the
	// queue is paused. Those that wait for pools are not among them.
	Queued, Running, Waiting int
	// Workers are the live worker processes that take from it.
	Workers               int
	PausedAt              *time.Time
	PausedBy, PauseReason string
	CreatedAt             time.Time
}

// QueueRows lists the queues of a namespace by name, at most limit of those after a name.
func (s *Store) QueueRows(ctx context.Context, namespace int64, after string, limit int) ([]Queue, error) {
	return s.queues(ctx, "WHERE q.namespace_id = $1 AND q.name > $2 ORDER BY q.name LIMIT $3", namespace, after, limit)
}

// Queue reads one queue, or returns ErrNotFound.
func (s *Store) Queue(ctx context.Context, namespace int64, name string) (Queue, error) {
	found, err := s.queues(ctx, "WHERE q.namespace_id = $1 AND q.name = $2", namespace, name)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("queue %q: %w", name, ErrNotFound)
	}
	if err != nil {
		return Queue{}, err
	}
	return found[0], nil
}

func (s *Store) queues(ctx context.Context, where string, args ...any) ([]Queue, error) {
	rows, err := s.pool.Query(ctx, `SELECT q.id, q.name, q.max_waiting, q.paused_at, COALESCE(q.paused_by, ''), COALESCE(q.pause_reason, ''), q.created_at,
			(SELECT count(*) FROM ax_river.river_job j WHERE j.state = 'available' AND j.queue = ANY (l.lanes)),
			(SELECT count(*) FROM ax_river.river_job j WHERE j.state = 'running' AND j.queue = ANY (l.lanes))
				+ (SELECT count(*) FROM ax.held h WHERE h.incarnation IS NOT NULL AND h.queue = ANY (l.lanes)),
			(SELECT count(*) FROM ax.held h WHERE h.kind IN ('worker', 'queue') AND h.queue = ANY (l.lanes)),
			(SELECT count(*) FROM ax.workers w WHERE ax.worker_takes(w) AND 'q' || q.id = ANY (w.queues))
		FROM ax.queues q CROSS JOIN LATERAL (SELECT 'q' || q.id || ARRAY(SELECT 'q' || q.id || '-' || r.id FROM ax.routes r WHERE r.queue_id = q.id) AS lanes) l `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read queues: %w", err)
	}
	var queues []Queue
	err = collect(&queues, func(q *Queue) []any {
		return []any{&q.ID, &q.Name, &q.MaxWaiting, &q.PausedAt, &q.PausedBy, &q.PauseReason, &q.CreatedAt, &q.Queued, &q.Running, &q.Waiting, &q.Workers}
	})(rows)
	if err != nil {
		return nil, fmt.Errorf("read queues: %w", err)
	}
	return queues, nil
}

// SetQueue says how many nodes may wait in a queue, nil for no limit; a queue that does not exist is made.
func (s *Store) SetQueue(ctx context.Context, namespace int64, name string, maxWaiting *int) error {
	return s.shift(ctx, "queue "+name, `INSERT INTO ax.queues (namespace_id, name, max_waiting) VALUES ($1, $2, $3)
		ON CONFLICT (namespace_id, name) DO UPDATE SET max_waiting = excluded.max_waiting`, namespace, name, maxWaiting)
}

// PauseQueue lets nothing of a queue start; what is queued goes back to held when the engines have heard of it, at once or within a
// second. Pausing a paused one keeps its time and changes who and why.
func (s *Store) PauseQueue(ctx context.Context, namespace int64, name, actor, reason string) error {
	return s.shift(ctx, "queue "+name, `WITH told AS (SELECT pg_notify('ax_workers', '')) UPDATE ax.queues SET paused_at = COALESCE(paused_at, now()),
		paused_by = $3, pause_reason = $4 FROM told WHERE namespace_id = $1 AND name = $2`, namespace, name, actor, orNull(reason))
}

// ResumeQueue lets a paused queue go on.
func (s *Store) ResumeQueue(ctx context.Context, namespace int64, name string) error {
	return s.shift(ctx, "queue "+name, `WITH told AS (SELECT pg_notify('ax_workers', '')) UPDATE ax.queues SET paused_at = NULL, paused_by = NULL,
		pause_reason = NULL FROM told WHERE namespace_id = $1 AND name = $2`, namespace, name)
}

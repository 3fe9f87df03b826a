package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// QueueHealth is how things stand at one queue.
type QueueHealth struct {
	Namespace, Queue string
	Paused           bool
	// Available jobs wait for a worker to take them, the oldest for Oldest. Unserved nodes are held because no live worker takes their Kinds.
	Available int64
	Oldest    time.Duration
	Unserved  int64
	Kinds     []string
}

// QueueHealth tells of the queues at which anything waits.
func (s *Store) QueueHealth(ctx context.Context) ([]QueueHealth, error) {
	return list(ctx, s, "look at the queues", `WITH job AS (
			SELECT split_part(queue, '-', 1) AS queue, count(*) AS n, (extract(epoch FROM now() - min(scheduled_at)) * 1000000000)::bigint AS age
			FROM ax_river.river_job WHERE state = 'available' GROUP BY 1
		), unserved AS (
			SELECT split_part(queue, '-', 1) AS queue, count(*) AS n, array_agg(DISTINCT job_kind) AS kinds FROM ax.held WHERE kind IN ('worker', 'queue') GROUP BY 1
		)
		SELECT ns.name, q.name, q.paused_at IS NOT NULL, COALESCE(job.n, 0), COALESCE(job.age, 0), COALESCE(unserved.n, 0), COALESCE(unserved.kinds, '{}')
		FROM ax.queues q JOIN ax.namespaces ns ON ns.id = q.namespace_id LEFT JOIN job ON job.queue = 'q' || q.id LEFT JOIN unserved ON unserved.queue = 'q' || q.id
		WHERE job.n > 0 OR unserved.n > 0 ORDER BY ns.name, q.name`, func(q *QueueHealth) []any {
		return []any{&q.Namespace, &q.Queue, &q.Paused, &q.Available, &q.Oldest, &q.Unserved, &q.Kinds}
	})
}

// MoverHealth is whether somebody moves what is due.
type MoverHealth struct {
	// Workers counts worker processes by state.
	Workers map[string]int64
	// Late schedules are due, the longest for Lateness, and nobody has fired them; DueNodes and DueFor are the same of held nodes.
	Late, DueNodes   int64
	Lateness, DueFor time.Duration
	// Reconciled is how long ago the reconciler was to look again and did not; negative while it is not due.
	Reconciled time.Duration
	// NeverReconciled means that it has not looked yet.
	NeverReconciled bool
}

// MoverHealth reads it.
func (s *Store) MoverHealth(ctx context.Context) (h MoverHealth, err error) {
	h.Workers = make(map[string]int64)
	since := func(of string) string {
		return "COALESCE((extract(epoch FROM now() - " + of + ") * 1000000000)::bigint, 0)"
	}
	b := &pgx.Batch{}
	b.Queue("SELECT ax.worker_state(w)::text, count(*) FROM ax.workers w GROUP BY 1").Query(func(rows pgx.Rows) error {
		var state string
		var n int64
		_, err := pgx.ForEachRow(rows, []any{&state, &n}, func() error { h.Workers[state] = n; return nil })
		return err
	})
	b.Queue("SELECT count(*), " + since("min(next_fire_at)") + " FROM ax.schedules WHERE next_fire_at <= now()").
		QueryRow(func(r pgx.Row) error { return r.Scan(&h.Late, &h.Lateness) })
	b.Queue("SELECT count(*), " + since("min(due_at)") + " FROM ax.held WHERE kind IN ('due', 'wait') AND due_at <= now()").
		QueryRow(func(r pgx.Row) error { return r.Scan(&h.DueNodes, &h.DueFor) })
	b.Queue("SELECT count(*) = 0, " + since("max(due_at)") + " FROM ax.duties WHERE name = 'reconcile'").
		QueryRow(func(r pgx.Row) error { return r.Scan(&h.NeverReconciled, &h.Reconciled) })
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return h, fmt.Errorf("look who moves what is due: %w", err)
	}
	return h, nil
}

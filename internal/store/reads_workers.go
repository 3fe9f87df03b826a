package store

import (
	"context"
	"fmt"
	"time"
)

// WorkerState is what a worker is called (S27): online, draining (it takes nothing new), suspect (it has missed its beats) or lost.
type WorkerState string

// The states of workers.
const (
	WorkerOnline   WorkerState = "online"
	WorkerDraining WorkerState = "draining"
	WorkerSuspect  WorkerState = "suspect"
	WorkerLost     WorkerState = "lost"
)

// WorkerRow is a worker as it is now.
type WorkerRow struct {
	Worker
	State WorkerState
	// QueueNames are the queues it takes from by their own names.
	QueueNames []string
	// Running is how many attempts it has.
	Running   int
	StartedAt time.Time
	// BeatAt is nil for one that was declared lost.
	BeatAt    *time.Time
	DrainedAt *time.Time
	DrainedBy string
}

const workerColumns = `SELECT w.incarnation, w.name, w.namespace_id, w.app, w.host, w.remote, COALESCE(w.address, ''), w.protocol, w.labels, w.queues, w.kinds, w.capacity,
		ax.worker_state(w), ARRAY(SELECT DISTINCT q.name FROM unnest(w.queues) u JOIN ax.queues q ON 'q' || q.id = split_part(u, '-', 1) ORDER BY q.name),
		(SELECT count(*) FROM ax.held h WHERE h.incarnation = w.incarnation) + COALESCE(j.running, 0), w.started_at,
		CASE WHEN w.beat_at > '-infinity' THEN w.beat_at END, w.drained_at, COALESCE(w.drained_by, '')
	FROM ax.workers w LEFT JOIN (
		SELECT attempted_by[cardinality(attempted_by)] AS incarnation, count(*) AS running FROM ax_river.river_job WHERE state = 'running' GROUP BY 1
	) j USING (incarnation) `

// WorkerMark is a place in the list of workers.
type WorkerMark struct{ Name, Incarnation string }

// Workers lists the workers of a namespace by name and incarnation, at most limit of those after a mark; with a state only those in it.
func (s *Store) Workers(ctx context.Context, namespace int64, state WorkerState, after WorkerMark, limit int) ([]WorkerRow, error) {
	return s.workers(ctx, `WHERE w.namespace_id = $1 AND ($2::text = '' OR ax.worker_state(w) = $2) AND (w.name, w.incarnation) > ($3, $4)
		ORDER BY w.name, w.incarnation LIMIT $5`, namespace, string(state), after.Name, after.Incarnation, limit)
}

// WorkerNamed reads the newest incarnation of a worker, or returns ErrNotFound.
func (s *Store) WorkerNamed(ctx context.Context, namespace int64, name string) (WorkerRow, error) {
	rows, err := s.workers(ctx, "WHERE w.namespace_id = $1 AND w.name = $2 ORDER BY w.started_at DESC, w.beat_at DESC LIMIT 1", namespace, name)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("worker %q: %w", name, ErrNotFound)
	}
	if err != nil {
		return WorkerRow{}, err
	}
	return rows[0], nil
}

// WorkerLife reads one life of a worker; one that is over gets ErrWorkerLost.
func (s *Store) WorkerLife(ctx context.Context, incarnation string) (WorkerRow, error) {
	rows, err := s.workers(ctx, "WHERE w.incarnation = $1", incarnation)
	if err == nil && (len(rows) == 0 || rows[0].State == WorkerLost) {
		err = fmt.Errorf("worker %q: %w", incarnation, ErrWorkerLost)
	}
	if err != nil {
		return WorkerRow{}, err
	}
	return rows[0], nil
}

func (s *Store) workers(ctx context.Context, where string, args ...any) ([]WorkerRow, error) {
	rows, err := s.pool.Query(ctx, workerColumns+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read workers: %w", err)
	}
	var found []WorkerRow
	err = collect(&found, func(w *WorkerRow) []any {
		return []any{&w.Incarnation, &w.Name, &w.Namespace, &w.App, &w.Host, &w.Remote, &w.Address, &w.Protocol, &w.Labels, &w.Queues, &w.Kinds, &w.Capacity,
			&w.State, &w.QueueNames, &w.Running, &w.StartedAt, &w.BeatAt, &w.DrainedAt, &orEmpty{&w.DrainedBy}}
	})(rows)
	if err != nil {
		return nil, fmt.Errorf("read workers: %w", err)
	}
	return found, nil
}

// WorkerAttempts lists what a worker runs, the longest first, at most limit.
func (s *Store) WorkerAttempts(ctx context.Context, incarnation string, limit int) ([]WorkerAttempt, error) {
	rows, err := s.pool.Query(ctx, `(SELECT j.args #>> '{}', j.attempted_at, NULL::jsonb FROM ax_river.river_job j
			WHERE j.state = 'running' AND j.attempted_by[cardinality(j.attempted_by)] = $1
		UNION ALL SELECT ax.job_args(h.run_id, h.node, h.shard, h.generation, h.attempt) #>> '{}', h.started_at, h.detail -> 'progress' FROM ax.held h
			WHERE h.incarnation = $1) ORDER BY 2 LIMIT $2`, incarnation, limit)
	if err != nil {
		return nil, fmt.Errorf("list the attempts of worker %q: %w", incarnation, err)
	}
	var found []WorkerAttempt
	err = collect(&found, func(a *WorkerAttempt) []any { return []any{&jobArgs{&a.Attempt}, &a.Since, &a.Progress} })(rows)
	if err != nil {
		return nil, fmt.Errorf("list the attempts of worker %q: %w", incarnation, err)
	}
	return found, nil
}

// WorkerAttempt is what a worker runs. Progress is what the body said last, as JSON; nil for nothing.
type WorkerAttempt struct {
	Attempt  Attempt
	Since    *time.Time
	Progress []byte
}

// DrainWorker makes a worker take nothing new (S28); what it runs goes on. Draining a draining one keeps the first.
func (s *Store) DrainWorker(ctx context.Context, incarnation, actor string) error {
	return s.shift(ctx, "worker "+incarnation, `WITH told AS (SELECT pg_notify('ax_workers', '')) UPDATE ax.workers
		SET drained_by = CASE WHEN drained_at IS NULL THEN $2 ELSE drained_by END, drained_at = COALESCE(drained_at, now())
		FROM told WHERE incarnation = $1`, incarnation, actor)
}

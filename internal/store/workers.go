package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Worker is a worker's lease row.
type Worker struct {
	// Incarnation names this process, Name what restarts under the same name.
	Incarnation, Name string
	Namespace         int64
	// App is the program and its version, Host the machine, where the worker says so.
	App, Host string
	// Remote is a worker of the worker protocol; Address is where it is pushed to, "" when it polls. Protocol is the version it is served with.
	Remote   bool
	Address  string
	Protocol int
	Labels   map[string]string
	// Wants are the names of the queues that a remote worker takes from, nil for all. Queues are River's; the store finds those of a remote one.
	Wants, Queues, Kinds []string
	// Capacity is how many attempts it runs at once.
	Capacity int
	// Lease is how long after its last beat the worker counts as live, Suspect how long until it is given nothing new; zero: as long.
	Suspect, Lease time.Duration
}

// RegisterWorker writes the lease row and ends earlier incarnations of the same name at once (S27).
func (s *Store) RegisterWorker(ctx context.Context, w Worker) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE ax.workers SET beat_at = '-infinity' WHERE namespace_id = $1 AND name = $2", w.Namespace, w.Name)
		if err != nil {
			return err
		}
		if w.Labels == nil {
			w.Labels = map[string]string{}
		}
		_, err = tx.Exec(ctx, `INSERT INTO ax.workers (incarnation, name, namespace_id, app, host, remote, address, protocol, labels, wants, queues, kinds, capacity,
				suspect_after, lease)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, COALESCE($11::text[], '{}'), $12, $13, $14, $15)`,
			w.Incarnation, w.Name, w.Namespace, w.App, w.Host, w.Remote, orNull(w.Address), w.Protocol, w.Labels, w.Wants, w.Queues, w.Kinds, w.Capacity,
			cmp.Or(w.Suspect, w.Lease), w.Lease)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `WITH s AS (UPDATE ax.workers w SET queues = ax.queues_of(w) WHERE incarnation = $1 AND remote)
			SELECT pg_notify('ax_workers', '')`, w.Incarnation)
		return err
	})
	if err != nil {
		return fmt.Errorf("register worker %q: %w", w.Name, err)
	}
	return nil
}

// ErrWorkerLost says that others have taken this worker for dead: its attempts are not its own any more.
var ErrWorkerLost = errors.New("this worker was declared lost")

// Beat renews the lease of a worker process by the database's clock; what it serves may change with it. It reports whether somebody has told the
// worker to take nothing new.
func (s *Store) Beat(ctx context.Context, w Worker, stopping bool) (drained bool, err error) {
	err = s.pool.QueryRow(ctx, `UPDATE ax.workers SET beat_at = now(), queues = $2, stopping = $3
		WHERE incarnation = $1 AND beat_at + lease >= now() RETURNING drained_at IS NOT NULL OR leaving`, w.Incarnation, w.Queues, stopping).Scan(&drained)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrWorkerLost
	}
	if err != nil {
		return false, fmt.Errorf("renew lease of worker %q: %w", w.Name, err)
	}
	return drained, nil
}

// ForgetWorker removes a lease row once none of its attempts is running.
func (s *Store) ForgetWorker(ctx context.Context, incarnation string) error {
	_, err := s.pool.Exec(ctx, `WITH gone AS (
			DELETE FROM ax.workers w WHERE w.incarnation = $1 AND NOT EXISTS (
				SELECT FROM ax_river.river_job j WHERE j.state = 'running' AND j.attempted_by[cardinality(j.attempted_by)] = w.incarnation)
				AND NOT EXISTS (SELECT FROM ax.held h WHERE h.incarnation = w.incarnation)
			RETURNING 1)
		SELECT pg_notify('ax_workers', '') FROM gone`, incarnation)
	if err != nil {
		return fmt.Errorf("forget worker %q: %w", incarnation, err)
	}
	return nil
}

// LiveLanes lists what the live workers that take new work serve, and the queues that are paused.
func (s *Store) LiveLanes(ctx context.Context) (Lanes, error) {
	var l Lanes
	b := &pgx.Batch{}
	b.Queue(`SELECT 'q' || id FROM ax.queues WHERE paused_at IS NOT NULL UNION ALL
		SELECT 'q' || r.queue_id || '-' || r.id FROM ax.routes r JOIN ax.queues q ON q.id = r.queue_id WHERE q.paused_at IS NOT NULL ORDER BY 1`).
		Query(collect(&l.Paused, func(q *string) []any { return []any{q} }))
	b.Queue(`SELECT DISTINCT q, k FROM ax.workers w, unnest(queues) q, unnest(kinds) k
		WHERE ax.worker_takes(w)
			AND NOT EXISTS (SELECT FROM ax.queues p WHERE p.paused_at IS NOT NULL AND 'q' || p.id = split_part(q, '-', 1)) ORDER BY q, k`).
		Query(collect(&l.Open, func(l *Lane) []any { return []any{&l.Queue, &l.Kind} }))
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return l, fmt.Errorf("list live workers: %w", err)
	}
	return l, nil
}

// DeadWorkers lists the incarnations that are lost, and those that left and have nothing more.
func (s *Store) DeadWorkers(ctx context.Context) (lost, left []string, err error) {
	rows, err := s.pool.Query(ctx, `SELECT incarnation, ax.worker_lost(beat_at, lease, address) FROM ax.workers w WHERE ax.worker_lost(beat_at, lease, address)
		OR leaving AND remote AND NOT EXISTS (SELECT FROM ax.held h WHERE h.incarnation = w.incarnation)`)
	if err != nil {
		return nil, nil, fmt.Errorf("list dead workers: %w", err)
	}
	var incarnation string
	var isLost bool
	if _, err := pgx.ForEachRow(rows, []any{&incarnation, &isLost}, func() error {
		if isLost {
			lost = append(lost, incarnation)
		} else {
			left = append(left, incarnation)
		}
		return nil
	}); err != nil {
		return nil, nil, fmt.Errorf("list dead workers: %w", err)
	}
	return lost, left, nil
}

// Orphans lists running attempts, at most limit of each sort, whose worker is dead or unknown, or that were kept alive by beats of their own and
// are not any more.
func (s *Store) Orphans(ctx context.Context, limit int) ([]Claim, error) {
	return s.claims(ctx, `(SELECT j.id, j.attempt, j.args #>> '{}' FROM ax_river.river_job j
		WHERE j.state = 'running' AND NOT EXISTS (
			SELECT FROM ax.workers w WHERE w.incarnation = j.attempted_by[cardinality(j.attempted_by)] AND NOT ax.worker_lost(w.beat_at, w.lease, w.address))
		LIMIT $1) UNION ALL (SELECT 0, 0, ax.job_args(h.run_id, h.node, h.shard, h.generation, h.attempt) #>> '{}' FROM ax.held h
		WHERE h.incarnation IS NOT NULL AND NOT EXISTS (
			SELECT FROM ax.workers w WHERE w.incarnation = h.incarnation AND NOT ax.worker_lost(w.beat_at, w.lease, w.address))
		LIMIT $1) UNION ALL (SELECT 0, 0, ax.job_args(h.run_id, h.node, h.shard, h.generation, h.attempt) #>> '{}' FROM ax.held h
		WHERE h.lease_until < now() LIMIT $1)`, limit)
}

// BestWaiting is the best (lowest) priority that waits in each of some River queues; a queue without waiting jobs is absent.
func (s *Store) BestWaiting(ctx context.Context, queues []string) (map[string]int, error) {
	rows, err := s.pool.Query(ctx, `SELECT q.name, j.priority FROM unnest($1::text[]) q (name) CROSS JOIN LATERAL (
			SELECT priority FROM ax_river.river_job WHERE state = 'available' AND queue = q.name
			ORDER BY priority, scheduled_at, id LIMIT 1) j`, queues)
	if err != nil {
		return nil, fmt.Errorf("look what waits: %w", err)
	}
	best := make(map[string]int)
	var name string
	var priority int
	if _, err := pgx.ForEachRow(rows, []any{&name, &priority}, func() error {
		best[name] = priority
		return nil
	}); err != nil {
		return nil, fmt.Errorf("look what waits: %w", err)
	}
	return best, nil
}

// RunningJobs lists the running jobs that name a worker.
func (s *Store) RunningJobs(ctx context.Context, incarnation string) ([]Claim, error) {
	return s.claims(ctx, `SELECT j.id, j.attempt, j.args #>> '{}' FROM ax_river.river_job j
		WHERE j.state = 'running' AND j.attempted_by[cardinality(j.attempted_by)] = $1`, incarnation)
}

func (s *Store) claims(ctx context.Context, query string, arg any) ([]Claim, error) {
	rows, err := s.pool.Query(ctx, query, arg)
	if err != nil {
		return nil, fmt.Errorf("list running jobs: %w", err)
	}
	claims, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Claim, error) {
		var c Claim
		var args string
		if err := row.Scan(&c.Job.ID, &c.Job.Attempt, &args); err != nil {
			return c, err
		}
		var err error
		c.Attempt, err = ParseJobArgs(args)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("list running jobs: %w", err)
	}
	return claims, nil
}

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Claimed is a queued attempt that was taken for a remote worker.
type Claimed struct {
	Attempt  Attempt
	Place    Place
	QueuedAt time.Time
	// Holds is what held it back before, as JSON; nil for nothing.
	Holds []byte
}

// Receiver is a remote worker that would take at most Most attempts.
type Receiver struct {
	Incarnation string
	Most        int
}

// LockReceivers locks the workers that take something, and says how many attempts each has room for: its capacity less what it has, at most what
// it would take. Absent are those that take nothing now.
func (s *Store) LockReceivers(ctx context.Context, tx pgx.Tx, receivers []Receiver) (map[string]int, error) {
	names := column(receivers, func(r *Receiver) string { return r.Incarnation })
	room := make(map[string]int, len(receivers))
	b := &pgx.Batch{}
	b.Queue("SELECT 1 FROM ax.workers w WHERE incarnation = ANY ($1::text[]) ORDER BY incarnation FOR NO KEY UPDATE", names)
	b.Queue(`SELECT w.incarnation, LEAST(t.most, w.capacity - (SELECT count(*) FROM ax.held h WHERE h.incarnation = w.incarnation)::int)
		FROM unnest($1::text[], $2::int[]) t (incarnation, most) JOIN ax.workers w USING (incarnation)
		WHERE ax.worker_takes(w)`, names, column(receivers, func(r *Receiver) int32 { return int32(r.Most) })).Query(func(rows pgx.Rows) error {
		var name string
		var free int
		_, err := pgx.ForEachRow(rows, []any{&name, &free}, func() error {
			if free > 0 {
				room[name] = free
			}
			return nil
		})
		return err
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("lock %d workers: %w", len(receivers), err)
	}
	return room, nil
}

// Claim takes queued attempts of some River queues and job kinds, at most limit, by priority and age. They are gone from the queue when tx
// commits: the same transaction holds them as remote.
func (s *Store) Claim(ctx context.Context, tx pgx.Tx, queues, kinds []string, limit int) ([]Claimed, error) {
	rows, err := tx.Query(ctx, moves["claim"], queues, kinds, limit)
	if err != nil {
		return nil, fmt.Errorf("claim queued attempts: %w", err)
	}
	var claimed []Claimed
	err = collect(&claimed, func(c *Claimed) []any {
		return []any{&jobArgs{&c.Attempt}, &c.Place.Kind, &c.Place.Queue, &c.Place.Priority, &c.QueuedAt, &c.Holds}
	})(rows)
	if err != nil {
		return nil, fmt.Errorf("claim queued attempts: %w", err)
	}
	return claimed, nil
}

// HoldRemotes writes what runs elsewhere from now on.
func (s *Store) HoldRemotes(ctx context.Context, tx pgx.Tx, remotes []Remote) error {
	if _, err := tx.Exec(ctx, moves["remote"], remoteArgs(remotes)...); err != nil {
		return fmt.Errorf("hold %d remote attempts: %w", len(remotes), err)
	}
	return nil
}

// RemoteLane is a remote worker that takes something now: what it takes, and for how many attempts it has room. Address is "" for one that polls.
type RemoteLane struct {
	Incarnation, Address string
	Namespace            int64
	Queues, Kinds        []string
	Free                 int
}

// RemoteLanes lists the remote workers that have room: those with an address, and those of the named that poll.
func (s *Store) RemoteLanes(ctx context.Context, polling []string) ([]RemoteLane, error) {
	rows, err := s.pool.Query(ctx, `SELECT * FROM (SELECT w.incarnation, COALESCE(w.address, ''), w.namespace_id, w.queues, w.kinds,
			w.capacity - (SELECT count(*) FROM ax.held h WHERE h.incarnation = w.incarnation)::int AS free
		FROM ax.workers w WHERE (w.address IS NOT NULL OR w.incarnation = ANY ($1::text[])) AND ax.worker_takes(w)) t
		WHERE free > 0 ORDER BY incarnation`, polling)
	if err != nil {
		return nil, fmt.Errorf("list remote workers: %w", err)
	}
	var found []RemoteLane
	err = collect(&found, func(w *RemoteLane) []any {
		return []any{&w.Incarnation, &w.Address, &w.Namespace, &w.Queues, &w.Kinds, &w.Free}
	})(rows)
	if err != nil {
		return nil, fmt.Errorf("list remote workers: %w", err)
	}
	return found, nil
}

// RefreshRemotes notes the queues and routes that are new for remote workers.
func (s *Store) RefreshRemotes(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `WITH fresh AS (UPDATE ax.workers w SET queues = ax.queues_of(w) WHERE remote AND queues <> ax.queues_of(w) RETURNING 1)
		SELECT pg_notify('ax_workers', '') FROM fresh LIMIT 1`)
	if err != nil {
		return fmt.Errorf("refresh the queues of remote workers: %w", err)
	}
	return nil
}

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
)

// PoolLine is a line in which nodes wait: they need the same pools and the same workers, so that if the first cannot go, none can.
type PoolLine struct {
	Demand Demand
	Lane   Lane
}

// PoolLines lists the lines in which somebody waits.
func (s *Store) PoolLines(ctx context.Context) ([]PoolLine, error) {
	rows, err := s.pool.Query(ctx, moves["lines"])
	if err != nil {
		return nil, fmt.Errorf("list lines of pools: %w", err)
	}
	var lines []PoolLine
	err = collect(&lines, func(l *PoolLine) []any { return []any{&l.Demand, &l.Lane.Queue, &l.Lane.Kind} })(rows)
	if err != nil {
		return nil, fmt.Errorf("list lines of pools: %w", err)
	}
	return lines, nil
}

// PoolWaiter is a node that waits for its pools. Line is its line's place among those asked for.
type PoolWaiter struct {
	Attempt  Attempt
	Line     int
	Priority int
	Since    time.Time
}

// PoolHeads reads the first of some lines, of each as many as most says, in the order of S24.
func (s *Store) PoolHeads(ctx context.Context, lines []PoolLine, most []int) ([]PoolWaiter, error) {
	rows, err := s.pool.Query(ctx, moves["heads"],
		column(lines, func(l *PoolLine) string { return string(l.Demand) }),
		column(lines, func(l *PoolLine) string { return l.Lane.Queue }),
		column(lines, func(l *PoolLine) string { return l.Lane.Kind }), most)
	if err != nil {
		return nil, fmt.Errorf("read heads of lines: %w", err)
	}
	var heads []PoolWaiter
	err = collect(&heads, func(w *PoolWaiter) []any {
		return []any{&w.Line, &w.Attempt.Run, &w.Attempt.Node, &w.Attempt.Shard, &w.Attempt.Generation, &w.Attempt.Number, &w.Priority, &w.Since}
	})(rows)
	if err != nil {
		return nil, fmt.Errorf("read heads of lines: %w", err)
	}
	for i := range heads {
		heads[i].Line-- // SQL counts from 1
	}
	return heads, nil
}

// PoolState is a pool with what it has in use, at one instant.
type PoolState struct {
	PoolKey
	progress.Pool
}

// PoolStates reads some pools and the database's clock; a pool that does not exist is absent.
func (s *Store) PoolStates(ctx context.Context, keys []PoolKey) (states []PoolState, now time.Time, err error) {
	b := &pgx.Batch{}
	queuePoolStates(b, keys, &states, &now)
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, now, fmt.Errorf("read pools: %w", err)
	}
	return states, now, nil
}

// queuePoolStates reads pools. What is in use of one without a limit nobody asks.
func queuePoolStates(b *pgx.Batch, keys []PoolKey, states *[]PoolState, now *time.Time) {
	b.Queue("SELECT clock_timestamp()").QueryRow(func(row pgx.Row) error { return row.Scan(now) })
	b.Queue(`SELECT p.namespace_id, p.name, COALESCE(p.slots, 0), p.paused_at IS NOT NULL, COALESCE(p.rate_count, 0), COALESCE(p.rate_seconds, 0),
			COALESCE(p.burst, 0), COALESCE(p.next_at, 'epoch'), CASE WHEN p.slots IS NULL THEN 0 ELSE (
				SELECT COALESCE(sum(s.weight), 0) FROM ax.slots s WHERE s.namespace_id = p.namespace_id AND s.pool = p.name) END
		FROM unnest($1::bigint[], $2::text[]) k (namespace_id, name) JOIN ax.pools p USING (namespace_id, name)`, keyArgs(keys)...).
		Query(collect(states, func(p *PoolState) []any {
			return []any{&p.Namespace, &p.Name, &p.Slots, &p.Paused, &p.Rate.Count, &seconds{&p.Rate.Per}, &p.Rate.Burst, &p.Next, &p.Used}
		}))
}

// seconds scans a whole number of seconds.
type seconds struct{ to *time.Duration }

// ScanInt64 implements pgtype.Int64Scanner.
func (s *seconds) ScanInt64(v pgInt8) error {
	*s.to = time.Duration(v.Int64) * time.Second
	return nil
}

func keyArgs(keys []PoolKey) []any {
	return []any{column(keys, func(k *PoolKey) int64 { return k.Namespace }), column(keys, func(k *PoolKey) string { return k.Name })}
}

// Admission is what admission to pools decides on, all of it read under the locks of the runs and pools concerned.
type Admission struct {
	Now time.Time
	// Pools are those that could be locked; another admission is at work on the others.
	Pools []PoolState
	// Waiting are the attempts that still wait and whose run goes on.
	Waiting map[Attempt]bool
}

// LockAdmission locks the runs of some waiters, the queues they would go to and their pools, in this order, and reads them again. Who pauses a
// queue waits for that: whatever is let in before is there to be taken back, and nothing is let in after.
func (s *Store) LockAdmission(ctx context.Context, tx pgx.Tx, waiters []PoolWaiter, keys []PoolKey) (Admission, error) {
	var a Admission
	var runs []int64
	var locked []PoolKey
	var waiting []Attempt
	b := &pgx.Batch{}
	b.Queue(`SELECT r.id FROM ax.runs r WHERE r.id = ANY ($1::bigint[]) AND r.state = 'running' AND r.held_at IS NULL ORDER BY r.id FOR SHARE`,
		column(waiters, func(w *PoolWaiter) int64 { return int64(w.Attempt.Run) })).
		Query(collect(&runs, func(id *int64) []any { return []any{id} }))
	b.Queue(`SELECT q.id FROM ax.queues q WHERE q.id IN (
			SELECT substring(split_part(h.queue, '-', 1) FROM 2)::bigint FROM ax.held h WHERE h.run_id = ANY ($1::bigint[]) AND h.kind = 'pool')
		ORDER BY q.id FOR SHARE`, column(waiters, func(w *PoolWaiter) int64 { return int64(w.Attempt.Run) }))
	b.Queue(`SELECT p.namespace_id, p.name FROM unnest($1::bigint[], $2::text[]) k (namespace_id, name) JOIN ax.pools p USING (namespace_id, name)
		ORDER BY p.namespace_id, p.name FOR NO KEY UPDATE OF p SKIP LOCKED`, keyArgs(keys)...).
		Query(collect(&locked, func(k *PoolKey) []any { return []any{&k.Namespace, &k.Name} }))
	queuePoolStates(b, keys, &a.Pools, &a.Now)
	b.Queue(`SELECT t.* FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[]) t (run_id, node, shard, generation, attempt)
		JOIN ax.held h USING (run_id, node, shard, generation, attempt) WHERE h.kind = 'pool'
			AND NOT EXISTS (SELECT FROM ax.queues q WHERE q.paused_at IS NOT NULL AND 'q' || q.id = split_part(h.queue, '-', 1))`,
		attemptNumbers(waiters, func(w *PoolWaiter) *Attempt { return &w.Attempt })...).
		Query(collect(&waiting, func(a *Attempt) []any { return []any{&a.Run, &a.Node, &a.Shard, &a.Generation, &a.Number} }))
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return a, fmt.Errorf("lock %d pools: %w", len(keys), err)
	}
	a.keep(runs, locked, waiting)
	return a, nil
}

// keep leaves what is locked.
func (a *Admission) keep(runs []int64, locked []PoolKey, waiting []Attempt) {
	ours := make(map[PoolKey]bool, len(locked))
	for _, k := range locked {
		ours[k] = true
	}
	pools := a.Pools[:0]
	for _, p := range a.Pools {
		if ours[p.PoolKey] {
			pools = append(pools, p)
		}
	}
	a.Pools = pools
	goes := make(map[RunID]bool, len(runs))
	for _, id := range runs {
		goes[RunID(id)] = true
	}
	a.Waiting = make(map[Attempt]bool, len(waiting))
	for _, w := range waiting {
		a.Waiting[w] = goes[w.Run]
	}
}

// Admitted is a waiter that gets its slots.
type Admitted struct {
	Attempt Attempt
	Shares  []PoolShare
}

// Enter gives waiters their slots and queues them, and notes what their start means to the rates of the pools.
func (s *Store) Enter(ctx context.Context, tx pgx.Tx, admitted []Admitted, pools []PoolState) error {
	var holder []Attempt
	var shares []PoolShare
	for _, e := range admitted {
		for _, share := range e.Shares {
			holder, shares = append(holder, e.Attempt), append(shares, share)
		}
	}
	args := append(attemptNumbers(admitted, func(e *Admitted) *Attempt { return &e.Attempt }), attemptKeys(holder)...)
	args = append(args,
		column(shares, func(p *PoolShare) int64 { return p.Namespace }),
		column(shares, func(p *PoolShare) string { return p.Name }),
		column(shares, func(p *PoolShare) int32 { return int32(p.Weight) }))
	limited := ratedPools(pools)
	args = append(args,
		column(limited, func(p *PoolState) int64 { return p.Namespace }),
		column(limited, func(p *PoolState) string { return p.Name }),
		column(limited, func(p *PoolState) time.Time { return p.Next }))
	var entered, notified int
	if err := tx.QueryRow(ctx, moves["enter"], args...).Scan(&entered, &notified); err != nil {
		return fmt.Errorf("give %d nodes their slots: %w", len(admitted), err)
	}
	return nil
}

func ratedPools(pools []PoolState) (rated []PoolState) {
	for _, p := range pools {
		if p.Rate.Count > 0 {
			rated = append(rated, p)
		}
	}
	return rated
}

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// Gauges are the counts of what is there now, for metrics. Only live rows are counted.
type Gauges struct {
	// QueueDepth counts jobs that no worker has taken yet, by the queue's name.
	QueueDepth map[string]int64
	// Held counts held nodes by kind.
	Held map[string]int64
	// QueuedRuns are the runs that wait for a place among their workflow's max_runs.
	QueuedRuns int64
	// Workers counts worker processes: online, stopping or lost.
	Workers map[string]int64
	// Pools are all pools with what they have in use.
	Pools []Pool
	// DeadLetters are those that nobody has resolved.
	DeadLetters int64
	// Findings counts by kind what must not be and is for a person to look at.
	Findings map[string]int64
}

// Gauges reads the counts.
func (s *Store) Gauges(ctx context.Context) (Gauges, error) {
	q := db.New(s.pool)
	g := Gauges{QueueDepth: map[string]int64{}, Held: map[string]int64{}, Workers: map[string]int64{}, Findings: map[string]int64{}}
	depths, err := q.QueueDepths(ctx)
	if err != nil {
		return g, fmt.Errorf("count queued jobs: %w", err)
	}
	for _, r := range depths {
		g.QueueDepth[r.Queue] = r.Depth
	}
	held, err := q.HeldCounts(ctx)
	if err != nil {
		return g, fmt.Errorf("count held nodes: %w", err)
	}
	for _, r := range held {
		g.Held[r.Kind] = r.Held
	}
	workers, err := q.WorkerCounts(ctx)
	if err != nil {
		return g, fmt.Errorf("count workers: %w", err)
	}
	for _, r := range workers {
		g.Workers[r.State] = r.Workers
	}
	if g.Pools, err = s.PoolUse(ctx); err != nil {
		return g, err
	}
	if g.QueuedRuns, err = q.QueuedRuns(ctx); err != nil {
		return g, fmt.Errorf("count queued runs: %w", err)
	}
	if g.DeadLetters, err = q.OpenDeadLetters(ctx); err != nil {
		return g, fmt.Errorf("count dead letters: %w", err)
	}
	found, err := q.OpenFindings(ctx)
	if err != nil {
		return g, fmt.Errorf("count findings: %w", err)
	}
	for _, r := range found {
		g.Findings[r.Kind] = r.Findings
	}
	return g, nil
}

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.Ping(ctx); err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	return nil
}

// Now is the database's clock, which decides every time that is stored (S37).
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	if err := s.pool.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return now, fmt.Errorf("read the database's clock: %w", err)
	}
	return now, nil
}

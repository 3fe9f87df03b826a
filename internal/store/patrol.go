package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Patrol is how far the reconciler has come with what is live: each step looks at a stretch of it and begins anew at its end.
type Patrol struct {
	job, held, joins, run int64
	deadline              time.Time
}

// Stretch is what one step of a patrol leads to.
type Stretch struct {
	// Runs are those to look at.
	Runs []RunID
	// Foreign are jobs that are none of ours.
	Foreign []int64
}

// Step finds the runs to look at next: the next running ones, at most runs of them, and all that something is odd about in the next stretch
// of live rows, each at most limit long. Wishes count as forgotten from an age on.
func (s *Store) Step(ctx context.Context, p *Patrol, runs, limit int, forgotten time.Duration) (Stretch, error) {
	var b Stretch
	var odd, adrift, loose, few []int64
	next := *p
	var jobs, held, joins int
	batch := &pgx.Batch{}
	batch.Queue(moves["patrol_jobs"], p.job, limit).QueryRow(func(r pgx.Row) error { return r.Scan(&next.job, &jobs, &odd, &b.Foreign) })
	batch.Queue(moves["patrol_held"], p.held, limit).QueryRow(func(r pgx.Row) error { return r.Scan(&next.held, &held, &adrift) })
	batch.Queue(moves["patrol_joins"], p.joins, limit).QueryRow(func(r pgx.Row) error { return r.Scan(&next.joins, &joins, &loose) })
	batch.Queue(moves["patrol_runs"], p.deadline, p.run, runs).Query(collect(&b.Runs, func(id *RunID) []any { return []any{id, &next.deadline} }))
	batch.Queue(moves["patrol_rest"], runs, forgotten.Microseconds()).Query(collect(&few, func(id *int64) []any { return []any{id} }))
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return b, fmt.Errorf("look for odd runs: %w", err)
	}
	next.run = 0
	if len(b.Runs) == runs {
		next.run = int64(b.Runs[runs-1])
	} else {
		next.deadline = time.Time{}
	}
	for count, at := range map[*int]*int64{&jobs: &next.job, &held: &next.held, &joins: &next.joins} {
		if *count < limit {
			*at = 0
		}
	}
	*p = next
	for _, more := range [][]int64{few, odd, adrift, loose} {
		for _, id := range more {
			b.Runs = append(b.Runs, RunID(id))
		}
	}
	return b, nil
}

package store

import (
	"context"
	"fmt"
	"time"
)

// Refusal is something that came of an attempt which was not current any more (S18). Kind is what came: result, heartbeat or logs; Said is what a
// result said; Worker is who sent it, "" when that is not known.
type Refusal struct {
	Attempt         Attempt
	Kind            string
	Worker, Said    string
	Count           int
	FirstAt, LastAt time.Time
}

// Refuse records a refusal. What comes again of the same attempt is counted. What names no run of ours is not recorded.
func (s *Store) Refuse(ctx context.Context, r Refusal) error {
	a := r.Attempt
	_, err := s.pool.Exec(ctx, `INSERT INTO ax.refusals AS x (run_id, node, shard, generation, attempt, kind, worker, said)
		SELECT r.id, $2, $3, $4, $5, $6, $7, $8 FROM ax.runs r WHERE r.id = $1
		ON CONFLICT (run_id, node, shard, generation, attempt, kind) DO UPDATE SET count = x.count + 1, last_at = now()`,
		a.Run, a.Node, a.Shard, a.Generation, a.Number, r.Kind, r.Worker, r.Said)
	if err != nil {
		return fmt.Errorf("record a refusal of %s: %w", a.ExecutionID(), err)
	}
	return nil
}

// maxRefusals is how many refusals of a node run are read.
const maxRefusals = 100

// Refusals lists what was refused of a node run, oldest first.
func (s *Store) Refusals(ctx context.Context, a Attempt) ([]Refusal, error) {
	rows, err := s.pool.Query(ctx, `SELECT run_id, node, shard, generation, attempt, kind, worker, said, count, first_at, last_at FROM ax.refusals
		WHERE run_id = $1 AND node = $2 AND shard = $3 AND generation = $4 ORDER BY first_at LIMIT $5`, a.Run, a.Node, a.Shard, a.Generation, maxRefusals)
	if err != nil {
		return nil, fmt.Errorf("list refusals of %s: %w", a.ExecutionID(), err)
	}
	var found []Refusal
	err = collect(&found, func(r *Refusal) []any {
		return []any{&r.Attempt.Run, &r.Attempt.Node, &r.Attempt.Shard, &r.Attempt.Generation, &r.Attempt.Number, &r.Kind, &r.Worker, &r.Said, &r.Count, &r.FirstAt,
			&r.LastAt}
	})(rows)
	if err != nil {
		return nil, fmt.Errorf("list refusals of %s: %w", a.ExecutionID(), err)
	}
	return found, nil
}

// Ended tells how an attempt ended and who reported it; ErrNotFound when it has not ended.
func (s *Store) Ended(ctx context.Context, a Attempt) (outcome, worker string, err error) {
	err = s.pool.QueryRow(ctx, `SELECT outcome, COALESCE(worker, '') FROM ax.node_runs
		WHERE run_id = $1 AND node = $2 AND shard = $3 AND generation = $4 AND attempt = $5`, a.Run, a.Node, a.Shard, a.Generation, a.Number).Scan(&outcome, &worker)
	return outcome, worker, found(err, "the end of attempt %d of %s", a.Number, a.ExecutionID())
}

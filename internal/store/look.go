package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
)

// OddJob is a job that River has put away, or put off, without a commit of ours.
type OddJob struct {
	Taken
	// State is River's word.
	State string
}

// Counter is a join counter of a run; node "" is its end.
type Counter struct {
	Run     RunID
	Node    string
	Arrived int
}

// WaitedFor is a node that waits for a child run which has ended, or is gone: then State is "".
type WaitedFor struct {
	Parent Attempt
	Child  RunID
	State  progress.State
}

// Oddities are what is looked at of runs beside what moves them.
type Oddities struct {
	Jobs     []OddJob
	Counters []Counter
	Children []WaitedFor
	// Orphans are runs that go on for an attempt which does not wait for them; Beginners are queued and wait for nothing; Endless are held
	// rows that nothing would end; Undue are running runs without a deadline; Old are wishes that nobody has taken up for long.
	Orphans, Beginners, Undue []RunID
	Endless                   []Attempt
	Old                       []Intent
}

// LookAt reads runs as LockRuns does, but locks nothing. The caller's transaction sees one snapshot.
func (s *Store) LookAt(ctx context.Context, tx pgx.Tx, runs []RunID) (Locked, error) {
	var l Locked
	b := &pgx.Batch{}
	b.Queue(moves["look"], ids(runs)).Query(collect(&l.Runs, runTargets))
	l.queue(b, runs)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return l, fmt.Errorf("look at %d runs: %w", len(runs), err)
	}
	return l, nil
}

// Oddities looks for what is odd about some runs. Wishes are old from an age on.
func (s *Store) Oddities(ctx context.Context, tx pgx.Tx, runs []RunID, old time.Duration) (Oddities, error) {
	var o Oddities
	b := &pgx.Batch{}
	b.Queue(moves["odd_jobs"], ids(runs)).Query(collect(&o.Jobs, func(j *OddJob) []any {
		return []any{&j.JobID, &jobArgs{&j.Attempt}, &j.State, &j.QueuedAt, &j.StartedAt, &j.Worker, &j.Holds}
	}))
	b.Queue("SELECT run_id, node, arrived FROM ax.node_joins WHERE run_id = ANY ($1::bigint[])", ids(runs)).
		Query(collect(&o.Counters, func(c *Counter) []any { return []any{&c.Run, &c.Node, &c.Arrived} }))
	b.Queue(moves["children"], ids(runs)).Query(collect(&o.Children, func(c *WaitedFor) []any {
		return append(attemptTargets(&c.Parent), &c.Child, &c.State)
	}))
	b.Queue(moves["orphans"], ids(runs)).Query(collect(&o.Orphans, func(r *RunID) []any { return []any{r} }))
	b.Queue(moves["beginners"], ids(runs)).Query(collect(&o.Beginners, func(r *RunID) []any { return []any{r} }))
	b.Queue("SELECT id FROM ax.runs WHERE id = ANY ($1::bigint[]) AND state = 'running' AND deadline_at IS NULL AND NOT timed_out", ids(runs)).
		Query(collect(&o.Undue, func(r *RunID) []any { return []any{r} }))
	b.Queue(`SELECT run_id, node, shard, generation, attempt FROM ax.held WHERE run_id = ANY ($1::bigint[])
		AND (kind IN ('due', 'wait') AND due_at IS NULL OR kind IN ('remote', 'approval', 'child') AND deadline_at IS NULL)`, ids(runs)).
		Query(collect(&o.Endless, attemptTargets))
	b.Queue(`SELECT run_id, kind, actor, COALESCE(reason, '') FROM ax.run_intents
		WHERE run_id = ANY ($1::bigint[]) AND created_at < now() - $2::bigint * interval '1 microsecond'`, ids(runs), old.Microseconds()).
		Query(collect(&o.Old, func(i *Intent) []any { return []any{&i.Run, &i.Kind, &i.Actor, &i.Reason} }))
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return o, fmt.Errorf("look for oddities of %d runs: %w", len(runs), err)
	}
	return o, nil
}

func attemptTargets(a *Attempt) []any {
	return []any{&a.Run, &a.Node, &a.Shard, &a.Generation, &a.Number}
}

// Discard removes exactly these live rows, which belong to nothing that is current, with the slots of their attempts. The caller holds the
// runs' locks.
func (s *Store) Discard(ctx context.Context, tx pgx.Tx, rows []Taken) error {
	args := append([]any{column(rows, func(t *Taken) int64 { return t.JobID })}, attemptNumbers(rows, func(t *Taken) *Attempt { return &t.Attempt })...)
	if _, err := tx.Exec(ctx, moves["discard"], args...); err != nil {
		return fmt.Errorf("discard %d live rows: %w", len(rows), err)
	}
	return nil
}

// ForgetRuns removes what is left of those runs that do not exist.
func (s *Store) ForgetRuns(ctx context.Context, runs []RunID) error {
	if _, err := s.pool.Exec(ctx, moves["forget"], ids(runs)); err != nil {
		return fmt.Errorf("forget what is left of %d runs: %w", len(runs), err)
	}
	return nil
}

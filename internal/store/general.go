package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
)

// LockedRun is a run's row under its lock.
type LockedRun struct {
	ID                                RunID
	Namespace, Workflow, Version      int64
	State                             progress.State
	Clean, Limited                    bool
	Key                               string
	Generation                        int
	Canceling, TimedOut, PastDeadline bool
	// Held means that nothing new may start (S33).
	Held bool
	// Parent is the attempt that waits for this run, or "".
	Parent string
	Depth  int
	// Priority is the run's.
	Priority int
	Now      time.Time
}

// Claim is a live row that a result wants removed: a job, or with Job zero a held row. A job that nobody has taken has attempt 0.
type Claim struct {
	Job     JobRef
	Attempt Attempt
	// Grace is how long the attempt's slots are not free yet, because its body has not stopped (S17). Keeps means that the attempt goes on
	// elsewhere with its slots.
	Grace time.Duration
	Keeps bool
}

// Taken is a live row that was removed, with the times it knew.
type Taken struct {
	Attempt             Attempt
	JobID               int64
	QueuedAt, StartedAt *time.Time
	Worker              string
	// Holds is what held it back before, as JSON; nil for nothing.
	Holds []byte
}

// Fact is what history says of the newest generation of one node.
type Fact struct {
	Run                        RunID
	Node                       string
	Shard, Generation, Attempt int
	State                      progress.State
	Tolerated                  bool
	Failures, Lost             int
	Reason                     progress.Reason
	// Taken is the output of a branch that has chosen, else nil.
	Taken []byte
}

// Live is a queued, running or held row.
type Live struct {
	Taken
	State progress.State
	// Kind is job, or what the row is held for.
	Kind Mode
}

// Expansion is what a generation of a split node was split into. Base is the generation whose split it is; Items is a JSON
// list, or nil when the shards are only numbered.
type Expansion struct {
	Run                     RunID
	Node                    string
	Generation, Base, Total int
	Items                   []byte
}

// Locked is everything the general path reads, all of it after the runs were locked.
type Locked struct {
	Runs  []LockedRun
	Taken []Taken
	Facts []Fact
	Live  []Live
	// Expansions are those of all generations, without their items.
	Expansions []Expansion
	// Intents are the wishes about the runs, oldest first.
	Intents []Intent
}

// HoldRuns locks runs in id order and reads nothing of them, for a caller that will lock one after the other with LockRuns.
func (s *Store) HoldRuns(ctx context.Context, tx pgx.Tx, runs []RunID) error {
	if _, err := tx.Exec(ctx, "SELECT FROM ax.runs WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE", ids(runs)); err != nil {
		return fmt.Errorf("lock %d runs: %w", len(runs), err)
	}
	return nil
}

// LockRuns locks runs in id order, removes the claimed live rows and reads what else there is of
// the runs, in one round trip.
func (s *Store) LockRuns(ctx context.Context, tx pgx.Tx, runs []RunID, claims []Claim) (Locked, error) {
	var l Locked
	b := &pgx.Batch{}
	b.Queue(moves["lock"], ids(runs)).Query(collect(&l.Runs, runTargets))
	b.Queue(moves["take"], claimArgs(claims)...).Query(collect(&l.Taken, func(t *Taken) []any {
		return []any{&t.Attempt.Run, &t.Attempt.Node, &t.Attempt.Shard, &t.Attempt.Number, &orZero{&t.JobID}, &t.QueuedAt, &t.StartedAt,
			&orEmpty{&t.Worker}, &t.Holds}
	}))
	l.queue(b, runs)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return l, fmt.Errorf("lock %d runs: %w", len(runs), err)
	}
	return l, nil
}

func runTargets(r *LockedRun) []any {
	return []any{&r.ID, &r.Namespace, &r.Workflow, &r.Version, &r.State, &r.Clean, &r.Limited, &r.Key, &r.Generation,
		&r.Canceling, &r.TimedOut, &r.PastDeadline, &r.Held, &r.Parent, &r.Depth, &r.Priority, &r.Now}
}

// queue asks for what there is of some runs beside their rows.
func (l *Locked) queue(b *pgx.Batch, runs []RunID) {
	b.Queue(moves["facts"], ids(runs)).Query(collect(&l.Facts, func(f *Fact) []any {
		return []any{&f.Run, &f.Node, &f.Shard, &f.Generation, &f.State, &f.Tolerated, &f.Attempt, &orEmpty{(*string)(&f.Reason)}, &f.Taken, &f.Failures, &f.Lost}
	}))
	b.Queue(moves["live"], ids(runs)).Query(collect(&l.Live, func(v *Live) []any {
		return []any{&v.Attempt.Run, &v.Attempt.Node, &v.Attempt.Shard, &v.Attempt.Generation, &v.Attempt.Number, &v.State, &v.JobID, &v.QueuedAt, &v.StartedAt,
			&orEmpty{&v.Worker}, &v.Holds, &v.Kind}
	}))
	b.Queue("SELECT run_id, node, generation, base, total FROM ax.expansions WHERE run_id = ANY ($1::bigint[])", ids(runs)).
		Query(collect(&l.Expansions, func(e *Expansion) []any {
			return []any{&e.Run, &e.Node, &e.Generation, &e.Base, &e.Total}
		}))
	b.Queue(`SELECT run_id, kind, actor, COALESCE(reason, '') FROM ax.run_intents WHERE run_id = ANY ($1::bigint[])
		ORDER BY created_at`, ids(runs)).Query(collect(&l.Intents, func(i *Intent) []any {
		return []any{&i.Run, &i.Kind, &i.Actor, &i.Reason}
	}))
}

func claimArgs(claims []Claim) []any {
	return []any{
		column(claims, func(c *Claim) int64 { return c.Job.ID }),
		column(claims, func(c *Claim) int16 { return int16(c.Job.Attempt) }),
		column(claims, func(c *Claim) int64 { return int64(c.Attempt.Run) }),
		column(claims, func(c *Claim) string { return c.Attempt.Node }),
		column(claims, func(c *Claim) int32 { return int32(c.Attempt.Shard) }),
		column(claims, func(c *Claim) int32 { return int32(c.Attempt.Generation) }),
		column(claims, func(c *Claim) int32 { return int32(c.Attempt.Number) }),
		column(claims, func(c *Claim) bool { return c.Keeps }),
		column(claims, func(c *Claim) int64 { return c.Grace.Microseconds() }),
	}
}

// collect reads rows into a slice; targets names the fields of one row in order.
func collect[T any](into *[]T, targets func(*T) []any) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		for rows.Next() {
			var row T
			if err := rows.Scan(targets(&row)...); err != nil {
				return err
			}
			*into = append(*into, row)
		}
		return rows.Err()
	}
}

// orZero scans a nullable integer, null as 0.
type orZero struct{ to *int64 }

// ScanInt64 implements pgtype.Int64Scanner.
func (o *orZero) ScanInt64(v pgInt8) error {
	*o.to = v.Int64
	return nil
}

// orEmpty scans a nullable text, null as "".
type orEmpty struct{ to *string }

// ScanText implements pgtype.TextScanner.
func (o *orEmpty) ScanText(v pgText) error {
	*o.to = v.String
	return nil
}

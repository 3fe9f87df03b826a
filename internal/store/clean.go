package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Success is one attempt that succeeded, held as a River job.
type Success struct {
	Job     JobRef
	Attempt Attempt
	// Output is one JSON value, or nil for none.
	Output []byte
}

// JobRef names a River job as it was fetched; removing exactly that running row is what accepts a result (S18).
type JobRef struct {
	ID      int64
	Attempt int
}

// Mode says what happens when a Target has all its arrivals.
type Mode string

// The modes: a job is inserted; it is inserted as running here, for the finishing worker to go on with;
// the node is held until a worker is live; the run ends; the run's end needs the general path.
const (
	ModeJob    Mode = "job"
	ModeInline Mode = "inline"
	ModeWorker Mode = "worker"
	ModeEnd    Mode = "end"
	ModeSettle Mode = "settle"
)

// Target is a counter that Delta successes of the batch add to; Need of Total possible arrivals start
// it. Node "" is the end of the run.
type Target struct {
	Run                RunID
	Node               string
	Delta, Need, Total int
	Place              Place
	Mode               Mode
}

// Place is where a node's job goes: its River kind and queue, and its priority in it.
type Place struct {
	Kind, Queue string
	Priority    int
}

// CleanResult is what a batch of the fast path did.
type CleanResult struct {
	// Moved are the runs that were moved; the others need the general path.
	Moved map[RunID]bool
	// Inline are the jobs to go on with at once.
	Inline []InlineJob
	// Ended are runs that ended, Settle those whose end needs the general path.
	Ended, Settle []RunID
}

// InlineJob is a job that was inserted as running in its worker's name.
type InlineJob struct {
	Job     JobRef
	Attempt Attempt
}

// ErrFenced says that a batch held a result of an attempt that is not current any more; nothing was written.
var ErrFenced = errors.New("an attempt in the batch is not current any more")

// MoveClean moves successes of clean runs in one statement (S19). Targets are aggregated by (run, node) and
// sorted by them. Worker is the incarnation whose attempts these are.
func (s *Store) MoveClean(ctx context.Context, worker string, done []Success, targets []Target) (CleanResult, error) {
	res := CleanResult{Moved: make(map[RunID]bool)}
	rows, err := s.pool.Query(ctx, moves["clean"], cleanArgs(worker, done, targets)...)
	if err == nil {
		err = res.read(rows)
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "22012" {
		return res, ErrFenced
	}
	if err != nil {
		return res, fmt.Errorf("move %d successes: %w", len(done), err)
	}
	return res, nil
}

func (r *CleanResult) read(rows pgx.Rows) error {
	var what string
	var run, job, checked *int64
	var args *string
	_, err := pgx.ForEachRow(rows, []any{&what, &run, &job, &args, &checked}, func() error {
		switch what {
		case "run":
			r.Moved[RunID(*run)] = true
		case "end":
			r.Ended = append(r.Ended, RunID(*run))
		case "settle":
			r.Settle = append(r.Settle, RunID(*run))
		case "inline":
			a, err := ParseJobArgs(*args)
			if err != nil {
				return err
			}
			r.Inline = append(r.Inline, InlineJob{Job: JobRef{ID: *job, Attempt: 1}, Attempt: a})
		}
		return nil
	})
	return err
}

func cleanArgs(worker string, done []Success, targets []Target) []any {
	return []any{
		column(done, func(d *Success) int64 { return d.Job.ID }),
		column(done, func(d *Success) int16 { return int16(d.Job.Attempt) }),
		column(done, func(d *Success) int64 { return int64(d.Attempt.Run) }),
		column(done, func(d *Success) string { return d.Attempt.Node }),
		column(done, func(d *Success) *string { return jsonText(d.Output) }),
		worker,
		column(targets, func(t *Target) int64 { return int64(t.Run) }),
		column(targets, func(t *Target) string { return t.Node }),
		column(targets, func(t *Target) int32 { return int32(t.Delta) }),
		column(targets, func(t *Target) int32 { return int32(t.Need) }),
		column(targets, func(t *Target) int32 { return int32(t.Total) }),
		column(targets, func(t *Target) string { return t.Place.Kind }),
		column(targets, func(t *Target) string { return t.Place.Queue }),
		column(targets, func(t *Target) int16 { return int16(t.Place.Priority) }),
		column(targets, func(t *Target) string { return string(t.Mode) }),
	}
}

// column makes an array parameter of one field of some rows.
func column[T, F any](rows []T, field func(*T) F) []F {
	out := make([]F, len(rows))
	for i := range rows {
		out[i] = field(&rows[i])
	}
	return out
}

// jsonText is JSON as a text parameter; nil and empty are SQL's null.
func jsonText(b []byte) *string {
	if len(b) == 0 {
		return nil
	}
	s := string(b)
	return &s
}

// DropJoins removes the join counters of runs that have ended. Losing this work to a crash costs
// only the rows' space until the sweep finds them.
func (s *Store) DropJoins(ctx context.Context, runs []RunID) error {
	if _, err := s.pool.Exec(ctx, "DELETE FROM ax.node_joins WHERE run_id = ANY ($1::bigint[])", ids(runs)); err != nil {
		return fmt.Errorf("drop joins of %d runs: %w", len(runs), err)
	}
	return nil
}

func ids(runs []RunID) []int64 {
	return column(runs, func(r *RunID) int64 { return int64(*r) })
}

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// Mode says what happens with what is ready.
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

// Join is a counter of a run that the batch adds to without knowing whether it is full now. Node "" is the end of the run.
type Join struct {
	Run   RunID
	Node  string
	Delta int
}

// Ready is what has all its arrivals: a node to start or, with Node "", a run to end.
type Ready struct {
	Run   RunID
	Node  string
	Place Place
	Mode  Mode
}

// Place is where a node's job goes: its River kind and queue, and its priority in it.
type Place struct {
	Kind, Queue string
	Priority    int
}

// CleanBatch is a batch of the fast path.
type CleanBatch struct {
	// Worker is the incarnation whose attempts these are.
	Worker string
	Done   []Success
	// Joins are sorted by run and node, each once.
	Joins []Join
	Ready []Ready
	// Full decides what the counters in Joins, which stand at arrived now, have made ready.
	Full func(arrived []int) []Ready
}

// CleanResult is what a batch of the fast path did.
type CleanResult struct {
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

// ErrFenced says that a batch held a result of an attempt that is not current any more, or of a run that is not clean any
// more; nothing was written.
var ErrFenced = errors.New("an attempt in the batch is not current any more, or its run is not clean")

// MoveClean moves successes of clean runs in one transaction of at most two round trips (S19).
func (s *Store) MoveClean(ctx context.Context, b CleanBatch) (CleanResult, error) {
	res, err := s.moveClean(ctx, b)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == pgerrDivisionByZero {
		return res, ErrFenced
	}
	if err != nil {
		return res, fmt.Errorf("move %d successes: %w", len(b.Done), err)
	}
	return res, nil
}

const pgerrDivisionByZero = "22012"

// moveClean sends everything at once when no counter has to be seen first: the statements of a pipeline are one transaction.
func (s *Store) moveClean(ctx context.Context, b CleanBatch) (res CleanResult, err error) {
	if len(b.Joins) > 0 {
		err = s.moveCounted(ctx, b, &res)
		return res, err
	}
	batch := &pgx.Batch{}
	batch.Queue(moves["clean"], cleanArgs(b)...)
	res.queue(batch, b.Worker, b.Ready)
	err = s.pool.SendBatch(ctx, batch).Close()
	return res, err
}

// moveCounted moves a batch that has to see counters: two round trips, of which the first begins the transaction and the second ends
// it. A connection that is left within a transaction is closed when it is released.
func (s *Store) moveCounted(ctx context.Context, b CleanBatch, res *CleanResult) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var arrived []int
	first := &pgx.Batch{}
	first.Queue("BEGIN")
	first.Queue(moves["clean"], cleanArgs(b)...).Query(func(rows pgx.Rows) (err error) {
		arrived, err = readArrived(rows, b.Joins)
		return err
	})
	if err := conn.SendBatch(ctx, first).Close(); err != nil {
		return err
	}
	second := &pgx.Batch{}
	res.queue(second, b.Worker, append(b.Ready, b.Full(arrived)...))
	second.Queue("COMMIT")
	return conn.SendBatch(ctx, second).Close()
}

// readArrived reads where each of the joins stands now.
func readArrived(rows pgx.Rows, joins []Join) ([]int, error) {
	type key struct {
		run  RunID
		node string
	}
	counts := make(map[key]int, len(joins))
	var run *RunID
	var node *string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&run, &node, &n}, func() error {
		if run != nil {
			counts[key{*run, *node}] = n
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return column(joins, func(j *Join) int { return counts[key{j.Run, j.Node}] }), nil
}

// queue adds to a batch what is to be done with what is ready, in one statement for each kind of thing that there is.
func (r *CleanResult) queue(batch *pgx.Batch, worker string, all []Ready) {
	var jobs, holds []Ready
	for _, x := range all {
		switch x.Mode {
		case ModeEnd:
			r.Ended = append(r.Ended, x.Run)
		case ModeSettle:
			r.Settle = append(r.Settle, x.Run)
		case ModeJob, ModeInline:
			jobs = append(jobs, x)
		default:
			holds = append(holds, x)
		}
	}
	if len(jobs) > 0 {
		batch.Queue(moves["go_jobs"], append(readyArgs(jobs), worker)...).Query(r.readInline)
	}
	if len(holds) > 0 {
		batch.Queue(moves["go_holds"], readyArgs(holds)...)
	}
	if len(r.Ended) > 0 {
		batch.Queue(moves["go_ends"], ids(r.Ended))
	}
	if len(r.Settle) > 0 {
		batch.Queue(moves["go_settles"], ids(r.Settle))
	}
}

func (r *CleanResult) readInline(rows pgx.Rows) error {
	var id int64
	var args *string
	_, err := pgx.ForEachRow(rows, []any{&id, &args}, func() error {
		if args == nil {
			return nil
		}
		a, err := ParseJobArgs(*args)
		r.Inline = append(r.Inline, InlineJob{Job: JobRef{ID: id, Attempt: 1}, Attempt: a})
		return err
	})
	return err
}

func cleanArgs(b CleanBatch) []any {
	runs := column(b.Done, func(d *Success) int64 { return int64(d.Attempt.Run) })
	distinct := slices.Clone(runs)
	slices.Sort(distinct)
	return []any{
		column(b.Done, func(d *Success) int64 { return d.Job.ID }),
		column(b.Done, func(d *Success) int16 { return int16(d.Job.Attempt) }),
		slices.Compact(distinct), runs,
		column(b.Done, func(d *Success) string { return d.Attempt.Node }),
		column(b.Done, func(d *Success) *string { return jsonText(d.Output) }),
		b.Worker,
		column(b.Joins, func(j *Join) int64 { return int64(j.Run) }),
		column(b.Joins, func(j *Join) string { return j.Node }),
		column(b.Joins, func(j *Join) int32 { return int32(j.Delta) }),
	}
}

func readyArgs(r []Ready) []any {
	return []any{
		column(r, func(r *Ready) int64 { return int64(r.Run) }),
		column(r, func(r *Ready) string { return r.Node }),
		column(r, func(r *Ready) string { return r.Place.Kind }),
		column(r, func(r *Ready) string { return r.Place.Queue }),
		column(r, func(r *Ready) int16 { return int16(r.Place.Priority) }),
		column(r, func(r *Ready) string { return string(r.Mode) }),
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

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
)

// NewRun is a run to be written. State is running, or queued when its workflow's limit holds it back (S22).
type NewRun struct {
	ID                           RunID
	Namespace, Workflow, Version int64
	State                        progress.State
	Limited                      bool
	Priority                     int
	Trigger, Actor               string
	// Schedule is 0 for a run that no schedule fired.
	Schedule            int64
	ScheduledAt         time.Time
	LogicalDate         string
	PreviousScheduledAt *time.Time
	Key                 string
	Params              []byte
	// Timeout is the run's own (S17), counted from its start.
	Timeout time.Duration
	// Parent is the attempt that waits for this run, or ""; Depth is how many parents it has.
	Parent string
	Depth  int
	// Undecided means that what starts first is for the general path to say.
	Undecided bool
	// Origin is nil for a run that begins with nothing.
	Origin *Origin
}

// InsertRuns writes new runs and what starts with them.
func (s *Store) InsertRuns(ctx context.Context, tx pgx.Tx, runs []NewRun, begins []Begin) error {
	b := &pgx.Batch{}
	b.Queue(moves["launch"], newRunArgs(runs)...)
	for i := range runs {
		if runs[i].Origin != nil {
			queueOrigin(b, &runs[i])
		}
	}
	if len(begins) > 0 {
		b.Queue(moves["start"], beginArgs(begins)...)
	}
	queueSettles(b, undecided(runs))
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("insert %d runs: %w", len(runs), err)
	}
	return nil
}

func undecided(runs []NewRun) (out []RunID) {
	for _, r := range runs {
		if r.Undecided && r.State == progress.Running {
			out = append(out, r.ID)
		}
	}
	return out
}

// queueSettles asks the general path to decide what some runs do next.
func queueSettles(b *pgx.Batch, runs []RunID) {
	if len(runs) > 0 {
		b.Queue(`WITH i AS (INSERT INTO ax.run_intents (run_id, kind, actor) SELECT unnest($1::bigint[]), 'settle', 'engine' ON CONFLICT DO NOTHING)
			SELECT pg_notify('ax_intent', '')`, ids(runs))
	}
}

func newRunArgs(r []NewRun) []any {
	return []any{
		column(r, func(r *NewRun) int64 { return int64(r.ID) }),
		column(r, func(r *NewRun) int64 { return r.Namespace }),
		column(r, func(r *NewRun) int64 { return r.Workflow }),
		column(r, func(r *NewRun) int64 { return r.Version }),
		column(r, func(r *NewRun) string { return string(r.State) }),
		column(r, func(r *NewRun) bool { return r.Limited }),
		column(r, func(r *NewRun) int16 { return int16(r.Priority) }),
		column(r, func(r *NewRun) string { return r.Trigger }),
		column(r, func(r *NewRun) string { return r.Actor }),
		column(r, func(r *NewRun) *int64 { return orNull(r.Schedule) }),
		column(r, func(r *NewRun) time.Time { return r.ScheduledAt }),
		column(r, func(r *NewRun) string { return r.LogicalDate }),
		column(r, func(r *NewRun) *time.Time { return r.PreviousScheduledAt }),
		column(r, func(r *NewRun) string { return r.Key }),
		column(r, func(r *NewRun) string { return string(r.Params) }),
		column(r, func(r *NewRun) int64 { return r.Timeout.Microseconds() }),
		column(r, func(r *NewRun) *string { return orNull(r.Parent) }),
		column(r, func(r *NewRun) int16 { return int16(r.Depth) }),
	}
}

// Startable is a queued run that may start.
type Startable struct {
	Run      RunID
	Version  int64
	Priority int
	// Reopened means that it has run before: what is left of it is for the general path to say.
	Reopened bool
}

// NextQueued finds the queued runs of some workflows that may start now. The caller holds the workflows' locks, taken in an
// earlier statement, so that this one sees every run that ended before.
func (s *Store) NextQueued(ctx context.Context, tx pgx.Tx, workflows []int64) ([]Startable, error) {
	rows, err := tx.Query(ctx, moves["next"], workflows)
	if err != nil {
		return nil, fmt.Errorf("find queued runs: %w", err)
	}
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Startable, error) {
		var st Startable
		return st, row.Scan(&st.Run, &st.Version, &st.Priority, &st.Reopened)
	})
	if err != nil {
		return nil, fmt.Errorf("find queued runs: %w", err)
	}
	return got, nil
}

// Beginning is a queued run that starts.
type Beginning struct {
	Run     RunID
	Timeout time.Duration
	// Undecided means that what starts first is for the general path to say.
	Undecided bool
}

// BeginRuns turns queued runs into running ones and makes their first attempts due.
func (s *Store) BeginRuns(ctx context.Context, tx pgx.Tx, runs []Beginning, begins []Begin) error {
	b := &pgx.Batch{}
	b.Queue(moves["begin"], column(runs, func(r *Beginning) int64 { return int64(r.Run) }),
		column(runs, func(r *Beginning) int64 { return r.Timeout.Microseconds() }))
	if len(begins) > 0 {
		b.Queue(moves["start"], beginArgs(begins)...)
	}
	var open []RunID
	for _, r := range runs {
		if r.Undecided {
			open = append(open, r.Run)
		}
	}
	queueSettles(b, open)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("begin %d runs: %w", len(runs), err)
	}
	return nil
}

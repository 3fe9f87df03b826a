package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store/internal/db"
)

// TermKey is what runs of a term have in common: their logical date, or with At set their logical time.
type TermKey struct {
	Date string
	At   time.Time
}

// TermRun is a run that a term may take. State is the run's, or its node's where the term names one: "" until that has ended.
type TermRun struct {
	Run         RunID
	Generation  int
	State       progress.State
	ScheduledAt time.Time
	LogicalDate string
}

func termRun(r db.RunOfTermRow) (TermRun, error) {
	return TermRun{Run: RunID(r.ID), Generation: int(r.Generation), State: progress.State(r.State), ScheduledAt: r.ScheduledAt, LogicalDate: r.LogicalDate}, nil
}

// termRuns converts what a query brought.
func termRuns[R any](rows []R, err error, convert func(R) db.RunOfTermRow) ([]TermRun, error) {
	if err != nil {
		return nil, fmt.Errorf("read runs of an upstream term: %w", err)
	}
	return mapRows(rows, func(r R) (TermRun, error) { return termRun(convert(r)) })
}

// NewestOfKey reads the newest run of a key, none for none.
func (s *Store) NewestOfKey(ctx context.Context, tx pgx.Tx, t Term, k TermKey) ([]TermRun, error) {
	if k.At.IsZero() {
		rows, err := db.New(tx).NewestOfDate(ctx, db.NewestOfDateParams{Node: t.Node, WorkflowID: t.Upstream, Date: k.Date})
		return termRuns(rows, err, func(r db.NewestOfDateRow) db.RunOfTermRow { return db.RunOfTermRow(r) })
	}
	rows, err := db.New(tx).NewestOfTime(ctx, db.NewestOfTimeParams{Node: t.Node, WorkflowID: t.Upstream, At: k.At})
	return termRuns(rows, err, func(r db.NewestOfTimeRow) db.RunOfTermRow { return db.RunOfTermRow(r) })
}

// RunsOfKey reads the runs of a key that satisfy a term, oldest first.
func (s *Store) RunsOfKey(ctx context.Context, tx pgx.Tx, t Term, k TermKey, limit int) ([]TermRun, error) {
	var states []string
	for _, state := range t.States() {
		states = append(states, string(state))
	}
	if k.At.IsZero() {
		rows, err := db.New(tx).RunsOfDate(ctx, db.RunsOfDateParams{Node: t.Node, WorkflowID: t.Upstream, Date: k.Date, States: states, Most: int32(limit)})
		return termRuns(rows, err, func(r db.RunsOfDateRow) db.RunOfTermRow { return db.RunOfTermRow(r) })
	}
	rows, err := db.New(tx).RunsOfTime(ctx, db.RunsOfTimeParams{Node: t.Node, WorkflowID: t.Upstream, At: k.At, States: states, Most: int32(limit)})
	return termRuns(rows, err, func(r db.RunsOfTimeRow) db.RunOfTermRow { return db.RunOfTermRow(r) })
}

// RunOfTerm reads one run as a term sees it.
func (s *Store) RunOfTerm(ctx context.Context, tx pgx.Tx, t Term, run RunID) ([]TermRun, error) {
	rows, err := db.New(tx).RunOfTerm(ctx, db.RunOfTermParams{Node: t.Node, WorkflowID: t.Upstream, ID: int64(run)})
	return termRuns(rows, err, func(r db.RunOfTermRow) db.RunOfTermRow { return r })
}

// LatestEnded reads the newest run of a term's workflow that has ended, or of which its node has.
func (s *Store) LatestEnded(ctx context.Context, tx pgx.Tx, t Term) ([]TermRun, error) {
	rows, err := db.New(tx).LatestEnded(ctx, db.LatestEndedParams{Node: t.Node, WorkflowID: t.Upstream})
	return termRuns(rows, err, func(r db.LatestEndedRow) db.RunOfTermRow { return db.RunOfTermRow(r) })
}

// GoingOn reports whether another run of a key than the given one has not ended.
func (s *Store) GoingOn(ctx context.Context, tx pgx.Tx, workflow int64, k TermKey, except RunID) (going bool, err error) {
	if k.At.IsZero() {
		going, err = db.New(tx).GoingOnOfDate(ctx, db.GoingOnOfDateParams{WorkflowID: workflow, Date: k.Date, ExceptRun: int64(except)})
	} else {
		going, err = db.New(tx).GoingOnOfTime(ctx, db.GoingOnOfTimeParams{WorkflowID: workflow, At: k.At, ExceptRun: int64(except)})
	}
	if err != nil {
		return false, fmt.Errorf("look for runs that go on: %w", err)
	}
	return going, nil
}

// SchedulesIn lists the schedules that a workflow has now, as a transaction sees them.
func (s *Store) SchedulesIn(ctx context.Context, tx pgx.Tx, workflow int64) ([]ScheduleRow, error) {
	rows, err := db.New(tx).ListSchedules(ctx, workflow)
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	return mapRows(rows, func(r db.ListSchedulesRow) (ScheduleRow, error) { return ScheduleRow(r), nil })
}

// Unfired reports whether a schedule had an instant in a stretch, both ends included, that came and made no run.
func (s *Store) Unfired(ctx context.Context, tx pgx.Tx, sched int64, from, until time.Time) (there bool, err error) {
	there, err = db.New(tx).UnfiredIn(ctx, db.UnfiredInParams{ScheduleID: sched, Since: from, Until: until})
	if err != nil {
		return false, fmt.Errorf("look for slots without a run: %w", err)
	}
	return there, nil
}

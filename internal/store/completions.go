package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// Completion is what ended of a workflow that others wait for (S12): a run, or with Node set one of its nodes, or with Run zero a slot
// of a schedule that made no run.
type Completion struct {
	ID, Workflow int64
	Node         string
	Run          RunID
	Generation   int
	ScheduledAt  time.Time
	LogicalDate  string
}

// ClaimCompletions claims at most limit completions, oldest first.
func (s *Store) ClaimCompletions(ctx context.Context, tx pgx.Tx, limit int) ([]Completion, error) {
	rows, err := db.New(tx).ClaimCompletions(ctx, int32(limit))
	if err != nil {
		return nil, fmt.Errorf("claim completions: %w", err)
	}
	return mapRows(rows, func(r db.ClaimCompletionsRow) (Completion, error) {
		return Completion{ID: r.ID, Workflow: r.WorkflowID, Node: r.Node, Run: RunID(r.RunID), Generation: int(r.Generation),
			ScheduledAt: r.ScheduledAt, LogicalDate: r.LogicalDate}, nil
	})
}

// AddCompletions tells of slots that made no run.
func (s *Store) AddCompletions(ctx context.Context, tx pgx.Tx, slots []Completion) error {
	if len(slots) == 0 {
		return nil
	}
	err := db.New(tx).AddCompletions(ctx, db.AddCompletionsParams{
		Workflows: column(slots, func(c *Completion) int64 { return c.Workflow }), Scheduled: column(slots, func(c *Completion) time.Time { return c.ScheduledAt }),
		Dates: column(slots, func(c *Completion) string { return c.LogicalDate })})
	if err != nil {
		return fmt.Errorf("tell of %d slots without a run: %w", len(slots), err)
	}
	return nil
}

// DropCompletions removes claimed completions that were consumed.
func (s *Store) DropCompletions(ctx context.Context, tx pgx.Tx, done []Completion) error {
	if err := db.New(tx).DropCompletions(ctx, column(done, func(c *Completion) int64 { return c.ID })); err != nil {
		return fmt.Errorf("drop %d completions: %w", len(done), err)
	}
	return nil
}

// PutOffCompletion leaves a claimed completion for later: it could not be consumed.
func (s *Store) PutOffCompletion(ctx context.Context, tx pgx.Tx, c Completion, d time.Duration) error {
	err := db.New(tx).PutOffCompletion(ctx, db.PutOffCompletionParams{ID: c.ID, Us: d.Microseconds()})
	if err != nil {
		return fmt.Errorf("put off a completion: %w", err)
	}
	return nil
}

// NoteEnded notes of the runs among some completions that they have ended.
func (s *Store) NoteEnded(ctx context.Context, tx pgx.Tx, done []Completion) error {
	var runs []int64
	for _, c := range done {
		if c.Run != 0 && c.Node == "" {
			runs = append(runs, int64(c.Run))
		}
	}
	if len(runs) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, moves["watch"], runs); err != nil {
		return fmt.Errorf("note that %d runs have ended: %w", len(runs), err)
	}
	return nil
}

// Counting are those of some completions that count for others: not those of a backfill that does not cascade.
func (s *Store) Counting(ctx context.Context, tx pgx.Tx, done []Completion) ([]Completion, error) {
	aside, err := db.New(tx).BackfillRunsAside(ctx, column(done, func(c *Completion) int64 { return int64(c.Run) }))
	if err != nil {
		return nil, fmt.Errorf("sort %d completions: %w", len(done), err)
	}
	return slices.DeleteFunc(slices.Clone(done), func(c Completion) bool { return slices.Contains(aside, int64(c.Run)) }), nil
}

// WatchRuns makes runs that are not waited for by themselves, those of a backfill that cascades, count for the workflows that wait.
func (s *Store) WatchRuns(ctx context.Context, tx pgx.Tx, runs []RunID) error {
	err := db.New(tx).WatchRuns(ctx, ids(runs))
	if err != nil {
		return fmt.Errorf("watch %d runs: %w", len(runs), err)
	}
	return nil
}

// NowIn is the database's clock as a transaction sees it.
func (s *Store) NowIn(ctx context.Context, tx pgx.Tx) (now time.Time, err error) {
	if now, err = db.New(tx).NowIn(ctx); err != nil {
		return now, fmt.Errorf("read the database's clock: %w", err)
	}
	return now, nil
}

// Watched reports whether other workflows wait for one's completions.
func (s *Store) Watched(ctx context.Context, tx pgx.Tx, workflow int64) (watched bool, err error) {
	if watched, err = db.New(tx).IsWatched(ctx, workflow); err != nil {
		return false, fmt.Errorf("look for workflows that wait: %w", err)
	}
	return watched, nil
}

package engine

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

// startQueued starts the next queued runs of workflows whose runs just ended, in the transaction that ended them (S22). The
// workflows are locked first and the queue is read in a later statement, which sees every run that ended before the lock.
func (e *Engine) startQueued(ctx context.Context, tx pgx.Tx, workflows []int64) error {
	if len(workflows) == 0 {
		return nil
	}
	slices.Sort(workflows)
	workflows = slices.Compact(workflows)
	if _, err := e.store.LockLimits(ctx, tx, workflows); err != nil {
		return err
	}
	next, err := e.store.NextQueued(ctx, tx, workflows)
	if err != nil || len(next) == 0 {
		return err
	}
	var runs []store.Beginning
	var begins []store.Begin
	for _, n := range next {
		p, err := e.plans.get(ctx, n.Version)
		if err != nil {
			return err
		}
		run := store.Beginning{Run: n.Run, Timeout: time.Duration(p.graph.Definition().Timeout), Undecided: p.undecided || n.Reopened}
		if !run.Undecided {
			begins = append(begins, e.roots(p, n.Run, n.Priority)...)
		}
		runs = append(runs, run)
	}
	return e.store.BeginRuns(ctx, tx, runs, begins)
}

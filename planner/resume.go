package planner

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

// Resume lets a paused workflow start by itself again, from now on: what came while it was paused and nobody planned is
// recorded as skipped, and not made up (S10). False says that it was not paused.
func Resume(ctx context.Context, s *store.Store, workflow int64) (bool, error) {
	var changed bool
	err := s.InTx(ctx, func(tx pgx.Tx) (err error) {
		changed, err = resume(ctx, s, tx, workflow)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("resume workflow %d: %w", workflow, err)
	}
	return changed, nil
}

func resume(ctx context.Context, s *store.Store, tx pgx.Tx, workflow int64) (bool, error) {
	scheds, now, err := s.LockSchedules(ctx, tx, workflow)
	if err != nil {
		return false, err
	}
	changed, err := s.ClearPaused(ctx, tx, workflow)
	if err != nil || !changed {
		return false, err
	}
	var fires []store.Fire
	var advances []store.Advance
	for _, sched := range scheds {
		owed, next := settle(sched, now, store.SkipPaused)
		fires = append(fires, owed...)
		advances = append(advances, store.Advance{Schedule: sched.ID, Next: next})
	}
	if err := s.UnparkDelayed(ctx, tx, workflow); err != nil {
		return false, err
	}
	return true, s.WriteFires(ctx, tx, fires, advances)
}

package planner

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

// maxUnfired bounds how many instants of a long stretch without runs are told to workflows that wait: the newest.
const maxUnfired = 100

// unfired are the instants of the ledger's rows that made no run, as completions: what waits for a date may wait for nothing more.
func unfired(line *times, workflow int64, rows []store.Fire) (slots []store.Completion) {
	tell := func(at time.Time) {
		slots = append(slots, store.Completion{Workflow: workflow, ScheduledAt: at, LogicalDate: at.In(line.zone).Format(time.DateOnly)})
	}
	for _, row := range rows {
		if row.Until == nil {
			tell(row.At)
			continue
		}
		after := line.tail(row.At.Add(-tick), *row.Until, maxUnfired)
		for at, ok := line.next(after); ok && !at.After(*row.Until); at, ok = line.next(at) {
			tell(at)
		}
	}
	return slots
}

// unfiredOf are those of a batch's rows, of the workflows that others wait for.
func unfiredOf(items []item, rows []store.Fire) (slots []store.Completion) {
	for i := range items {
		s := &items[i].schedule
		if !s.Watched {
			continue
		}
		var none []store.Fire
		for _, row := range rows {
			if row.Schedule == s.ID && row.Result != store.Fired {
				none = append(none, row)
			}
		}
		line, err := lineOf(store.ScheduleRow{Spec: s.Spec, Anchor: s.Anchor}, s.Workflow)
		if err != nil || len(none) == 0 {
			continue
		}
		line.pin(s.NextFireAt)
		slots = append(slots, unfired(line, s.Workflow, none)...)
	}
	return slots
}

// tellUnfired tells the workflows that wait for a schedule's of instants that made no run.
func tellUnfired(ctx context.Context, s *store.Store, tx pgx.Tx, row rowOf, rows []store.Fire) error {
	line, err := lineOf(store.ScheduleRow{Spec: row.Spec, Anchor: row.Anchor}, row.workflow)
	if err != nil || len(rows) == 0 {
		return nil //nolint:nilerr // what cannot be read has no instants
	}
	watched, err := s.Watched(ctx, tx, row.workflow)
	if err != nil || !watched {
		return err
	}
	return s.AddCompletions(ctx, tx, unfired(line, row.workflow, rows))
}

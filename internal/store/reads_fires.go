package store

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// FireRow is one row of the ledger (S9): one fire, or a stretch of Count of them with one reason, up to UntilAt.
type FireRow struct {
	ScheduleID  int64
	Schedule    string
	ScheduledAt time.Time
	Kind        string
	Result      string
	Reason      string
	// Run is 0 where there is none.
	Run       RunID
	UntilAt   *time.Time
	Count     int
	CreatedAt time.Time
}

// FireMark is a place in the ledger's order: newest first, then by schedule and kind.
type FireMark struct {
	At       time.Time
	Schedule int64
	Kind     string
}

// Fires lists the ledger of a workflow, newest first, after a place in it and not before since.
func (s *Store) Fires(ctx context.Context, workflow int64, since time.Time, after FireMark, limit int) ([]FireRow, error) {
	rows, err := db.New(s.pool).FiresOfWorkflow(ctx, db.FiresOfWorkflowParams{
		Since: since, Until: after.At, BeforeSchedule: after.Schedule, BeforeKind: after.Kind, Most: int32(limit), WorkflowID: workflow})
	if err != nil {
		return nil, fmt.Errorf("list fires: %w", err)
	}
	return mapRows(rows, func(r db.FiresOfWorkflowRow) (FireRow, error) {
		f := FireRow{
			ScheduleID: r.ScheduleID, Schedule: r.Name, ScheduledAt: r.ScheduledAt, Kind: r.Kind, Result: r.Result, Reason: text(r.Reason),
			UntilAt: r.UntilAt, Count: int(r.Count), CreatedAt: r.CreatedAt,
		}
		if r.RunID != nil {
			f.Run = RunID(*r.RunID)
		}
		return f, nil
	})
}

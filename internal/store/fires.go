package store

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// FireResult is what became of an expected fire (S9).
type FireResult string

// The results.
const (
	Fired FireResult = "fired"
	// Coalesced is represented by the run of the latest missed instant.
	Coalesced FireResult = "coalesced"
	// SkippedFire has one of the Skip reasons.
	SkippedFire FireResult = "skipped"
	// FailedFire could not become a run; its reason is the error.
	FailedFire FireResult = "failed"
)

// The kinds of rows: what became of an instant when it came, and a run made for it later, which reads over that (S9).
const (
	FireKind = "fire"
	FillKind = "fill"
)

// Why a fire was skipped.
const (
	SkipPaused  = "paused"
	SkipOverlap = "overlap"
	// SkipCatchup is refused by policy or limit, SkipLate beyond the window (S10).
	SkipCatchup = "catchup"
	SkipLate    = "late"
	// SkipCalendar is a date that the schedule's calendars exclude.
	SkipCalendar = "calendar"
	// SkipEdited was owed when the schedule was changed or removed.
	SkipEdited = "edited"
)

// Fire is a row of the ledger: one expected fire, or Count of them from At to Until that share a result.
type Fire struct {
	Schedule int64
	At       time.Time
	// Until is nil for a single fire.
	Until *time.Time
	Count int
	// Kind is FireKind where it is left out.
	Kind   string
	Result FireResult
	Reason string
	// Run is 0 unless Result is Fired.
	Run RunID
}

// DueSchedule is a claimed schedule: locked until the transaction ends, so that it is fired once.
type DueSchedule struct {
	ID, Workflow, Version int64
	Spec                  []byte
	Anchor, NextFireAt    time.Time
	Paused                bool
	// Decided is the last instant in the ledger, LastFired the last one that became a run; nil when there is none.
	// LastFired is not read while the workflow is paused.
	Decided, LastFired *time.Time
	// Calendars are those that the spec names.
	Calendars []Calendar
	// Watched says that other workflows wait for this one's completions (S12).
	Watched bool
}

// ClaimDue claims at most limit schedules whose time has come by the database's clock, and returns that clock's reading.
func (s *Store) ClaimDue(ctx context.Context, tx pgx.Tx, limit int) ([]DueSchedule, time.Time, error) {
	var now time.Time
	rows, err := tx.Query(ctx, moves["due"], limit)
	if err != nil {
		return nil, now, fmt.Errorf("claim due schedules: %w", err)
	}
	due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (DueSchedule, error) {
		var d DueSchedule
		return d, row.Scan(&d.ID, &d.Spec, &d.Anchor, &d.NextFireAt, &now)
	})
	if err == nil && len(due) > 0 {
		if err = readLedger(ctx, tx, due); err == nil {
			err = readCalendars(ctx, tx, due)
		}
	}
	if err != nil {
		return nil, now, fmt.Errorf("claim due schedules: %w", err)
	}
	return due, now, nil
}

func readLedger(ctx context.Context, tx pgx.Tx, due []DueSchedule) error {
	at := make(map[int64]*DueSchedule, len(due))
	for i := range due {
		at[due[i].ID] = &due[i]
	}
	rows, err := tx.Query(ctx, moves["ledger"], column(due, func(d *DueSchedule) int64 { return d.ID }))
	if err != nil {
		return err
	}
	var id int64
	var r DueSchedule
	_, err = pgx.ForEachRow(rows, []any{&id, &r.Workflow, &r.Version, &r.Paused, &r.Decided, &r.LastFired, &r.Watched}, func() error {
		d := at[id]
		d.Workflow, d.Version, d.Paused, d.Decided, d.LastFired, d.Watched = r.Workflow, r.Version, r.Paused, r.Decided, r.LastFired, r.Watched
		return nil
	})
	return err
}

// Advance moves a claimed schedule on; Next nil is over.
type Advance struct {
	Schedule int64
	Next     *time.Time
}

// WriteFires writes rows of the ledger and moves schedules on. The caller holds the schedules.
func (s *Store) WriteFires(ctx context.Context, tx pgx.Tx, fires []Fire, advances []Advance) error {
	b := &pgx.Batch{}
	if len(fires) > 0 {
		b.Queue(moves["fires"], fireArgs(fires)...)
	}
	if len(advances) > 0 {
		b.Queue(moves["advance"], column(advances, func(a *Advance) int64 { return a.Schedule }),
			column(advances, func(a *Advance) *time.Time { return a.Next }))
	}
	if b.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("write %d fires: %w", len(fires), err)
	}
	return nil
}

func fireArgs(f []Fire) []any {
	return []any{
		column(f, func(f *Fire) int64 { return f.Schedule }),
		column(f, func(f *Fire) time.Time { return f.At }),
		column(f, func(f *Fire) *time.Time { return f.Until }),
		column(f, func(f *Fire) int32 { return int32(f.Count) }),
		column(f, func(f *Fire) string { return string(f.Result) }),
		column(f, func(f *Fire) *string { return orNull(f.Reason) }),
		column(f, func(f *Fire) *int64 { return orNull(int64(f.Run)) }),
		column(f, func(f *Fire) string { return cmp.Or(f.Kind, FireKind) }),
	}
}

// UntilNextFire is how long until the next schedule is due by the database's clock; ok is false when none will be.
func (s *Store) UntilNextFire(ctx context.Context) (d time.Duration, ok bool, err error) {
	var us *int64
	err = s.pool.QueryRow(ctx, `SELECT (extract(epoch FROM min(next_fire_at) - clock_timestamp()) * 1000000)::bigint
		FROM ax.schedules WHERE next_fire_at IS NOT NULL`).Scan(&us)
	if err != nil {
		return 0, false, fmt.Errorf("find the next due schedule: %w", err)
	}
	if us == nil {
		return 0, false, nil
	}
	return time.Duration(*us) * time.Microsecond, true, nil
}

// SchedulePoint is a schedule's place in the order in which they are due.
type SchedulePoint struct {
	At time.Time
	ID int64
}

// SoonDue is a schedule that will be due, and the version that it will start.
type SoonDue struct {
	SchedulePoint
	Version int64
}

// DueSoon lists the first of the schedules, after a place in their order, that are due within a time.
func (s *Store) DueSoon(ctx context.Context, after SchedulePoint, within time.Duration, limit int) (soon []SoonDue, err error) {
	rows, err := s.pool.Query(ctx, `SELECT s.next_fire_at, s.id, w.version_id FROM ax.schedules s JOIN ax.workflows w ON w.id = s.workflow_id
		WHERE s.next_fire_at >= greatest($1, now()) AND s.next_fire_at < now() + $3::interval AND (s.next_fire_at, s.id) > ($1, $2)
			AND w.version_id IS NOT NULL AND w.paused_at IS NULL
		ORDER BY s.next_fire_at, s.id LIMIT $4`, after.At, after.ID, within, limit)
	if err == nil {
		err = collect(&soon, func(d *SoonDue) []any { return []any{&d.At, &d.ID, &d.Version} })(rows)
	}
	if err != nil {
		return nil, fmt.Errorf("look for schedules that are due soon: %w", err)
	}
	return soon, nil
}

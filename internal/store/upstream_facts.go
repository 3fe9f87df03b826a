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

// What a term sees of a run: test runs are nothing to it, and a node that an ended run never came to counts as skipped.
const termRuns = `SELECT r.id, r.generation, s.state, r.scheduled_at, to_char(r.logical_date, 'YYYY-MM-DD') FROM %s
	LEFT JOIN LATERAL (SELECT n.state FROM ax.node_runs n WHERE n.run_id = r.id AND n.node = $2 AND n.shard = -1
		ORDER BY n.generation DESC, n.attempt DESC LIMIT 1) n ON $2 <> ''
	CROSS JOIN LATERAL (SELECT CASE WHEN $2 = '' THEN r.state WHEN n.state IN ('succeeded', 'failed', 'skipped', 'upstream_failed', 'canceled') THEN n.state
		WHEN r.state IN ('succeeded', 'failed', 'canceled', 'skipped') THEN 'skipped' ELSE '' END AS state) s
	WHERE r.only_nodes IS NULL AND %s`

func (k TermKey) runs(rest string) (sql string, value any) {
	from, where := "ax.watched_runs k JOIN ax.runs r ON r.id = k.run_id", "k.workflow_id = $1 AND k.logical_date = $3::text::date"
	value = k.Date
	if !k.At.IsZero() {
		where, value = "k.workflow_id = $1 AND k.scheduled_at = $3::timestamptz", k.At
	}
	return fmt.Sprintf(termRuns, from, where+rest), value
}

func collectTermRuns(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]TermRun, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read runs of an upstream term: %w", err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[TermRun])
	if err != nil {
		return nil, fmt.Errorf("read runs of an upstream term: %w", err)
	}
	return got, nil
}

// NewestOfKey reads the newest run of a key, none for none.
func (s *Store) NewestOfKey(ctx context.Context, tx pgx.Tx, t Term, k TermKey) ([]TermRun, error) {
	sql, value := k.runs(" ORDER BY k.run_id DESC LIMIT 1")
	return collectTermRuns(ctx, tx, sql, t.Upstream, t.Node, value)
}

// RunsOfKey reads the runs of a key that satisfy a term, oldest first.
func (s *Store) RunsOfKey(ctx context.Context, tx pgx.Tx, t Term, k TermKey, limit int) ([]TermRun, error) {
	sql, value := k.runs(" AND s.state = ANY ($4::text[]) ORDER BY k.run_id LIMIT $5")
	return collectTermRuns(ctx, tx, sql, t.Upstream, t.Node, value, t.States(), limit)
}

// RunOfTerm reads one run as a term sees it.
func (s *Store) RunOfTerm(ctx context.Context, tx pgx.Tx, t Term, run RunID) ([]TermRun, error) {
	return collectTermRuns(ctx, tx, fmt.Sprintf(termRuns, "ax.runs r", "r.workflow_id = $1 AND r.id = $3"), t.Upstream, t.Node, run)
}

// LatestEnded reads the newest run of a term's workflow that has ended, or of which its node has.
func (s *Store) LatestEnded(ctx context.Context, tx pgx.Tx, t Term) ([]TermRun, error) {
	sql := fmt.Sprintf(termRuns, "ax.runs r", `r.workflow_id = $1 AND s.state NOT IN ('', 'queued', 'running')
		AND (r.trigger <> 'backfill' OR EXISTS (SELECT FROM ax.watched_runs k WHERE k.run_id = r.id)) ORDER BY r.id DESC LIMIT 1`)
	return collectTermRuns(ctx, tx, sql, t.Upstream, t.Node)
}

// GoingOn reports whether another run of a key than the given one has not ended.
func (s *Store) GoingOn(ctx context.Context, tx pgx.Tx, workflow int64, k TermKey, except RunID) (going bool, err error) {
	if k.At.IsZero() {
		err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM ax.watched_runs WHERE workflow_id = $1 AND logical_date = $2::text::date AND run_id <> $3 AND NOT ended)`,
			workflow, k.Date, except).Scan(&going)
	} else {
		err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM ax.watched_runs WHERE workflow_id = $1 AND scheduled_at = $2 AND run_id <> $3 AND NOT ended)`,
			workflow, k.At, except).Scan(&going)
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
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM ax.fires WHERE schedule_id = $1 AND kind = 'fire' AND result <> 'fired'
			AND scheduled_at <= $3 AND COALESCE(until_at, scheduled_at) >= $2)`, sched, from, until).Scan(&there)
	if err != nil {
		return false, fmt.Errorf("look for slots without a run: %w", err)
	}
	return there, nil
}

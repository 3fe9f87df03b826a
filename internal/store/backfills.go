package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ChannelBackfills tells planners that there is something to do for a backfill.
const ChannelBackfills = "ax_backfills"

// BackfillState says how far a backfill is (S32).
type BackfillState string

// The states.
const (
	BackfillRunning   BackfillState = "running"
	BackfillPaused    BackfillState = "paused"
	BackfillCompleted BackfillState = "completed"
	// BackfillWithFailures has ended, and not every instant has succeeded.
	BackfillWithFailures BackfillState = "completed_with_failures"
	BackfillCanceled     BackfillState = "canceled"
)

// What a backfill makes anew: instants without a run; also those whose newest run ended without success; or all of them.
const (
	ReprocessMissing = "missing"
	ReprocessFailed  = "failed"
	ReprocessAll     = "all"
)

// BackfillLine is a schedule's part of a backfill: its instants from From up to Until, both included.
type BackfillLine struct {
	Schedule int64     `json:"schedule"`
	Name     string    `json:"name"`
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"`
	// At is the instant that was decided last, in the backfill's order; nil for none.
	At *time.Time `json:"at,omitempty"`
}

// BackfillCounts are of instants. What Total has more than the others is not decided yet.
type BackfillCounts struct {
	Total int
	// Passed are those for which nothing was to be made.
	Passed int
	// Waiting are those for which there was no place yet.
	Waiting, Active, Succeeded, Failed int
}

// Backfill makes runs for a stretch of schedules' instants (S32).
type Backfill struct {
	ID                  RunID
	Namespace, Workflow int64
	Code                string
	// Version is the one named and Number its number; 0 for the newest when a run is made, which is Newest now.
	Version, Newest int64
	Number          int
	Lines           []BackfillLine
	// From and To are as they were said.
	From, To, Reprocess string
	NewestFirst         bool
	// MaxRuns is how many runs of its own may be active at once.
	MaxRuns int
	// Params are values that its runs have instead of the schedule's, a JSON object.
	Params []byte
	// Cascade lets its runs count for the workflows that wait for them (S12).
	Cascade     bool
	State       BackfillState
	Actor, Note string
	// ChangedBy is who paused, resumed, retried or canceled it last.
	ChangedBy, ChangeNote string
	// Problem is why it cannot go on for now, "" for nothing.
	Problem string
	// Round counts how often what had failed was to be tried again, from 1.
	Round     int
	Counts    BackfillCounts
	CreatedAt time.Time
	EndedAt   *time.Time
}

const backfillColumns = `b.id, b.namespace_id, b.workflow_id, w.code, COALESCE(b.version_id, 0), COALESCE(w.version_id, 0), COALESCE(v.number, 0), b.lines,
	b.from_text, b.to_text, b.reprocess, b.newest_first, b.max_runs, b.params, b.cascade, b.state, b.actor, COALESCE(b.note, ''), COALESCE(b.changed_by, ''),
	COALESCE(b.change_note, ''), COALESCE(b.problem, ''), b.round, b.total, b.passed, b.waiting, b.active, b.succeeded, b.failed, b.created_at, b.ended_at
	FROM ax.backfills b JOIN ax.workflows w ON w.id = b.workflow_id LEFT JOIN ax.versions v ON v.id = b.version_id `

func scanBackfill(row pgx.CollectableRow) (Backfill, error) {
	var b Backfill
	var lines []byte
	c := &b.Counts
	err := row.Scan(&b.ID, &b.Namespace, &b.Workflow, &b.Code, &b.Version, &b.Newest, &b.Number, &lines, &b.From, &b.To, &b.Reprocess, &b.NewestFirst,
		&b.MaxRuns, &b.Params, &b.Cascade, &b.State, &b.Actor, &b.Note, &b.ChangedBy, &b.ChangeNote, &b.Problem, &b.Round,
		&c.Total, &c.Passed, &c.Waiting, &c.Active, &c.Succeeded, &c.Failed, &b.CreatedAt, &b.EndedAt)
	if err != nil {
		return b, err
	}
	return b, json.Unmarshal(lines, &b.Lines)
}

// AddBackfill writes a backfill; planners take it up when tx commits. Its ID is filled in.
func (s *Store) AddBackfill(ctx context.Context, tx pgx.Tx, b *Backfill) error {
	lines, err := json.Marshal(b.Lines)
	if err != nil {
		return fmt.Errorf("write lines of a backfill: %w", err)
	}
	err = tx.QueryRow(ctx, `WITH b AS (
			INSERT INTO ax.backfills (id, namespace_id, workflow_id, version_id, lines, from_text, to_text, reprocess, newest_first, max_runs, params, cascade,
				actor, note, total)
			VALUES (ax.next_run_id(), $1, $2, $3, $4::text::json, $5, $6, $7, $8, $9, $10::text::json, $11, $12, $13, $14) RETURNING id)
		SELECT id FROM b, pg_notify('ax_backfills', '')`,
		b.Namespace, b.Workflow, orNull(b.Version), string(lines), b.From, b.To, b.Reprocess, b.NewestFirst, b.MaxRuns, string(b.Params), b.Cascade,
		b.Actor, orNull(b.Note), b.Counts.Total).Scan(&b.ID)
	if err != nil {
		return fmt.Errorf("add a backfill: %w", err)
	}
	return nil
}

const claimBackfill = `SELECT b.id FROM ax.backfills b WHERE b.look_at IS NOT NULL AND (b.look_at <= now() OR EXISTS (
		SELECT FROM ax.backfill_slots s JOIN ax.runs r ON r.id = s.run_id
		WHERE s.backfill_id = b.id AND s.state = 'active' AND r.state IN ('succeeded', 'failed', 'canceled', 'skipped')))
	ORDER BY b.looked_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`

// ClaimBackfill claims a backfill for which there is something to do and that nobody else holds, the one longest not looked at; false is none.
func (s *Store) ClaimBackfill(ctx context.Context, tx pgx.Tx) (b Backfill, ok bool, err error) {
	var id RunID
	err = tx.QueryRow(ctx, claimBackfill).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return b, false, nil
	}
	if err != nil {
		return b, false, fmt.Errorf("claim a backfill: %w", err)
	}
	// In a later statement, which sees what was committed before the claim.
	rows, err := tx.Query(ctx, "SELECT "+backfillColumns+"WHERE b.id = $1", id)
	if err == nil {
		b, err = pgx.CollectExactlyOneRow(rows, scanBackfill)
	}
	if err != nil {
		return b, false, fmt.Errorf("claim a backfill: %w", err)
	}
	return b, true, nil
}

// LockFills keeps others from making up instants of a workflow until tx ends. It is taken before any row.
func (s *Store) LockFills(ctx context.Context, tx pgx.Tx, workflow int64) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('ax.fills', $1::bigint))", workflow); err != nil {
		return fmt.Errorf("lock the fills of workflow %d: %w", workflow, err)
	}
	return nil
}

// SaveBackfill writes what a claimed backfill is now. It is looked at again after a time, or when one of its runs ends; with a negative time
// only then.
func (s *Store) SaveBackfill(ctx context.Context, tx pgx.Tx, b *Backfill, again time.Duration) error {
	lines, err := json.Marshal(b.Lines)
	if err != nil {
		return fmt.Errorf("write lines of backfill %s: %w", b.ID, err)
	}
	c := &b.Counts
	_, err = tx.Exec(ctx, `UPDATE ax.backfills SET lines = $2::text::json, state = $3, problem = NULL, passed = $4, waiting = $5, active = $6, succeeded = $7, failed = $8,
			looked_at = clock_timestamp(), ended_at = CASE WHEN $3 IN ('completed', 'completed_with_failures') THEN now() ELSE ended_at END,
			look_at = CASE WHEN $3 <> 'running' AND $6 = 0 THEN NULL WHEN $9::bigint < 0 THEN 'infinity' ELSE now() + $9::bigint * interval '1 microsecond' END
		WHERE id = $1`,
		b.ID, string(lines), string(b.State), c.Passed, c.Waiting, c.Active, c.Succeeded, c.Failed, again.Microseconds())
	if err != nil {
		return fmt.Errorf("write backfill %s: %w", b.ID, err)
	}
	return nil
}

// TroubleBackfill notes why a backfill cannot go on; it is looked at again after a time.
func (s *Store) TroubleBackfill(ctx context.Context, id RunID, problem string, again time.Duration) error {
	_, err := s.pool.Exec(ctx, `UPDATE ax.backfills SET problem = $2, looked_at = clock_timestamp(), look_at = now() + $3::bigint * interval '1 microsecond'
		WHERE id = $1 AND look_at IS NOT NULL`, id, problem, again.Microseconds())
	if err != nil {
		return fmt.Errorf("note the problem of backfill %s: %w", id, err)
	}
	return nil
}

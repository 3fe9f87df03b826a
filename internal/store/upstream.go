package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
)

// Term is one condition of a workflow that starts when others complete (S12).
type Term struct {
	Place    int
	Upstream int64
	// Node is "" for the run as a whole.
	Node string
	// Outcome is success, failure or done; Match logical_date, scheduled_at or latest; Take last, first or each.
	Outcome, Match, Take string
}

// States are those of a run or node that satisfy the term.
func (t Term) States() []progress.State {
	switch t.Outcome {
	case "failure":
		return []progress.State{progress.Failed, progress.UpstreamFailed}
	case "done":
		return []progress.State{progress.Succeeded, progress.Failed, progress.UpstreamFailed, progress.Canceled, progress.Skipped}
	}
	return []progress.State{progress.Succeeded}
}

// Downstream is a workflow that waits for others.
type Downstream struct {
	Workflow, Namespace, Version int64
	Paused, Any                  bool
	Window                       time.Duration
	Terms                        []Term
}

// Downstreams reads the workflows that wait for some others.
func (s *Store) Downstreams(ctx context.Context, tx pgx.Tx, upstreams []int64) ([]Downstream, error) {
	rows, err := tx.Query(ctx, moves["downstreams"], upstreams)
	if err != nil {
		return nil, fmt.Errorf("read workflows that wait: %w", err)
	}
	var out []Downstream
	var d Downstream
	var us int64
	var t Term
	_, err = pgx.ForEachRow(rows, []any{&d.Workflow, &d.Namespace, &d.Version, &d.Paused, &d.Any, &us, &t.Place, &t.Upstream, &t.Node, &t.Outcome, &t.Match, &t.Take}, func() error {
		if n := len(out); n == 0 || out[n-1].Workflow != d.Workflow {
			d.Window, d.Terms = time.Duration(us)*time.Microsecond, nil
			out = append(out, d)
		}
		last := &out[len(out)-1]
		last.Terms = append(last.Terms, t)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read workflows that wait: %w", err)
	}
	return out, nil
}

// SetState says what became of an upstream set.
type SetState string

// The states.
const (
	SetWaiting SetState = "waiting"
	SetFired   SetState = "fired"
	// SetSkipped has one of the Skip reasons, SetFailed the error.
	SetSkipped SetState = "skipped"
	SetFailed  SetState = "failed"
	// SetExpired was incomplete when its window ended.
	SetExpired SetState = "expired"
)

// Satisfied is a term that is satisfied, by which run; Run is 0 where it took none.
type Satisfied struct {
	Place int       `json:"place"`
	Run   RunID     `json:"run,omitempty"`
	At    time.Time `json:"at"`
}

// UpstreamSet is what a workflow has of its upstream for one key. There is one run for it, ever.
type UpstreamSet struct {
	Workflow    int64
	Key         string
	State       SetState
	Reason      string
	Run         RunID
	Satisfied   []Satisfied
	ScheduledAt time.Time
	LogicalDate string
	CreatedAt   time.Time
	ExpiresAt   time.Time
	EndedAt     *time.Time
	Later       int
}

const setColumns = `workflow_id, key, state, COALESCE(reason, ''), COALESCE(run_id, 0), satisfied, scheduled_at, to_char(logical_date, 'YYYY-MM-DD'),
	created_at, expires_at, ended_at, later`

func scanSet(row pgx.CollectableRow) (UpstreamSet, error) {
	var set UpstreamSet
	var satisfied []byte
	err := row.Scan(&set.Workflow, &set.Key, &set.State, &set.Reason, &set.Run, &satisfied, &set.ScheduledAt, &set.LogicalDate,
		&set.CreatedAt, &set.ExpiresAt, &set.EndedAt, &set.Later)
	if err != nil {
		return set, err
	}
	return set, json.Unmarshal(satisfied, &set.Satisfied)
}

// LockSet makes a set if there is none of its workflow and key, and locks it; it returns the stored one. Sets are locked in order of
// workflow and key.
func (s *Store) LockSet(ctx context.Context, tx pgx.Tx, set UpstreamSet, window time.Duration) (UpstreamSet, error) {
	_, err := tx.Exec(ctx, `INSERT INTO ax.upstream_sets (workflow_id, key, scheduled_at, logical_date, expires_at)
		VALUES ($1, $2, $3, $4::date, now() + $5::bigint * interval '1 microsecond') ON CONFLICT DO NOTHING`,
		set.Workflow, set.Key, set.ScheduledAt, set.LogicalDate, window.Microseconds())
	if err != nil {
		return set, fmt.Errorf("make upstream set %s: %w", set.Key, err)
	}
	rows, err := tx.Query(ctx, "SELECT "+setColumns+" FROM ax.upstream_sets WHERE workflow_id = $1 AND key = $2 FOR UPDATE", set.Workflow, set.Key)
	if err != nil {
		return set, fmt.Errorf("lock upstream set %s: %w", set.Key, err)
	}
	got, err := pgx.CollectExactlyOneRow(rows, scanSet)
	if err != nil {
		return set, fmt.Errorf("lock upstream set %s: %w", set.Key, err)
	}
	return got, nil
}

// SaveSet writes what a locked set is now.
func (s *Store) SaveSet(ctx context.Context, tx pgx.Tx, set UpstreamSet) error {
	satisfied, err := json.Marshal(append([]Satisfied{}, set.Satisfied...))
	if err != nil {
		return fmt.Errorf("write upstream set %s: %w", set.Key, err)
	}
	_, err = tx.Exec(ctx, `UPDATE ax.upstream_sets SET state = $3, reason = $4, run_id = $5, satisfied = $6::jsonb, scheduled_at = $7, logical_date = $8::date,
			later_at = CASE WHEN later < $9 THEN now() ELSE later_at END, later = $9,
			ended_at = CASE WHEN $3 = 'waiting' THEN NULL ELSE COALESCE(ended_at, now()) END
		WHERE workflow_id = $1 AND key = $2`,
		set.Workflow, set.Key, string(set.State), orNull(set.Reason), orNull(int64(set.Run)), string(satisfied), set.ScheduledAt, set.LogicalDate, set.Later)
	if err != nil {
		return fmt.Errorf("write upstream set %s: %w", set.Key, err)
	}
	return nil
}

// DropSet removes a waiting set that another key has taken the place of.
func (s *Store) DropSet(ctx context.Context, tx pgx.Tx, workflow int64, key string) error {
	_, err := tx.Exec(ctx, "DELETE FROM ax.upstream_sets WHERE workflow_id = $1 AND key = $2 AND state = 'waiting'", workflow, key)
	if err != nil {
		return fmt.Errorf("drop upstream set %s: %w", key, err)
	}
	return nil
}

// WaitingSets lists a workflow's sets that wait, oldest first, at most limit.
func (s *Store) WaitingSets(ctx context.Context, tx pgx.Tx, workflow int64, limit int) ([]UpstreamSet, error) {
	rows, err := tx.Query(ctx, "SELECT "+setColumns+" FROM ax.upstream_sets WHERE workflow_id = $1 AND state = 'waiting' ORDER BY created_at, key LIMIT $2", workflow, limit)
	if err != nil {
		return nil, fmt.Errorf("list waiting upstream sets: %w", err)
	}
	got, err := pgx.CollectRows(rows, scanSet)
	if err != nil {
		return nil, fmt.Errorf("list waiting upstream sets: %w", err)
	}
	return got, nil
}

// ExpireSets ends the sets that were incomplete when their window ended, and says how many.
func (s *Store) ExpireSets(ctx context.Context) (int64, error) {
	tag, err := s.pool.Exec(ctx, `UPDATE ax.upstream_sets SET state = 'expired', ended_at = now() WHERE state = 'waiting' AND expires_at <= now()`)
	if err != nil {
		return 0, fmt.Errorf("expire upstream sets: %w", err)
	}
	return tag.RowsAffected(), nil
}

// SetMark is a place in a list of sets: newest first.
type SetMark struct {
	At  time.Time
	Key string
}

// Sets lists a workflow's upstream sets, newest first, after a place.
func (s *Store) Sets(ctx context.Context, workflow int64, state SetState, after SetMark, limit int) ([]UpstreamSet, error) {
	rows, err := s.pool.Query(ctx, "SELECT "+setColumns+` FROM ax.upstream_sets WHERE workflow_id = $1 AND ($2 = '' OR state = $2) AND (created_at, key) < ($3, $4)
		ORDER BY created_at DESC, key DESC LIMIT $5`, workflow, string(state), after.At, after.Key, limit)
	if err != nil {
		return nil, fmt.Errorf("list upstream sets: %w", err)
	}
	got, err := pgx.CollectRows(rows, scanSet)
	if err != nil {
		return nil, fmt.Errorf("list upstream sets: %w", err)
	}
	return got, nil
}

// NamedTerm is a term with the names of its workflow.
type NamedTerm struct {
	Term
	Namespace, Workflow string
}

// NamedTerms lists what a workflow waits for, and whether any of it is enough.
func (s *Store) NamedTerms(ctx context.Context, workflow int64) (terms []NamedTerm, anyOf bool, err error) {
	rows, err := s.pool.Query(ctx, `SELECT u.mode = 'any', t.place, t.upstream_id, t.node, t.outcome, t.match, t.take, n.name, w.code FROM ax.upstreams u
		JOIN ax.upstream_terms t ON t.workflow_id = u.workflow_id JOIN ax.workflows w ON w.id = t.upstream_id JOIN ax.namespaces n ON n.id = w.namespace_id
		WHERE u.workflow_id = $1 ORDER BY t.place`, workflow)
	if err != nil {
		return nil, false, fmt.Errorf("list upstream terms: %w", err)
	}
	var t NamedTerm
	_, err = pgx.ForEachRow(rows, []any{&anyOf, &t.Place, &t.Upstream, &t.Node, &t.Outcome, &t.Match, &t.Take, &t.Namespace, &t.Workflow}, func() error {
		terms = append(terms, t)
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("list upstream terms: %w", err)
	}
	return terms, anyOf, nil
}

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store/internal/db"
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

func upstreamSet(r db.LockSetRow) (UpstreamSet, error) {
	set := UpstreamSet{Workflow: r.WorkflowID, Key: r.Key, State: SetState(r.State), Reason: r.Reason, Run: RunID(r.RunID), ScheduledAt: r.ScheduledAt,
		LogicalDate: r.LogicalDate, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, EndedAt: r.EndedAt, Later: int(r.Later)}
	return set, json.Unmarshal(r.Satisfied, &set.Satisfied)
}

// LockSet makes a set if there is none of its workflow and key, and locks it; it returns the stored one. Sets are locked in order of
// workflow and key.
func (s *Store) LockSet(ctx context.Context, tx pgx.Tx, set UpstreamSet, window time.Duration) (UpstreamSet, error) {
	q := db.New(tx)
	err := q.AddSet(ctx, db.AddSetParams{WorkflowID: set.Workflow, Key: set.Key, ScheduledAt: set.ScheduledAt, LogicalDate: set.LogicalDate, WindowUs: window.Microseconds()})
	if err != nil {
		return set, fmt.Errorf("make upstream set %s: %w", set.Key, err)
	}
	row, err := q.LockSet(ctx, db.LockSetParams{WorkflowID: set.Workflow, Key: set.Key})
	if err != nil {
		return set, fmt.Errorf("lock upstream set %s: %w", set.Key, err)
	}
	return upstreamSet(row)
}

// SaveSet writes what a locked set is now.
func (s *Store) SaveSet(ctx context.Context, tx pgx.Tx, set UpstreamSet) error {
	satisfied, err := json.Marshal(append([]Satisfied{}, set.Satisfied...))
	if err != nil {
		return fmt.Errorf("write upstream set %s: %w", set.Key, err)
	}
	err = db.New(tx).SaveSet(ctx, db.SaveSetParams{WorkflowID: set.Workflow, Key: set.Key, State: string(set.State), Reason: orNull(set.Reason), RunID: orNull(int64(set.Run)),
		Satisfied: satisfied, ScheduledAt: set.ScheduledAt, LogicalDate: set.LogicalDate, Later: int32(set.Later)})
	if err != nil {
		return fmt.Errorf("write upstream set %s: %w", set.Key, err)
	}
	return nil
}

// DropSet removes a waiting set that another key has taken the place of.
func (s *Store) DropSet(ctx context.Context, tx pgx.Tx, workflow int64, key string) error {
	if err := db.New(tx).DropSet(ctx, db.DropSetParams{WorkflowID: workflow, Key: key}); err != nil {
		return fmt.Errorf("drop upstream set %s: %w", key, err)
	}
	return nil
}

// WaitingSets lists a workflow's sets that wait, oldest first, at most limit.
func (s *Store) WaitingSets(ctx context.Context, tx pgx.Tx, workflow int64, limit int) ([]UpstreamSet, error) {
	rows, err := db.New(tx).WaitingSets(ctx, db.WaitingSetsParams{WorkflowID: workflow, Most: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list waiting upstream sets: %w", err)
	}
	return mapRows(rows, func(r db.WaitingSetsRow) (UpstreamSet, error) { return upstreamSet(db.LockSetRow(r)) })
}

// ExpireSets ends the sets that were incomplete when their window ended, and says how many.
func (s *Store) ExpireSets(ctx context.Context) (int64, error) {
	n, err := db.New(s.pool).ExpireSets(ctx)
	if err != nil {
		return 0, fmt.Errorf("expire upstream sets: %w", err)
	}
	return n, nil
}

// SetMark is a place in a list of sets: newest first.
type SetMark struct {
	At  time.Time
	Key string
}

// Sets lists a workflow's upstream sets, newest first, after a place.
func (s *Store) Sets(ctx context.Context, workflow int64, state SetState, after SetMark, limit int) ([]UpstreamSet, error) {
	rows, err := db.New(s.pool).ListSets(ctx, db.ListSetsParams{WorkflowID: workflow, State: string(state), BeforeAt: after.At, BeforeKey: after.Key, Most: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list upstream sets: %w", err)
	}
	return mapRows(rows, func(r db.ListSetsRow) (UpstreamSet, error) { return upstreamSet(db.LockSetRow(r)) })
}

// NamedTerm is a term with the names of its workflow.
type NamedTerm struct {
	Term
	Namespace, Workflow string
}

// NamedTerms lists what a workflow waits for, and whether any of it is enough.
func (s *Store) NamedTerms(ctx context.Context, workflow int64) (terms []NamedTerm, anyOf bool, err error) {
	rows, err := db.New(s.pool).NamedTerms(ctx, workflow)
	if err != nil {
		return nil, false, fmt.Errorf("list upstream terms: %w", err)
	}
	for _, r := range rows {
		t := Term{Place: int(r.Place), Upstream: r.UpstreamID, Node: r.Node, Outcome: r.Outcome, Match: r.Match, Take: r.Take}
		terms, anyOf = append(terms, NamedTerm{Term: t, Namespace: r.Namespace, Workflow: r.Code}), r.AnyOf
	}
	return terms, anyOf, nil
}

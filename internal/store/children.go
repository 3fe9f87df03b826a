package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
)

// JobArgs writes the attempt as its job's arguments.
func (a Attempt) JobArgs() string {
	return fmt.Sprintf("%d:%s:%d:%d:%d", a.Run, a.Node, a.Shard, a.Generation, a.Number)
}

// ChildNote is what a workflow node's held row knows of its child: the run, or why there is none.
type ChildNote struct {
	Child   RunID  `json:"child,omitempty"`
	Refused string `json:"refused,omitempty"`
	// Skipped says that it was refused because too many runs of its workflow wait: the node is skipped (S13).
	Skipped bool `json:"skipped,omitempty"`
}

// NoteChild writes it.
func (s *Store) NoteChild(ctx context.Context, tx pgx.Tx, a Attempt, note ChildNote) error {
	detail, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("note the child of %s: %w", a.ExecutionID(), err)
	}
	_, err = tx.Exec(ctx, "UPDATE ax.held SET detail = COALESCE(detail, '{}') || $4::jsonb WHERE run_id = $1 AND node = $2 AND shard = $3", a.Run, a.Node, a.Shard, string(detail))
	if err != nil {
		return fmt.Errorf("note the child of %s: %w", a.ExecutionID(), err)
	}
	return nil
}

// AddSignal tells a parent about its child.
func (s *Store) AddSignal(ctx context.Context, tx pgx.Tx, sig Signal) error {
	_, err := tx.Exec(ctx, `WITH s AS (INSERT INTO ax.signals (parent, child_id) VALUES ($1, $2) ON CONFLICT DO NOTHING) SELECT pg_notify('ax_intent', '')`,
		sig.Parent, int64(sig.Child))
	if err != nil {
		return fmt.Errorf("signal a parent: %w", err)
	}
	return nil
}

// EndedChild is a signal with what the parent's node needs of the child.
type EndedChild struct {
	Parent  Attempt
	Child   RunID
	State   progress.State
	Version int64
	Refused string
	Skipped bool
}

// EndedChildren lists signals, at most limit.
func (s *Store) EndedChildren(ctx context.Context, limit int) ([]EndedChild, error) {
	rows, err := s.pool.Query(ctx, `SELECT s.parent, s.child_id, COALESCE(r.state, ''), COALESCE(r.version_id, 0),
			COALESCE(h.detail ->> 'refused', ''), COALESCE((h.detail ->> 'skipped')::bool, false)
		FROM ax.signals s LEFT JOIN ax.runs r ON r.id = s.child_id
		LEFT JOIN ax.held h ON h.run_id = split_part(s.parent, ':', 1)::bigint AND h.node = split_part(s.parent, ':', 2)
			AND h.shard = split_part(s.parent, ':', 3)::int
		LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("list ended children: %w", err)
	}
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (EndedChild, error) {
		var e EndedChild
		var parent string
		if err := row.Scan(&parent, &e.Child, &e.State, &e.Version, &e.Refused, &e.Skipped); err != nil {
			return e, err
		}
		var err error
		e.Parent, err = ParseJobArgs(parent)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("list ended children: %w", err)
	}
	return got, nil
}

// DropSignal removes a signal that has been carried out.
func (s *Store) DropSignal(ctx context.Context, parent Attempt) error {
	if _, err := s.pool.Exec(ctx, "DELETE FROM ax.signals WHERE parent = $1", parent.JobArgs()); err != nil {
		return fmt.Errorf("drop a signal: %w", err)
	}
	return nil
}

// VersionFor finds a workflow's version by number, or its current one for number 0.
func (s *Store) VersionFor(ctx context.Context, namespace, code string, number int) (id int64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT v.id FROM ax.workflows w JOIN ax.namespaces n ON n.id = w.namespace_id
		JOIN ax.versions v ON v.workflow_id = w.id AND (v.number = $3 OR $3 = 0 AND v.id = w.version_id)
		WHERE n.name = $1 AND w.code = $2`, namespace, code, number).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("workflow %q of namespace %q, version %d: %w", code, namespace, number, ErrNotFound)
	}
	if err != nil {
		return 0, fmt.Errorf("find version of %q: %w", code, err)
	}
	return id, nil
}

// DueWaits lists waits that are over, at most limit.
func (s *Store) DueWaits(ctx context.Context, limit int) ([]Claim, error) {
	return s.heldClaims(ctx, "kind = 'wait' AND due_at <= now()", limit)
}

// Overdue lists what runs elsewhere, or waits for a person, a child run or an instant, past its deadline, at most limit.
func (s *Store) Overdue(ctx context.Context, limit int) ([]Claim, error) {
	return s.heldClaims(ctx, "kind IN ('remote', 'approval', 'child', 'wait') AND deadline_at <= now()", limit)
}

func (s *Store) heldClaims(ctx context.Context, where string, limit int) ([]Claim, error) {
	rows, err := s.pool.Query(ctx, "SELECT run_id, node, shard, generation, attempt FROM ax.held WHERE "+where+" LIMIT $1", limit)
	if err != nil {
		return nil, fmt.Errorf("list held nodes: %w", err)
	}
	claims, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Claim, error) {
		var c Claim
		return c, row.Scan(&c.Attempt.Run, &c.Attempt.Node, &c.Attempt.Shard, &c.Attempt.Generation, &c.Attempt.Number)
	})
	if err != nil {
		return nil, fmt.Errorf("list held nodes: %w", err)
	}
	return claims, nil
}

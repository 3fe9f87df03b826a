package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
)

// Letter is a dead letter (S31): a node run that failed for good. It is open until ResolvedAt.
type Letter struct {
	// Attempt names the node run; its Number is how many attempts there were.
	Attempt     Attempt
	Workflow    string
	Version     int
	LogicalDate string
	// Params are the run's.
	Params     []byte
	Tolerated  bool
	Err        progress.Error
	CreatedAt  time.Time
	ResolvedAt *time.Time
	Resolution Resolution
}

// Resolution is how a dead letter was answered: rerun, marked, replay or dismissed, and by whom.
type Resolution struct{ How, Actor, Note string }

// LetterMark is a place in the list of dead letters.
type LetterMark struct {
	At         time.Time `json:"at"`
	Run        RunID     `json:"r"`
	Node       string    `json:"n"`
	Shard      int       `json:"s"`
	Generation int       `json:"g"`
}

// Mark is the letter's place in the list.
func (l *Letter) Mark() LetterMark {
	return LetterMark{At: l.CreatedAt, Run: l.Attempt.Run, Node: l.Attempt.Node, Shard: l.Attempt.Shard, Generation: l.Attempt.Generation}
}

// LetterQuery chooses dead letters. Zero fields choose all.
type LetterQuery struct {
	Namespace, Workflow int64
	// Code is that of the error.
	Code string
	// From and To bound when the node failed, From included, To not.
	From, To time.Time
	// Resolved wants those too that were answered.
	Resolved bool
	// IDs names node runs; nil names none in particular.
	IDs []Attempt
	// Before is the letter after which the list goes on.
	Before LetterMark
	Limit  int
}

const letterColumns = `SELECT d.run_id, d.node, d.shard, d.generation, d.attempts, w.code, v.number, to_char(r.logical_date, 'YYYY-MM-DD'), r.params,
		d.tolerated, COALESCE(d.error_class, ''), COALESCE(d.error_code, ''), COALESCE(d.error_message, ''), d.created_at, d.resolved_at,
		COALESCE(d.resolution, ''), COALESCE(d.resolved_by, ''), COALESCE(d.note, '')
	FROM ax.dead_letters d JOIN ax.runs r ON r.id = d.run_id JOIN ax.workflows w ON w.id = d.workflow_id JOIN ax.versions v ON v.id = r.version_id
	WHERE d.namespace_id = $1 AND ($2::bigint = 0 OR d.workflow_id = $2) AND ($3::text = '' OR d.error_code = $3)
		AND d.created_at >= $4 AND (d.created_at, d.run_id, d.node, d.shard, d.generation) < ($5::timestamptz, $6::bigint, $7::text, $8::int, $9::int)`

const letterOrder = " ORDER BY d.created_at DESC, d.run_id DESC, d.node DESC, d.shard DESC, d.generation DESC LIMIT $10"

// Letters lists dead letters, newest first.
func (s *Store) Letters(ctx context.Context, q LetterQuery) ([]Letter, error) {
	sql := letterColumns
	if !q.Resolved {
		sql += " AND d.resolved_at IS NULL" // said plainly, so that the index of open ones serves
	}
	args := append(q.bounds(), q.Limit)
	if q.IDs != nil {
		sql += ` AND (d.run_id, d.node, d.shard, d.generation) IN (SELECT * FROM unnest($11::bigint[], $12::text[], $13::int[], $14::int[]))`
		args = append(args, attemptNumbers(q.IDs, func(a *Attempt) *Attempt { return a })[:4]...)
	}
	rows, err := s.pool.Query(ctx, sql+letterOrder, args...)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	letters, err := pgx.CollectRows(rows, scanLetter)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return letters, nil
}

// bounds are the arguments of letterColumns.
func (q *LetterQuery) bounds() []any {
	before := q.Before
	if before.At.IsZero() {
		if before.At = q.To; q.To.IsZero() {
			before.At = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
		}
	}
	from := q.From
	if from.IsZero() {
		from = time.Unix(0, 0)
	}
	return []any{q.Namespace, q.Workflow, q.Code, from, before.At, before.Run, before.Node, before.Shard, before.Generation}
}

func scanLetter(row pgx.CollectableRow) (Letter, error) {
	var l Letter
	return l, row.Scan(&l.Attempt.Run, &l.Attempt.Node, &l.Attempt.Shard, &l.Attempt.Generation, &l.Attempt.Number, &l.Workflow, &l.Version, &l.LogicalDate,
		&l.Params, &l.Tolerated, &l.Err.Class, &l.Err.Code, &l.Err.Message, &l.CreatedAt, &l.ResolvedAt,
		&l.Resolution.How, &l.Resolution.Actor, &l.Resolution.Note)
}

// AnswerLetters resolves the open dead letters of some nodes of a run.
func (s *Store) AnswerLetters(ctx context.Context, tx pgx.Tx, run RunID, nodes []string, r Resolution) error {
	_, err := tx.Exec(ctx, `UPDATE ax.dead_letters SET resolved_at = now(), resolution = $3, resolved_by = $4, note = $5
		WHERE run_id = $1 AND node = ANY ($2::text[]) AND resolved_at IS NULL`, run, nodes, r.How, r.Actor, orNull(r.Note))
	if err != nil {
		return fmt.Errorf("resolve dead letters of run %s: %w", run, err)
	}
	return nil
}

// lockLetters finds those of some dead letters that are open and keeps them so until the transaction ends, always in one order.
const lockLetters = `SELECT d.run_id, d.node, d.shard, d.generation FROM ax.dead_letters d
	JOIN unnest($1::bigint[], $2::text[], $3::int[], $4::int[]) AS t (run_id, node, shard, generation) USING (run_id, node, shard, generation)
	WHERE d.resolved_at IS NULL ORDER BY d.run_id, d.node, d.shard, d.generation FOR UPDATE OF d`

// LockLetters finds those of some dead letters that are open, and keeps them from being answered by others until the transaction ends.
func (s *Store) LockLetters(ctx context.Context, tx pgx.Tx, letters []Attempt) ([]Attempt, error) {
	rows, err := tx.Query(ctx, lockLetters, attemptNumbers(letters, func(a *Attempt) *Attempt { return a })[:4]...)
	if err != nil {
		return nil, fmt.Errorf("lock %d dead letters: %w", len(letters), err)
	}
	open, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a Attempt, err error) {
		return a, row.Scan(&a.Run, &a.Node, &a.Shard, &a.Generation)
	})
	if err != nil {
		return nil, fmt.Errorf("lock %d dead letters: %w", len(letters), err)
	}
	return open, nil
}

// Dismiss resolves dead letters without doing anything about them, and returns those that were still open.
func (s *Store) Dismiss(ctx context.Context, letters []Attempt, actor, reason string) (open []Attempt, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if open, err = s.LockLetters(ctx, tx, letters); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE ax.dead_letters d SET resolved_at = now(), resolution = 'dismissed', resolved_by = $5, note = $6
			FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[]) AS t (run_id, node, shard, generation)
			WHERE d.run_id = t.run_id AND d.node = t.node AND d.shard = t.shard AND d.generation = t.generation`,
			append(attemptNumbers(open, func(a *Attempt) *Attempt { return a })[:4], actor, reason)...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("dismiss %d dead letters: %w", len(letters), err)
	}
	return open, nil
}

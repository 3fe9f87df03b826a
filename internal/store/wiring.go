package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Ref names a workflow of any namespace.
type Ref struct{ Namespace, Code string }

// Edge says that From leads to To: the completion of From starts To, or From runs To as the node of that Child name.
type Edge struct {
	From, To Ref
	Child    bool
}

// LockWiring makes registrations that connect workflows come one after another until tx ends, so that no two of them close a cycle
// together.
func (s *Store) LockWiring(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('ax.wiring', 0))"); err != nil {
		return fmt.Errorf("lock the wiring of workflows: %w", err)
	}
	return nil
}

// Edges reads how the current versions of all workflows lead to each other (S13).
func (s *Store) Edges(ctx context.Context, tx pgx.Tx) ([]Edge, error) {
	rows, err := tx.Query(ctx, `SELECT DISTINCT un.name, u.code, dn.name, d.code, false FROM ax.upstream_terms t
			JOIN ax.workflows u ON u.id = t.upstream_id JOIN ax.namespaces un ON un.id = u.namespace_id
			JOIN ax.workflows d ON d.id = t.workflow_id JOIN ax.namespaces dn ON dn.id = d.namespace_id
		UNION ALL SELECT n.name, w.code, c.namespace, c.code, true FROM ax.child_calls c
			JOIN ax.workflows w ON w.id = c.workflow_id JOIN ax.namespaces n ON n.id = w.namespace_id`)
	if err != nil {
		return nil, fmt.Errorf("read how workflows are connected: %w", err)
	}
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Edge, error) {
		var e Edge
		return e, row.Scan(&e.From.Namespace, &e.From.Code, &e.To.Namespace, &e.To.Code, &e.Child)
	})
	if err != nil {
		return nil, fmt.Errorf("read how workflows are connected: %w", err)
	}
	return got, nil
}

// FindRef finds a workflow with a version by its names, or ErrNotFound; node says whether that version has a node of the name.
func (s *Store) FindRef(ctx context.Context, tx pgx.Tx, ref Ref, node string) (id int64, has bool, err error) {
	err = tx.QueryRow(ctx, `SELECT w.id, (v.definition -> 'nodes' -> $3) IS NOT NULL FROM ax.workflows w
			JOIN ax.namespaces n ON n.id = w.namespace_id JOIN ax.versions v ON v.id = w.version_id
		WHERE n.name = $1 AND w.code = $2`, ref.Namespace, ref.Code, node).Scan(&id, &has)
	return id, has, found(err, "workflow %q", ref.Code)
}

// Upstreams is what a workflow waits for; no Terms is nothing.
type Upstreams struct {
	Any    bool
	Window time.Duration
	Terms  []Term
}

// SetUpstreams replaces what a workflow waits for, if that is a change: then its sets that wait are asked anew by the next completion,
// and recent runs of its upstream count.
func (s *Store) SetUpstreams(ctx context.Context, tx pgx.Tx, workflow int64, u Upstreams) error {
	old, err := s.upstreams(ctx, tx, workflow)
	if err != nil {
		return err
	}
	if old.Any == u.Any && old.Window == u.Window && slices.Equal(old.Terms, u.Terms) {
		return nil
	}
	b := &pgx.Batch{}
	b.Queue("DELETE FROM ax.upstream_terms WHERE workflow_id = $1", workflow)
	b.Queue("DELETE FROM ax.upstreams WHERE workflow_id = $1", workflow)
	b.Queue("DELETE FROM ax.upstream_sets WHERE workflow_id = $1 AND state = 'waiting'", workflow)
	if len(u.Terms) > 0 {
		mode := "all"
		if u.Any {
			mode = "any"
		}
		b.Queue("INSERT INTO ax.upstreams (workflow_id, mode, window_us) VALUES ($1, $2, $3)", workflow, mode, u.Window.Microseconds())
		b.Queue(`INSERT INTO ax.upstream_terms (workflow_id, place, upstream_id, node, outcome, match, take)
			SELECT $1, * FROM unnest($2::int[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[])`, workflow,
			column(u.Terms, func(t *Term) int32 { return int32(t.Place) }), column(u.Terms, func(t *Term) int64 { return t.Upstream }),
			column(u.Terms, func(t *Term) string { return t.Node }), column(u.Terms, func(t *Term) string { return t.Outcome }),
			column(u.Terms, func(t *Term) string { return t.Match }), column(u.Terms, func(t *Term) string { return t.Take }))
		b.Queue(`INSERT INTO ax.watched_runs (run_id, workflow_id, scheduled_at, logical_date, ended)
			SELECT r.id, r.workflow_id, r.scheduled_at, r.logical_date, r.state IN ('succeeded', 'failed', 'canceled', 'skipped') FROM ax.runs r
			WHERE r.workflow_id = ANY ($1::bigint[]) AND r.id >= ax.run_id_at(now() - $2::bigint * interval '1 microsecond') AND r.trigger NOT IN ('backfill', 'test')
			ON CONFLICT DO NOTHING`, column(u.Terms, func(t *Term) int64 { return t.Upstream }), u.Window.Microseconds())
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("store what the workflow waits for: %w", err)
	}
	return nil
}

// upstreams reads what a workflow waits for.
func (s *Store) upstreams(ctx context.Context, tx pgx.Tx, workflow int64) (u Upstreams, err error) {
	var us int64
	err = tx.QueryRow(ctx, "SELECT mode = 'any', window_us FROM ax.upstreams WHERE workflow_id = $1", workflow).Scan(&u.Any, &us)
	if errors.Is(err, pgx.ErrNoRows) {
		return u, nil
	}
	if err != nil {
		return u, fmt.Errorf("read what the workflow waits for: %w", err)
	}
	u.Window = time.Duration(us) * time.Microsecond
	rows, err := tx.Query(ctx, "SELECT place, upstream_id, node, outcome, match, take FROM ax.upstream_terms WHERE workflow_id = $1 ORDER BY place", workflow)
	if err != nil {
		return u, fmt.Errorf("read what the workflow waits for: %w", err)
	}
	if u.Terms, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Term]); err != nil {
		return u, fmt.Errorf("read what the workflow waits for: %w", err)
	}
	return u, nil
}

// SetChildCalls replaces which workflows a workflow runs as nodes.
func (s *Store) SetChildCalls(ctx context.Context, tx pgx.Tx, workflow int64, refs []Ref) error {
	_, err := tx.Exec(ctx, `WITH want AS (SELECT * FROM unnest($2::text[], $3::text[]) t (namespace, code)
		), gone AS (DELETE FROM ax.child_calls c WHERE c.workflow_id = $1 AND (c.namespace, c.code) NOT IN (SELECT namespace, code FROM want))
		INSERT INTO ax.child_calls (workflow_id, namespace, code) SELECT DISTINCT $1::bigint, namespace, code FROM want ON CONFLICT DO NOTHING`, workflow,
		column(refs, func(r *Ref) string { return r.Namespace }), column(refs, func(r *Ref) string { return r.Code }))
	if err != nil {
		return fmt.Errorf("store which workflows are run as nodes: %w", err)
	}
	return nil
}

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store/internal/db"
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
	if err := db.New(tx).LockWiring(ctx); err != nil {
		return fmt.Errorf("lock the wiring of workflows: %w", err)
	}
	return nil
}

// Edges reads how the current versions of all workflows lead to each other (S13).
func (s *Store) Edges(ctx context.Context, tx pgx.Tx) ([]Edge, error) {
	rows, err := db.New(tx).Edges(ctx)
	if err != nil {
		return nil, fmt.Errorf("read how workflows are connected: %w", err)
	}
	return mapRows(rows, func(r db.EdgesRow) (Edge, error) {
		return Edge{From: Ref{r.FromNamespace, r.FromCode}, To: Ref{r.ToNamespace, r.ToCode}, Child: r.Child}, nil
	})
}

// FindRef finds a workflow with a version by its names, or ErrNotFound; node says whether that version has a node of the name.
func (s *Store) FindRef(ctx context.Context, tx pgx.Tx, ref Ref, node string) (id int64, has bool, err error) {
	r, err := db.New(tx).FindRef(ctx, db.FindRefParams{Namespace: ref.Namespace, Code: ref.Code, Node: node})
	return r.ID, r.Has, found(err, "workflow %q", ref.Code)
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
	if err := replaceUpstreams(ctx, db.New(tx), workflow, u); err != nil {
		return fmt.Errorf("store what the workflow waits for: %w", err)
	}
	return nil
}

func replaceUpstreams(ctx context.Context, q *db.Queries, workflow int64, u Upstreams) error {
	if err := q.DropUpstreams(ctx, workflow); err != nil || len(u.Terms) == 0 {
		return err
	}
	mode := "all"
	if u.Any {
		mode = "any"
	}
	window, upstreams := u.Window.Microseconds(), column(u.Terms, func(t *Term) int64 { return t.Upstream })
	if err := q.AddUpstreams(ctx, db.AddUpstreamsParams{WorkflowID: workflow, Mode: mode, WindowUs: window}); err != nil {
		return err
	}
	err := q.AddTerms(ctx, db.AddTermsParams{WorkflowID: workflow, Upstreams: upstreams,
		Places: column(u.Terms, func(t *Term) int32 { return int32(t.Place) }), Nodes: column(u.Terms, func(t *Term) string { return t.Node }),
		Outcomes: column(u.Terms, func(t *Term) string { return t.Outcome }), Matches: column(u.Terms, func(t *Term) string { return t.Match }),
		Takes: column(u.Terms, func(t *Term) string { return t.Take })})
	if err != nil {
		return err
	}
	return q.WatchRecent(ctx, db.WatchRecentParams{Upstreams: upstreams, WindowUs: window})
}

// upstreams reads what a workflow waits for.
func (s *Store) upstreams(ctx context.Context, tx pgx.Tx, workflow int64) (u Upstreams, err error) {
	q := db.New(tx)
	row, err := q.Upstreams(ctx, workflow)
	if errors.Is(err, pgx.ErrNoRows) {
		return u, nil
	}
	if err != nil {
		return u, fmt.Errorf("read what the workflow waits for: %w", err)
	}
	u.Any, u.Window = row.AnyOf, time.Duration(row.WindowUs)*time.Microsecond
	terms, err := q.Terms(ctx, workflow)
	if err != nil {
		return u, fmt.Errorf("read what the workflow waits for: %w", err)
	}
	u.Terms, err = mapRows(terms, term)
	return u, err
}

func term(r db.TermsRow) (Term, error) {
	return Term{Place: int(r.Place), Upstream: r.UpstreamID, Node: r.Node, Outcome: r.Outcome, Match: r.Match, Take: r.Take}, nil
}

// SetChildCalls replaces which workflows a workflow runs as nodes.
func (s *Store) SetChildCalls(ctx context.Context, tx pgx.Tx, workflow int64, refs []Ref) error {
	err := db.New(tx).SetChildCalls(ctx, db.SetChildCallsParams{WorkflowID: workflow,
		Namespaces: column(refs, func(r *Ref) string { return r.Namespace }), Codes: column(refs, func(r *Ref) string { return r.Code })})
	if err != nil {
		return fmt.Errorf("store which workflows are run as nodes: %w", err)
	}
	return nil
}

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// FindingState is how far one is with a finding.
type FindingState string

// The states: it may still be on its way somewhere; it is for a person; it was set right.
const (
	FindingSuspected FindingState = "suspected"
	FindingOpen      FindingState = "open"
	FindingRepaired  FindingState = "repaired"
)

// Finding is something that must not be, and is nevertheless (I1–I9).
type Finding struct {
	Kind string
	// Subject is what it is about: with the kind it says which finding it is.
	Subject string
	// Run is 0 for what is about none.
	Run RunID
	// Detail is one sentence.
	Detail  string
	State   FindingState
	FoundAt time.Time
	// Ripe means that it has been known for long enough not to be on its way anywhere.
	Ripe bool
}

// Suspect writes down all that was found at one look, forgets what was not found again, and returns the findings as they are now. They
// are ripe from an age of ripe on.
func (s *Store) Suspect(ctx context.Context, found []Finding, ripe time.Duration) ([]Finding, error) {
	rows, err := s.pool.Query(ctx, moves["suspect"], column(found, func(f *Finding) string { return f.Kind }),
		column(found, func(f *Finding) string { return f.Subject }), column(found, func(f *Finding) *int64 { return orNull(int64(f.Run)) }),
		column(found, func(f *Finding) string { return f.Detail }), ripe.Microseconds())
	if err != nil {
		return nil, fmt.Errorf("write down findings: %w", err)
	}
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f Finding, err error) {
		return f, row.Scan(&f.Kind, &f.Subject, &f.Run, &f.Detail, &f.State, &f.FoundAt, &f.Ripe)
	})
	if err != nil {
		return nil, fmt.Errorf("write down findings: %w", err)
	}
	return got, nil
}

// SettleFindings says what has become of findings.
func (s *Store) SettleFindings(ctx context.Context, found []Finding) error {
	_, err := s.pool.Exec(ctx, `UPDATE ax.findings f SET state = t.state, seen_at = now()
		FROM unnest($1::text[], $2::text[], $3::text[]) AS t (kind, subject, state) WHERE f.kind = t.kind AND f.subject = t.subject`,
		column(found, func(f *Finding) string { return f.Kind }), column(found, func(f *Finding) string { return f.Subject }),
		column(found, func(f *Finding) string { return string(f.State) }))
	if err != nil {
		return fmt.Errorf("settle findings: %w", err)
	}
	return nil
}

// Findings lists those that are open or were repaired in the last week, at most limit, the open and newest ones first.
func (s *Store) Findings(ctx context.Context, limit int) ([]Finding, error) {
	rows, err := s.pool.Query(ctx, `SELECT kind, subject, COALESCE(run_id, 0), detail, state, found_at FROM ax.findings
		WHERE state <> 'suspected' ORDER BY state = 'repaired', seen_at DESC, kind, subject LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("list findings: %w", err)
	}
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f Finding, err error) {
		return f, row.Scan(&f.Kind, &f.Subject, &f.Run, &f.Detail, &f.State, &f.FoundAt)
	})
	if err != nil {
		return nil, fmt.Errorf("list findings: %w", err)
	}
	return got, nil
}

package store

import (
	"context"
	"fmt"
	"time"
)

// SavedPlan is what a dry run said would be done.
type SavedPlan struct {
	Token     string
	Namespace int64
	// Act says what it is a plan of; it serves for nothing else.
	Act string
	// Fingerprint is of what the plan was made for.
	Fingerprint string
	Body        []byte
	ExpiresAt   time.Time
}

// SavePlan keeps a plan for a while and fills in when it expires. Those that have expired are forgotten.
func (s *Store) SavePlan(ctx context.Context, p *SavedPlan, keep time.Duration) error {
	err := s.pool.QueryRow(ctx, `WITH old AS (DELETE FROM ax.plans WHERE expires_at < now())
		INSERT INTO ax.plans (token, namespace_id, act, fingerprint, body, expires_at)
		VALUES ($1, $2, $3, $4, $5::json, now() + $6::bigint * interval '1 microsecond') RETURNING expires_at`,
		p.Token, p.Namespace, p.Act, p.Fingerprint, string(p.Body), keep.Microseconds()).Scan(&p.ExpiresAt)
	if err != nil {
		return fmt.Errorf("keep a plan: %w", err)
	}
	return nil
}

// Plan returns a plan that has not expired, or ErrNotFound.
func (s *Store) Plan(ctx context.Context, namespace int64, token string) (SavedPlan, error) {
	p := SavedPlan{Token: token, Namespace: namespace}
	err := s.pool.QueryRow(ctx, `SELECT act, fingerprint, body, expires_at FROM ax.plans
		WHERE token = $1 AND namespace_id = $2 AND expires_at >= now()`, token, namespace).Scan(&p.Act, &p.Fingerprint, &p.Body, &p.ExpiresAt)
	return p, found(err, "plan")
}

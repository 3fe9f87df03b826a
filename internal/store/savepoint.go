package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// InSavepoint runs f in a part of the caller's transaction that is undone alone when f fails.
func (s *Store) InSavepoint(ctx context.Context, tx pgx.Tx, f func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, tx, f)
}

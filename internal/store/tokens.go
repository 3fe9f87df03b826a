package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// Token is a right to use the API. What it is signed in with is not kept: only a hash of it is.
type Token struct {
	ID           int64
	Name, Prefix string
	Role         string
	// Namespaces are those it is for; nil is all of them.
	Namespaces []string
	CreatedAt  time.Time
	CreatedBy  string
	ExpiresAt  *time.Time
	LastUsedAt *time.Time
}

// ErrTaken says that a name is in use already.
var ErrTaken = errors.New("the name is taken")

// hashOf is what is kept of a token: its text is random and long, so a plain hash is enough.
func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// AddToken stores a token by a hash of its secret, and returns its id. A name that another has is ErrTaken.
func (s *Store) AddToken(ctx context.Context, t Token, secret string) (int64, error) {
	id, err := db.New(s.pool).AddToken(ctx, db.AddTokenParams{
		Name: t.Name, Prefix: t.Prefix, Hash: hashOf(secret), Role: t.Role, Namespaces: t.Namespaces, CreatedBy: t.CreatedBy, ExpiresAt: t.ExpiresAt,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrTaken
	}
	if err != nil {
		return 0, fmt.Errorf("add token %q: %w", t.Name, err)
	}
	return id, nil
}

// UseToken finds the token with a secret, if it is valid now, and notes that it is used; else ErrNotFound.
func (s *Store) UseToken(ctx context.Context, secret string) (Token, error) {
	r, err := db.New(s.pool).UseToken(ctx, hashOf(secret))
	if err != nil {
		return Token{}, found(err, "token")
	}
	return Token{ID: r.ID, Name: r.Name, Role: r.Role, Namespaces: r.Namespaces, ExpiresAt: r.ExpiresAt}, nil
}

// AnyToken reports whether there is a token, valid or not: then nobody is let in without one.
func (s *Store) AnyToken(ctx context.Context) (bool, error) {
	is, err := db.New(s.pool).AnyToken(ctx)
	if err != nil {
		return false, fmt.Errorf("look for tokens: %w", err)
	}
	return is, nil
}

// Tokens lists tokens, the newest first, at most limit of those with a smaller id.
func (s *Store) Tokens(ctx context.Context, before int64, limit int) ([]Token, error) {
	rows, err := db.New(s.pool).ListTokens(ctx, db.ListTokensParams{Before: before, Most: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return mapRows(rows, func(r db.ListTokensRow) (Token, error) { return Token(r), nil })
}

// ErrLastAdmin says that a token is the only one of an admin.
var ErrLastAdmin = errors.New("it is the last token of an admin")

// DeleteToken makes a token invalid for good; ErrNotFound if there is none, ErrLastAdmin if nobody could make tokens after that.
func (s *Store) DeleteToken(ctx context.Context, id int64) error {
	n, err := db.New(s.pool).DeleteToken(ctx, id)
	if err == nil && n == 0 {
		var there bool
		if there, err = db.New(s.pool).HasToken(ctx, id); err == nil {
			err = pgx.ErrNoRows
			if there {
				return ErrLastAdmin
			}
		}
	}
	return found(err, "token %d", id)
}

// AnyAdmin reports whether there is a token of an admin.
func (s *Store) AnyAdmin(ctx context.Context) (bool, error) {
	is, err := db.New(s.pool).AnyAdmin(ctx)
	if err != nil {
		return false, fmt.Errorf("look for an admin's token: %w", err)
	}
	return is, nil
}

// NamespaceRow is one namespace.
type NamespaceRow struct {
	ID        int64
	Name      string
	CreatedAt time.Time
}

// Namespaces lists namespaces by name, at most limit of those after a name.
func (s *Store) Namespaces(ctx context.Context, after string, limit int) ([]NamespaceRow, error) {
	rows, err := db.New(s.pool).ListNamespaces(ctx, db.ListNamespacesParams{After: after, Most: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	return mapRows(rows, func(r db.ListNamespacesRow) (NamespaceRow, error) { return NamespaceRow(r), nil })
}

// AddNamespace makes a namespace, and reports whether it is new.
func (s *Store) AddNamespace(ctx context.Context, name string) (created bool, err error) {
	n, err := db.New(s.pool).AddNamespace(ctx, name)
	if err != nil {
		return false, fmt.Errorf("add namespace %q: %w", name, err)
	}
	return n > 0, nil
}

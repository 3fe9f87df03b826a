package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// Key is an Idempotency-Key as somebody uses it: two callers' keys have nothing to do with each other.
type Key struct{ Actor, Key string }

// KeyUse is what the first call with a key came to.
type KeyUse struct {
	// Request is a hash of what was asked.
	Request []byte
	// Age is how long ago it came.
	Age time.Duration
	// Status is 0 while it goes on, and for good if its server died in it.
	Status int
	// Location is where what it made is, and Located the status of the answer that says so; "" and 0 when that is not known.
	Location    string
	Located     int
	ContentType string
	Answer      []byte
}

// ClaimKey makes a key the caller's for a day; false when it was used within the last.
func (s *Store) ClaimKey(ctx context.Context, k Key, request []byte) (bool, error) {
	_, err := db.New(s.pool).ClaimKey(ctx, db.ClaimKeyParams{Actor: k.Actor, Key: k.Key, Request: request})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claim idempotency key: %w", err)
	}
	return true, nil
}

// UsedKey reads what the first call with a key came to, or ErrNotFound.
func (s *Store) UsedKey(ctx context.Context, k Key) (KeyUse, error) {
	r, err := db.New(s.pool).UsedKey(ctx, db.UsedKeyParams{Actor: k.Actor, Key: k.Key})
	if err != nil {
		return KeyUse{}, found(err, "idempotency key")
	}
	use := KeyUse{Request: r.Request, Age: r.Now.Sub(r.CreatedAt), Location: text(r.Location), ContentType: text(r.ContentType), Answer: r.Answer}
	if r.Status != nil {
		use.Status = int(*r.Status)
	}
	if r.LocatedStatus != nil {
		use.Located = int(*r.LocatedStatus)
	}
	return use, nil
}

// LocateKey notes in tx where what was asked for with a key is once tx commits, and with which status that is answered.
func (s *Store) LocateKey(ctx context.Context, tx pgx.Tx, k Key, use KeyUse) error {
	if err := db.New(tx).LocateKey(ctx, db.LocateKeyParams{Actor: k.Actor, Key: k.Key, Location: use.Location, Status: int16(use.Located)}); err != nil {
		return fmt.Errorf("note the place for the idempotency key: %w", err)
	}
	return nil
}

// AnswerKey keeps the answer to the first call with a key.
func (s *Store) AnswerKey(ctx context.Context, k Key, use KeyUse) error {
	err := db.New(s.pool).AnswerKey(ctx, db.AnswerKeyParams{
		Actor: k.Actor, Key: k.Key, Status: int16(use.Status), Location: &use.Location, ContentType: use.ContentType, Answer: use.Answer,
	})
	if err != nil {
		return fmt.Errorf("keep the answer for the idempotency key: %w", err)
	}
	return nil
}

// ReleaseKey forgets a key whose call did nothing.
func (s *Store) ReleaseKey(ctx context.Context, k Key) error {
	if err := db.New(s.pool).ReleaseKey(ctx, db.ReleaseKeyParams{Actor: k.Actor, Key: k.Key}); err != nil {
		return fmt.Errorf("release idempotency key: %w", err)
	}
	return nil
}

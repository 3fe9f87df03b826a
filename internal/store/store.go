// Package store is the only place that speaks SQL. It holds rows and verbs, no rules: what a run's
// change should be is decided in dag/progress, and written here.
package store

import (
	"context"
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Store reads and writes ax's tables. Its verbs that take a pgx.Tx join the caller's transaction.
type Store struct {
	pool *pgxpool.Pool
}

// New returns a Store on a pool that the caller owns.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// Pool returns the pool the store works on.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Open opens a pool tuned for the engine: its array-heavy statements keep their generic plans and touch rows by key, however
// large a batch is and whatever the statistics say of a table that was just empty.
func Open(ctx context.Context, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	cfg = cfg.Copy()
	for name, value := range map[string]string{
		"plan_cache_mode": "force_generic_plan", "jit": "off", "enable_seqscan": "off", "random_page_cost": "1.1", "application_name": "ax",
	} {
		cfg.ConnConfig.RuntimeParams[name] = value
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database pool: %w", err)
	}
	return pool, nil
}

// impatient begins a transaction, in one round trip, that the database ends by itself when the process on the other side stands still in it: a
// machine that is paused there would keep its locks, and what they are on from everybody else, for as long as it is paused.
var impatient = pgx.TxOptions{BeginQuery: "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10s'"}

// Tuned returns a Store on a pool of its own to the same database, tuned as Open says; the caller closes that pool.
func (s *Store) Tuned(ctx context.Context) (*Store, error) {
	pool, err := Open(ctx, s.pool.Config())
	if err != nil {
		return nil, err
	}
	return New(pool), nil
}

// InTx runs f in one transaction, which commits when f returns nil. F must not wait for anything but the database: after ten seconds between two
// statements the transaction is over, and its error is Transient.
func (s *Store) InTx(ctx context.Context, f func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, impatient, f)
}

// InSnapshot runs f in one transaction that writes nothing and sees one instant.
func (s *Store) InSnapshot(ctx context.Context, f func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, f)
}

// The statements that move runs: array-heavy, so outside what sqlc can type.
//
//go:embed moves/*.sql
var moveFiles embed.FS

var moves = loadMoves()

func loadMoves() map[string]string {
	entries, err := moveFiles.ReadDir("moves")
	if err != nil {
		panic(err)
	}
	texts := make(map[string]string, len(entries))
	for _, e := range entries {
		text, err := moveFiles.ReadFile(path.Join("moves", e.Name()))
		if err != nil {
			panic(err)
		}
		texts[strings.TrimSuffix(e.Name(), ".sql")] = string(text)
	}
	return texts
}

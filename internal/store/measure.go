package store

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Measured is a pool whose round trips are counted, for benchmarks.
type Measured struct {
	*Store
	trips *tripCounter
}

// OpenMeasured opens a second pool to the same database.
func OpenMeasured(ctx context.Context, pool *pgxpool.Pool) (*Measured, error) {
	m := &Measured{trips: &tripCounter{}}
	config := pool.Config()
	config.ConnConfig.Tracer = m.trips
	counted, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open measured pool: %w", err)
	}
	m.Store = New(counted)
	return m, nil
}

// Trips is how many round trips there were so far, River's own among them.
func (m *Measured) Trips() int64 { return m.trips.n.Load() }

// Empty removes all runs and jobs, so that measurements start from the same tables.
func (s *Store) Empty(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `TRUNCATE ax_river.river_job, ax.runs, ax.node_runs, ax.node_joins, ax.held, ax.run_intents, ax.dead_letters,
		ax.logs, ax.fires`)
	if err == nil {
		_, err = s.pool.Exec(ctx, "CHECKPOINT")
	}
	if err != nil {
		return fmt.Errorf("empty the database: %w", err)
	}
	return nil
}

// OpenRuns counts the runs that have not ended.
func (s *Store) OpenRuns(ctx context.Context) (n int, err error) {
	if err := s.pool.QueryRow(ctx, "SELECT count(*) FROM ax.runs WHERE state IN ('queued', 'running')").Scan(&n); err != nil {
		return 0, fmt.Errorf("count open runs: %w", err)
	}
	return n, nil
}

// Tally is what a benchmark's database holds at its end.
type Tally struct{ NotSucceeded, Jobs, NodeRuns int }

// Tally counts what there is.
func (s *Store) Tally(ctx context.Context) (t Tally, err error) {
	err = s.pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM ax.runs WHERE state <> 'succeeded'), (SELECT count(*) FROM ax_river.river_job),
		(SELECT count(*) FROM ax.node_runs)`).Scan(&t.NotSucceeded, &t.Jobs, &t.NodeRuns)
	if err != nil {
		return t, fmt.Errorf("count what there is: %w", err)
	}
	return t, nil
}

// WALPosition is how many bytes of write-ahead log the database has ever written.
func (s *Store) WALPosition(ctx context.Context) (n int64, err error) {
	if err := s.pool.QueryRow(ctx, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&n); err != nil {
		return 0, fmt.Errorf("read WAL position: %w", err)
	}
	return n, nil
}

// BackendPID is the process of one of the database's backends.
func (s *Store) BackendPID(ctx context.Context) (pid int, err error) {
	if err := s.pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return 0, fmt.Errorf("read backend pid: %w", err)
	}
	return pid, nil
}

// tripCounter counts statements and pipelines.
type tripCounter struct{ n atomic.Int64 }

// TraceQueryStart implements pgx.QueryTracer.
func (t *tripCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t.n.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (t *tripCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (t *tripCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	t.n.Add(1)
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (t *tripCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (t *tripCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

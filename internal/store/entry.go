package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
)

// Entry is what starting a run in a caller's transaction needs to know of a workflow.
type Entry struct {
	// Version is the current one.
	Version int64
	// Timezone is that of the first schedule, "" when there is none: the zone of logical dates (S11).
	Timezone string
	// Now is the database's clock.
	Now time.Time
}

// Entry reads a workflow by its code, on the caller's connection alone: a caller that holds the last connection of its
// pool must not wait for another. An unknown workflow is ErrNotFound.
func (s *Store) Entry(ctx context.Context, tx pgx.Tx, namespace, code string) (Entry, error) {
	var e Entry
	err := tx.QueryRow(ctx, `SELECT w.version_id, now(), COALESCE((SELECT s.spec->>'timezone' FROM ax.schedules s
			WHERE s.workflow_id = w.id AND s.removed_at IS NULL ORDER BY s.name LIMIT 1), '')
		FROM ax.workflows w JOIN ax.namespaces n ON n.id = w.namespace_id
		WHERE n.name = $1 AND w.code = $2 AND w.version_id IS NOT NULL`, namespace, code).Scan(&e.Version, &e.Now, &e.Timezone)
	return e, found(err, "workflow %q", code)
}

// RunState reads the state of a run of a namespace on the caller's connection, or returns ErrNotFound.
func (s *Store) RunState(ctx context.Context, tx pgx.Tx, namespace string, run RunID) (progress.State, error) {
	var state progress.State
	err := tx.QueryRow(ctx, `SELECT r.state FROM ax.runs r JOIN ax.namespaces n ON n.id = r.namespace_id
		WHERE r.id = $1 AND n.name = $2`, run, namespace).Scan(&state)
	return state, found(err, "run %s", run)
}

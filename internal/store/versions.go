package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// Registering is a workflow in the hands of one registration: until the transaction ends nobody else
// registers it or fires its schedules.
type Registering struct {
	ID int64
	// New says that nobody has registered this code before.
	New bool
	// Schedules are all its schedules, removed ones too.
	Schedules []Schedule
	// Now is the database's clock after the last lock was taken: whatever was due before has been fired or is still owed.
	Now time.Time
}

// LockWorkflow takes a workflow for a registration, and makes its row if the code is new. It waits for
// whoever has it. Schedule rows come before the workflow's own row, as everywhere.
func (s *Store) LockWorkflow(ctx context.Context, tx pgx.Tx, namespace int64, code string) (Registering, error) {
	q := db.New(tx)
	reg, err := findOrAdd(ctx, q, namespace, code)
	if err != nil {
		return reg, fmt.Errorf("find workflow %q: %w", code, err)
	}
	if err := q.LockRegistration(ctx, reg.ID); err != nil {
		return reg, fmt.Errorf("lock workflow %q: %w", code, err)
	}
	if reg.Schedules, reg.Now, err = s.LockSchedules(ctx, tx, reg.ID); err != nil {
		return reg, err
	}
	return reg, nil
}

func findOrAdd(ctx context.Context, q *db.Queries, namespace int64, code string) (Registering, error) {
	id, err := q.WorkflowID(ctx, db.WorkflowIDParams{NamespaceID: namespace, Code: code})
	if !errors.Is(err, pgx.ErrNoRows) {
		return Registering{ID: id}, err
	}
	id, err = q.AddWorkflow(ctx, db.AddWorkflowParams{NamespaceID: namespace, Code: code})
	if !errors.Is(err, pgx.ErrNoRows) {
		return Registering{ID: id, New: true}, err
	}
	// Somebody else's registration of the same code has committed meanwhile.
	id, err = q.WorkflowID(ctx, db.WorkflowIDParams{NamespaceID: namespace, Code: code})
	return Registering{ID: id}, err
}

// NewVersion is a definition to be stored: canonical JSON and the digest of its content.
type NewVersion struct {
	Workflow           int64
	Digest, Definition []byte
	Actor              string
}

// Version is a stored version. Definition is what was stored first for the digest: a later default
// zone does not change it (S6).
type Version struct {
	ID         int64
	Number     int
	Definition []byte
	Created    bool
}

// SaveVersion stores a definition as the workflow's next version, unless a version of the same digest
// exists: then it is that one. The caller holds the workflow by LockWorkflow.
func (s *Store) SaveVersion(ctx context.Context, tx pgx.Tx, v NewVersion) (Version, error) {
	q := db.New(tx)
	old, err := q.VersionByDigest(ctx, db.VersionByDigestParams{WorkflowID: v.Workflow, Digest: v.Digest})
	if err == nil {
		return Version{ID: old.ID, Number: int(old.Number), Definition: old.Definition}, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return Version{}, fmt.Errorf("look for the version: %w", err)
	}
	added, err := q.AddVersion(ctx, db.AddVersionParams{
		WorkflowID: v.Workflow, Digest: v.Digest, Definition: v.Definition, Actor: v.Actor,
	})
	if err != nil {
		return Version{}, fmt.Errorf("store the version: %w", err)
	}
	return Version{ID: added.ID, Number: int(added.Number), Definition: v.Definition, Created: true}, nil
}

// Current is what a workflow follows from now on.
type Current struct {
	Workflow, Version int64
	// MaxRuns nil is unlimited; MaxQueued nil lets any number wait; Overflow says what happens beyond (S22).
	MaxRuns, MaxQueued *int32
	Overflow           *string
	// Keep is how long what is over is kept; 0 is the default.
	Keep time.Duration
}

// SetCurrent makes a version the one that new runs are pinned to, with its limits.
func (s *Store) SetCurrent(ctx context.Context, tx pgx.Tx, c Current) error {
	err := db.New(tx).SetCurrentVersion(ctx, db.SetCurrentVersionParams{
		ID: c.Workflow, VersionID: c.Version, MaxRuns: c.MaxRuns, MaxQueued: c.MaxQueued, Overflow: c.Overflow, KeepUs: orNull(c.Keep.Microseconds()),
	})
	if err != nil {
		return fmt.Errorf("make version %d current: %w", c.Version, err)
	}
	return nil
}

// PauseNew stops the automatic starts of a workflow that is being registered (S33).
func (s *Store) PauseNew(ctx context.Context, tx pgx.Tx, workflow int64, actor string) error {
	if err := db.New(tx).PauseNew(ctx, db.PauseNewParams{ID: workflow, Actor: actor}); err != nil {
		return fmt.Errorf("pause the workflow: %w", err)
	}
	return nil
}

// AddQueues makes a row for every queue that a namespace does not have yet.
func (s *Store) AddQueues(ctx context.Context, tx pgx.Tx, namespace int64, names []string) error {
	if err := db.New(tx).AddQueues(ctx, db.AddQueuesParams{NamespaceID: namespace, Names: names}); err != nil {
		return fmt.Errorf("add queues: %w", err)
	}
	return nil
}

// Definition reads the definition of one of a workflow's versions, 0 for the newest.
func (s *Store) Definition(ctx context.Context, tx pgx.Tx, workflow, version int64) (definition []byte, err error) {
	err = tx.QueryRow(ctx, `SELECT v.definition FROM ax.workflows w JOIN ax.versions v ON v.id = COALESCE(NULLIF($2::bigint, 0), w.version_id)
		WHERE w.id = $1`, workflow, version).Scan(&definition)
	return definition, found(err, "version %d of workflow %d", version, workflow)
}

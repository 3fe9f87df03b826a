package migrations

import (
	"context"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"
)

// Set says whose a migration is.
type Set string

// The two sets, in the order in which Up applies them.
const (
	River Set = "river"
	Ours  Set = "ax"
)

// Migration is one step of a schema and whether a database has it.
type Migration struct {
	Set     Set
	Version int64
	Name    string
	Applied bool
	// AppliedAt is the database's time; zero when the step is pending, and for River's, who keeps none.
	AppliedAt time.Time
}

// Status lists all migrations in the order in which Up applies them. It changes nothing; in a
// database that Up never saw all are pending.
func Status(ctx context.Context, databaseURL string) ([]Migration, error) {
	var all []Migration
	err := withTarget(ctx, databaseURL, func(t target) error {
		river, err := t.riverStatus(ctx)
		if err != nil {
			return err
		}
		ours, err := t.ourStatus(ctx)
		all = append(river, ours...)
		return err
	})
	return all, err
}

func (t target) riverStatus(ctx context.Context) ([]Migration, error) {
	existing, err := t.river.ExistingVersions(ctx)
	if err != nil {
		return nil, fmt.Errorf("read River's migrations: %w", err)
	}
	applied := map[int]bool{}
	for _, m := range existing {
		applied[m.Version] = true
	}
	var all []Migration
	for _, m := range t.river.AllVersions() {
		all = append(all, Migration{Set: River, Version: int64(m.Version), Name: m.Name, Applied: applied[m.Version]})
	}
	return all, nil
}

func (t target) ourStatus(ctx context.Context) ([]Migration, error) {
	provider, err := t.ours()
	if err != nil {
		return nil, err
	}
	var began bool
	if err := t.pool.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, versionTable).Scan(&began); err != nil {
		return nil, fmt.Errorf("look for migration table: %w", err)
	}
	var all []Migration
	if !began { // goose would make its table to answer
		for _, source := range provider.ListSources() {
			all = append(all, Migration{Set: Ours, Version: source.Version, Name: source.Path})
		}
		return all, nil
	}
	states, err := provider.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	for _, s := range states {
		all = append(all, Migration{
			Set: Ours, Version: s.Source.Version, Name: s.Source.Path,
			Applied: s.State == goose.StateApplied, AppliedAt: s.AppliedAt,
		})
	}
	return all, nil
}

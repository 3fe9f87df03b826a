package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// PoolUser is a node of a workflow's newest version that uses a pool, or one of an older version that waits for it now.
type PoolUser struct {
	Workflow, Node string
	Weight         int
	Waits          bool
}

// PoolInUseError says who keeps a pool from being removed, or from having fewer slots.
type PoolInUseError struct {
	Pool  string
	Users []PoolUser
	// Slots is how many there were to be, 0 for a removal; Holders and Waiting are those that hold slots of it and that wait for it.
	Slots, Holders, Waiting int
}

// maxToldUsers is how many users an error names.
const maxToldUsers = 5

// Error says it, and what to do.
func (e *PoolInUseError) Error() string {
	var names []string
	for i, u := range e.Users {
		if i == maxToldUsers {
			names = append(names, fmt.Sprintf("%d more", len(e.Users)-i))
			break
		}
		name := fmt.Sprintf("node %s of %s (weight %d)", u.Node, u.Workflow, u.Weight)
		if u.Waits {
			name = fmt.Sprintf("node %s of %s (weight %d, which waits for it)", u.Node, u.Workflow, u.Weight)
		}
		names = append(names, name)
	}
	switch who := strings.Join(names, ", "); {
	case e.Slots > 0:
		return fmt.Sprintf("pool %s cannot have %d slots: %s could never start", e.Pool, e.Slots, who)
	case len(e.Users) > 0:
		return fmt.Sprintf("pool %s is used by %s: register them without it first", e.Pool, who)
	}
	return fmt.Sprintf("pool %s is in use: %d node runs hold slots of it and %d wait for it", e.Pool, e.Holders, e.Waiting)
}

// lockPool locks a pool, if it exists, against everything, and lists who uses it: a workflow that is being registered has locked the pools it
// names, so that it is among them, or finds the pool changed.
func lockPool(ctx context.Context, tx pgx.Tx, key PoolKey) ([]PoolUser, error) {
	var users []PoolUser
	b := &pgx.Batch{}
	b.Queue("SELECT FROM ax.pools WHERE namespace_id = $1 AND name = $2 FOR UPDATE", key.Namespace, key.Name)
	b.Queue(`SELECT w.code, n.key, (u.value ->> 'weight')::int FROM ax.workflows w JOIN ax.versions v ON v.id = w.version_id
		CROSS JOIN json_each(v.definition -> 'nodes') n CROSS JOIN json_array_elements(n.value -> 'pools') u
		WHERE w.namespace_id = $1 AND u.value ->> 'pool' = $2 ORDER BY w.code, n.key`, key.Namespace, key.Name).
		Query(collect(&users, func(u *PoolUser) []any { return []any{&u.Workflow, &u.Node, &u.Weight} }))
	return users, tx.SendBatch(ctx, b).Close()
}

// poolWaiters are the nodes that wait for a pool now, of whatever version.
func poolWaiters(ctx context.Context, tx pgx.Tx, key PoolKey) ([]PoolUser, error) {
	rows, err := tx.Query(ctx, `SELECT w.code, h.node, h.demand FROM ax.held h JOIN ax.runs r ON r.id = h.run_id JOIN ax.workflows w ON w.id = r.workflow_id
		WHERE h.kind = 'pool' AND r.namespace_id = $1 GROUP BY w.code, h.node, h.demand ORDER BY w.code, h.node`, key.Namespace)
	if err != nil {
		return nil, err
	}
	var waiters []PoolUser
	u := PoolUser{Waits: true}
	var demand Demand
	_, err = pgx.ForEachRow(rows, []any{&u.Workflow, &u.Node, &demand}, func() error {
		shares, err := demand.Shares()
		for _, share := range shares {
			if u.Weight = share.Weight; share.PoolKey == key {
				waiters = append(waiters, u)
			}
		}
		return err
	})
	return waiters, err
}

// heavier are the users that would never fit.
func heavier(users []PoolUser, slots *int) (heavy []PoolUser) {
	for _, u := range users {
		if slots != nil && u.Weight > *slots {
			heavy = append(heavy, u)
		}
	}
	return heavy
}

const poolSlots = "SELECT name, COALESCE(slots, 0) FROM ax.pools WHERE namespace_id = $1 AND name = ANY ($2::text[]) ORDER BY name"

// PoolSlots returns the slots of some pools by name, 0 for no limit; a pool that does not exist is absent.
func (s *Store) PoolSlots(ctx context.Context, tx pgx.Tx, namespace int64, names []string) (map[string]int, error) {
	return slotsByName(tx.Query(ctx, poolSlots, namespace, names))
}

// KeepPools is PoolSlots, and locks the pools against removal and change.
func (s *Store) KeepPools(ctx context.Context, tx pgx.Tx, namespace int64, names []string) (map[string]int, error) {
	return slotsByName(tx.Query(ctx, poolSlots+" FOR KEY SHARE", namespace, names))
}

func slotsByName(rows pgx.Rows, err error) (map[string]int, error) {
	if err != nil {
		return nil, fmt.Errorf("read pools: %w", err)
	}
	slots := make(map[string]int)
	var name string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error { slots[name] = n; return nil }); err != nil {
		return nil, fmt.Errorf("read pools: %w", err)
	}
	return slots, nil
}

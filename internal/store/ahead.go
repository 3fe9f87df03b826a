package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// PoolAhead is a pool that a node waits for: what it asks, and what stands in its way.
type PoolAhead struct {
	Share PoolShare
	State PoolState
	// Exists is false where there is no such pool; the rest is empty then. Now is the instant of all this.
	Exists bool
	Now    time.Time
	// Holders are the first ten of those that hold its slots.
	Holders []Attempt
}

// lookAhead says of the nodes that wait what their pools are like. Waiting are the places of nodes by what they ask.
func lookAhead(ctx context.Context, tx pgx.Tx, waiting map[Demand][]int, nodes []LiveNode) error {
	if len(waiting) == 0 {
		return nil
	}
	var keys []PoolKey
	ahead := make(map[PoolKey]*PoolAhead)
	shares := make(map[Demand][]PoolShare)
	for demand := range waiting {
		var err error
		if shares[demand], err = demand.Shares(); err != nil {
			return err
		}
		for _, s := range shares[demand] {
			if ahead[s.PoolKey] == nil {
				ahead[s.PoolKey] = &PoolAhead{}
				keys = append(keys, s.PoolKey)
			}
		}
	}
	if err := readAhead(ctx, tx, keys, ahead); err != nil {
		return err
	}
	for demand, places := range waiting {
		pools := make([]PoolAhead, len(shares[demand]))
		for i, s := range shares[demand] {
			pools[i] = *ahead[s.PoolKey]
			pools[i].Share = s
		}
		for _, at := range places {
			nodes[at].Pools = pools
		}
	}
	return nil
}

// readAhead fills what is known of some pools.
func readAhead(ctx context.Context, tx pgx.Tx, keys []PoolKey, ahead map[PoolKey]*PoolAhead) error {
	var states []PoolState
	var now time.Time
	type holder struct {
		pool PoolKey
		Attempt
	}
	var holders []holder
	b := &pgx.Batch{}
	queuePoolStates(b, keys, &states, &now)
	b.Queue(`SELECT k.namespace_id, k.name, h.* FROM unnest($1::bigint[], $2::text[]) k (namespace_id, name) CROSS JOIN LATERAL (
			SELECT run_id, node, shard, generation, attempt FROM ax.slots s WHERE s.namespace_id = k.namespace_id AND s.pool = k.name
			ORDER BY taken_at, run_id, node, shard LIMIT 10) h`, keyArgs(keys)...).
		Query(collect(&holders, func(h *holder) []any {
			return []any{&h.pool.Namespace, &h.pool.Name, &h.Run, &h.Node, &h.Shard, &h.Generation, &h.Number}
		}))
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	for _, s := range states {
		a := ahead[s.PoolKey]
		a.State, a.Exists, a.Now = s, true, now
	}
	for _, h := range holders {
		ahead[h.pool].Holders = append(ahead[h.pool].Holders, h.Attempt)
	}
	return nil
}

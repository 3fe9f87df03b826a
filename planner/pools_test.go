package planner_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

func TestPoolsMustExistAndHaveRoom(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g, problems := dag.Load([]byte(`
workflow: w
nodes:
  a: {handler: x, pools: [erp, nowhere]}
  b: {handler: x, pools: [{pool: erp, weight: 3}, {pool: free, weight: 1000}]}
schedules: [{cron: "0 0 0 1 1 ? 2020"}]
`), dag.BuildOptions{DefaultTimezone: "UTC"})
	require.NoError(t, problems.Err())
	require.NoError(t, h.store.AddPool(t.Context(), store.PoolKey{Namespace: 1, Name: "erp"}, store.PoolSpec{Slots: new(2)}))
	require.NoError(t, h.store.AddPool(t.Context(), store.PoolKey{Namespace: 1, Name: "free"}, store.PoolSpec{}))
	register := func() error {
		_, err := planner.Register(t.Context(), h.store, planner.Registration{Namespace: "default", Graph: g, Actor: "user:t"})
		return err
	}
	var found dag.Problems
	require.ErrorAs(t, register(), &found)
	var said []string
	for _, p := range found {
		require.NotEmpty(t, p.Hint)
		said = append(said, p.Path+" "+p.Code)
	}
	require.Equal(t, []string{"nodes.a.pools[1] unknown_pool", "nodes.b.pools[0].weight out_of_range", "schedules[0].cron never_fires"}, said, "all at once")
	require.Zero(t, one[int64](h, "SELECT count(*) FROM ax.versions"))
}

// TestPoolIsKeptWhileItsUserRegisters wants a pool's removal to see every workflow that was registered with it.
func TestPoolIsKeptWhileItsUserRegisters(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	erp := store.PoolKey{Namespace: 1, Name: "erp"}
	require.NoError(t, h.store.AddPool(t.Context(), erp, store.PoolSpec{Slots: new(2)}))
	tx, err := h.store.Pool().Begin(t.Context())
	require.NoError(t, err)
	slots, err := h.store.KeepPools(t.Context(), tx, 1, []string{"erp"})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"erp": 2}, slots)
	removed := make(chan error)
	go func() { removed <- h.store.DeletePool(t.Context(), erp) }()
	require.Eventually(t, func() bool { return one[int64](h, "SELECT count(*) FROM pg_locks WHERE NOT granted") > 0 }, 20*time.Second, 5*time.Millisecond)
	g, problems := dag.Load([]byte("workflow: w\nnodes: {a: {handler: x, pools: [{pool: erp, weight: 2}]}}"), dag.BuildOptions{DefaultTimezone: "UTC"})
	require.NoError(t, problems.Err())
	h.registerGraph(g)
	require.NoError(t, tx.Commit(t.Context()))
	var used *store.PoolInUseError
	require.ErrorAs(t, <-removed, &used)
	require.Equal(t, []store.PoolUser{{Workflow: "w", Node: "a", Weight: 2}}, used.Users)
	_, err = h.store.SetPool(t.Context(), erp, store.PoolSpec{Slots: new(1)})
	require.EqualError(t, err, `set pool "erp": pool erp cannot have 1 slots: node a of w (weight 2) could never start`)
}

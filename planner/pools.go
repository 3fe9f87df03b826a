package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// CheckPools says what is wrong with the pools that a definition names, given those that a namespace has: a pool that does not exist, since a
// misspelt name must not mean no limit, and a weight that would never fit (S23).
func CheckPools(ctx context.Context, s *store.Store, tx pgx.Tx, namespace int64, def *dag.Definition) (dag.Problems, error) {
	names := poolsOf(def)
	if len(names) == 0 {
		return nil, nil
	}
	slots, err := s.PoolSlots(ctx, tx, namespace, names)
	if err != nil {
		return nil, err
	}
	return poolProblems(def, slots), nil
}

// keepPools checks the pools again, and keeps them as they are until the registration is done.
func (r *registration) keepPools(ctx context.Context, def *dag.Definition) error {
	names := poolsOf(def)
	if len(names) == 0 {
		return nil
	}
	slots, err := r.store.KeepPools(ctx, r.tx, r.namespace, names)
	if err != nil {
		return err
	}
	return poolProblems(def, slots).Err()
}

// poolsOf are the names of the pools that a definition uses.
func poolsOf(def *dag.Definition) []string {
	seen := map[string]bool{}
	for _, n := range def.Nodes {
		for _, use := range n.Pools {
			seen[use.Pool] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func poolProblems(def *dag.Definition, slots map[string]int) dag.Problems {
	var problems dag.Problems
	for _, name := range slices.Sorted(maps.Keys(def.Nodes)) {
		for i, use := range def.Nodes[name].Pools {
			p := dag.Problem{Path: fmt.Sprintf("nodes.%s.pools[%d]", name, i), Severity: dag.SeverityError, Code: dag.CodeUnknownPool, Value: use.Pool}
			switch most, ok := slots[use.Pool]; {
			case !ok:
				p.Message = fmt.Sprintf("there is no pool %q in this namespace", use.Pool)
				p.Hint = "make it first, as with ax pools set " + use.Pool + " --slots 4"
			case most > 0 && use.Weight > most:
				p.Path, p.Code, p.Value = p.Path+".weight", dag.CodeOutOfRange, use.Weight
				p.Message = fmt.Sprintf("the node can never start: pool %q has %d slots, and it takes %d", use.Pool, most, use.Weight)
				p.Hint = "give the pool more slots, or the node less weight"
			default:
				continue
			}
			problems = append(problems, p)
		}
	}
	return problems
}

package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ax-run/ax/dag"
)

// Demand is the pools that a node needs all at once, with their weights, as text: nodes with the same demand wait in the same line. It is
// "" for none, else such as "1:erp=1,sap=2": the namespace and the pools by name. A pool's name needs no escapes.
type Demand string

// NewDemand writes the demand of a node of a namespace.
func NewDemand(namespace int64, uses []dag.PoolUse) Demand {
	if len(uses) == 0 {
		return ""
	}
	parts := make([]string, len(uses))
	for i, u := range uses {
		parts[i] = u.Pool + "=" + strconv.Itoa(u.Weight)
	}
	slices.Sort(parts)
	return Demand(strconv.FormatInt(namespace, 10) + ":" + strings.Join(parts, ","))
}

// PoolKey names a pool.
type PoolKey struct {
	Namespace int64
	Name      string
}

// PoolShare is what a demand asks of one pool.
type PoolShare struct {
	PoolKey
	Weight int
}

// Shares reads the demand.
func (d Demand) Shares() ([]PoolShare, error) {
	namespace, pools, _ := strings.Cut(string(d), ":")
	id, err := strconv.ParseInt(namespace, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read demand %q: %w", d, err)
	}
	var shares []PoolShare
	for part := range strings.SplitSeq(pools, ",") {
		name, weight, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(weight)
		if err != nil {
			return nil, fmt.Errorf("read demand %q: %w", d, err)
		}
		shares = append(shares, PoolShare{PoolKey{id, name}, n})
	}
	return shares, nil
}

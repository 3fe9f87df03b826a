package ax

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// Pool bounds how many nodes use something at once, and how many start in a time (S23).
type Pool struct {
	// Slots is how many there are. Zero: no limit.
	Slots int
	// Rate is the most starts in a time, such as 10/s or 100/m, and Burst how many of them may come at once after a rest. Zero: no limit, and 1.
	Rate  string
	Burst int
	// MaxWaiting is how many nodes may wait; one more fails at once. Nil: no limit.
	MaxWaiting *int
}

func (p *Pool) spec() (store.PoolSpec, error) {
	spec := store.PoolSpec{MaxWaiting: p.MaxWaiting}
	if p.Slots < 0 || p.Burst < 0 || p.MaxWaiting != nil && *p.MaxWaiting < 0 {
		return spec, errors.New("a limit is negative")
	}
	if p.Slots > 0 {
		spec.Slots = &p.Slots
	}
	if p.Rate == "" {
		return spec, nil
	}
	rate, err := progress.ParseRate(p.Rate)
	rate.Burst = max(p.Burst, 1)
	spec.Rate = rate
	return spec, err
}

// checkPools says which of the pools cannot be made.
func (c *Config) checkPools() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Pools)) {
		if !dag.ValidName(name) {
			errs = append(errs, fmt.Errorf("a pool cannot be called %q", name))
		}
		p := c.Pools[name]
		if _, err := p.spec(); err != nil {
			errs = append(errs, fmt.Errorf("the pool %q: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// makePools makes the pools that are not there yet.
func (a *App) makePools(ctx context.Context) error {
	if len(a.config.Pools) == 0 {
		return nil
	}
	namespace, err := a.store.Namespace(ctx, a.config.Namespace)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.config.Pools)) {
		p := a.config.Pools[name]
		spec, err := p.spec()
		if err != nil {
			return err
		}
		if err := a.store.AddPool(ctx, store.PoolKey{Namespace: namespace, Name: name}, spec); err != nil {
			return err
		}
	}
	return nil
}

package planner

import (
	"context"
	"time"
)

// sweepEvery is how often a planner looks for what no event will bring up any more.
const sweepEvery = 10 * time.Second

// sweep mends what nothing else would.
func (p *Planner) sweep(ctx context.Context) (time.Duration, error) {
	n, err := p.store.MendDelays(ctx)
	if err != nil {
		return 0, err
	}
	if n > 0 {
		p.logger.Info("gave schedules with a delay their next fire", "schedules", n)
	}
	if n, err = p.store.ExpireSets(ctx); err != nil {
		return 0, err
	}
	if n > 0 {
		p.logger.Warn("upstream sets expired incomplete", "sets", n)
	}
	return sweepEvery, nil
}

package planner

import (
	"context"
	"time"
)

const (
	// foresight is how long before an instant its version is prepared, foreseeEvery how often it is looked for, and foreseeBatch how many
	// schedules are looked at together.
	foresight    = 15 * time.Second
	foreseeEvery = 2 * time.Second
	foreseeBatch = 5000
)

// foresee has what is due soon prepared, so that a herd of schedules that nobody has fired yet is not held up by reading their definitions.
// It decides nothing: what it misses is prepared when it is fired.
func (p *Planner) foresee(ctx context.Context) (time.Duration, error) {
	soon, err := p.store.DueSoon(ctx, p.foreseen, foresight, foreseeBatch)
	if err != nil || len(soon) == 0 {
		return foreseeEvery, err
	}
	versions := make([]int64, len(soon))
	for i, s := range soon {
		versions[i] = s.Version
	}
	if err := p.prepare(ctx, versions); err != nil {
		return 0, err
	}
	p.foreseen = soon[len(soon)-1].SchedulePoint
	if len(soon) == foreseeBatch {
		return 0, nil
	}
	return foreseeEvery, nil
}

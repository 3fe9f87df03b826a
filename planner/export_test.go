package planner

import (
	"context"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// FireBatch fires one batch of a planner that does not run.
func FireBatch(ctx context.Context, p *Planner) (more bool, err error) { return p.fireBatch(ctx) }

// Rounds makes the rounds of a planner that does not run; each returns how long to sleep.
func Rounds(p *Planner) func(ctx context.Context) time.Duration {
	return (&patient{what: "planner", logger: p.logger, look: p.fireDue}).round
}

// StartDelayed starts one batch of delayed runs.
func StartDelayed(ctx context.Context, p *Planner) (int, error) {
	if err := p.store.ParkDelayed(ctx); err != nil {
		return 0, err
	}
	return p.startDelayed(ctx)
}

// Consume consumes one batch of completions.
func Consume(ctx context.Context, p *Planner) (int, error) { return p.consumeBatch(ctx) }

// Sweep looks once for what no event brings up.
func Sweep(ctx context.Context, p *Planner) error {
	_, err := p.sweep(ctx)
	return err
}

// Foresee looks once for what is due soon.
func Foresee(ctx context.Context, p *Planner) error {
	_, err := p.foresee(ctx)
	return err
}

// FeedBackfill looks at one backfill.
func FeedBackfill(ctx context.Context, p *Planner) (bool, error) { return p.feedBackfill(ctx) }

// Walked are all instants of a stretch of a schedule's history, by steps of n, and how many there are said to be.
func Walked(history []store.SpecRow, line store.BackfillLine, newest bool, n int) (instants []time.Time, total int) {
	w := &walk{newest: newest, lines: []*walkLine{{BackfillLine: &line, eras: newEras(history, 1, nil)}}}
	for {
		slots := w.next(n)
		if len(slots) == 0 {
			return instants, w.total()
		}
		for _, s := range slots {
			instants = append(instants, s.at)
		}
		w.pass(slots)
	}
}

// Prune makes steps of pruning until a round is over, and says how many.
func Prune(ctx context.Context, p *Planner) (steps int, err error) {
	for {
		sleep, err := p.prune(ctx)
		if steps++; err != nil || sleep == pruneEvery {
			return steps, err
		}
	}
}

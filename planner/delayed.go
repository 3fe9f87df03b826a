package planner

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

// triggerAPI is the trigger of runs asked for through the API, in advance too.
const triggerAPI = "api"

// startDue starts delayed runs whose time has come, at most a batch, and returns how long to sleep.
func (p *Planner) startDue(ctx context.Context) (time.Duration, error) {
	if err := p.store.ParkDelayed(ctx); err != nil {
		return 0, err
	}
	n, err := p.startDelayed(ctx)
	if err != nil || n == batchSize {
		return 0, err
	}
	next, ok, err := p.store.UntilNextDelayed(ctx)
	if err != nil || !ok {
		return maxSleep, err
	}
	return min(max(next, minSleep), maxSleep), nil
}

// startDelayed starts a batch and says how many it took up. A batch that one of them spoils is repeated with each apart.
func (p *Planner) startDelayed(ctx context.Context) (n int, err error) {
	for _, apart := range []bool{false, true} {
		err = p.store.InTx(ctx, func(tx pgx.Tx) error {
			runs, err := p.store.ClaimDelayed(ctx, tx, batchSize)
			if err != nil || len(runs) == 0 {
				n = 0
				return err
			}
			n = len(runs)
			if apart {
				return p.startApart(ctx, tx, runs)
			}
			return p.startTogether(ctx, tx, runs)
		})
		if err == nil || ctx.Err() != nil || store.Transient(err) {
			break
		}
	}
	return n, err
}

func (p *Planner) startTogether(ctx context.Context, tx pgx.Tx, runs []store.DelayedRun) error {
	triggers := make([]store.Trigger, len(runs))
	for i, r := range runs {
		triggers[i] = store.Trigger{
			Version: r.Version, Named: true, Kind: triggerAPI, Actor: r.Actor, ScheduledAt: r.ScheduledAt, LogicalDate: r.LogicalDate, Params: r.Params,
		}
	}
	launched, err := p.launcher.Launch(ctx, tx, triggers)
	if err != nil {
		return err
	}
	ends := make([]store.DelayedEnd, len(runs))
	for i, l := range launched {
		ends[i] = store.DelayedEnd{ID: runs[i].ID, State: store.DelayedStarted, Run: l.Run}
		switch {
		case l.Err != nil && store.Transient(l.Err):
			return l.Err
		case l.Err != nil:
			ends[i] = store.DelayedEnd{ID: runs[i].ID, State: store.DelayedFailed, Reason: reason(l.Err)}
		case l.Refused != "":
			ends[i] = store.DelayedEnd{ID: runs[i].ID, State: store.DelayedWaiting, Reason: l.Refused}
		}
	}
	return p.store.EndDelayed(ctx, tx, ends)
}

// startApart starts each in a savepoint of its own; one that cannot be started fails alone.
func (p *Planner) startApart(ctx context.Context, tx pgx.Tx, runs []store.DelayedRun) error {
	for _, r := range runs {
		err := p.store.InSavepoint(ctx, tx, func(tx pgx.Tx) error { return p.startTogether(ctx, tx, []store.DelayedRun{r}) })
		if err == nil {
			continue
		}
		if store.Transient(err) {
			return err
		}
		p.logger.Error("a delayed run cannot be started", "run", r.ID, "error", err)
		if err := p.store.EndDelayed(ctx, tx, []store.DelayedEnd{{ID: r.ID, State: store.DelayedFailed, Reason: reason(err)}}); err != nil {
			return err
		}
	}
	return nil
}

package api

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

type backfillActInput struct {
	OfBackfill
	DryRun
	Body *ActBody
}

// backfillAct is something that a person does to a backfill.
type backfillAct struct {
	verb string
	do   func(context.Context, store.BackfillChange) (bool, error)
	// what says what would be done, and fits what that goes by.
	what func(store.Backfill) string
	fits func(store.Backfill) string
	// slots are the instants that it is about, as a state; "" is none.
	slots store.SlotState
	// never says why it cannot be done to a backfill as it is; "" when it can.
	never func(store.Backfill) string
}

func stateOf(b store.Backfill) string { return string(b.State) }

// only lets an act be done to backfills in some states.
func only(states ...store.BackfillState) func(store.Backfill) string {
	return func(b store.Backfill) string {
		for _, s := range states {
			if b.State == s {
				return ""
			}
		}
		return fmt.Sprintf("backfill %s is %s", b.ID, b.State)
	}
}

func (a *API) pauseBackfill(ctx context.Context, in *backfillActInput) (*body[Answer[Backfill]], error) {
	return a.onBackfill(ctx, in, backfillAct{verb: "pause", do: a.Store.PauseBackfill, fits: stateOf, never: only(store.BackfillRunning),
		what: func(b store.Backfill) string {
			return fmt.Sprintf("it makes no more runs until it is resumed; %d go on", b.Counts.Active)
		}})
}

func (a *API) resumeBackfill(ctx context.Context, in *backfillActInput) (*body[Answer[Backfill]], error) {
	return a.onBackfill(ctx, in, backfillAct{verb: "resume", do: a.Store.ResumeBackfill, fits: stateOf, never: only(store.BackfillPaused),
		what: func(b store.Backfill) string {
			return fmt.Sprintf("%d of %d instants are left", backfillView(b).Progress.Left+b.Counts.Waiting, b.Counts.Total)
		}})
}

// cancelBackfill cancels the runs too that the backfill makes until then: a plan holds while the backfill goes on.
func (a *API) cancelBackfill(ctx context.Context, in *backfillActInput) (*body[Answer[Backfill]], error) {
	return a.onBackfill(ctx, in, backfillAct{verb: "cancel", do: a.Store.CancelBackfill, fits: stateOf, slots: store.SlotActive,
		never: only(store.BackfillRunning, store.BackfillPaused),
		what: func(b store.Backfill) string {
			return fmt.Sprintf("it makes no more runs, and %d that go on, or what goes on by then, are canceled", b.Counts.Active)
		}})
}

func (a *API) retryBackfill(ctx context.Context, in *backfillActInput) (*body[Answer[Backfill]], error) {
	return a.onBackfill(ctx, in, backfillAct{verb: "retry", do: a.Store.RetryBackfill, slots: store.SlotFailed,
		fits: func(b store.Backfill) string { return strconv.Itoa(b.Round) + " " + strconv.Itoa(b.Counts.Failed) },
		what: func(b store.Backfill) string {
			return fmt.Sprintf("%d instants failed; what of their runs ended well is taken over", b.Counts.Failed)
		},
		never: func(b store.Backfill) string {
			switch {
			case b.State == store.BackfillCanceled:
				return fmt.Sprintf("backfill %s is canceled: make a new one", b.ID)
			case b.Counts.Failed == 0:
				return fmt.Sprintf("nothing has failed of backfill %s", b.ID)
			}
			return ""
		}})
}

func (a *API) onBackfill(ctx context.Context, in *backfillActInput, act backfillAct) (*body[Answer[Backfill]], error) {
	if in.Body == nil {
		in.Body = &ActBody{}
	}
	found, err := a.backfill(ctx, in.OfBackfill)
	if err != nil {
		return nil, err
	}
	look := func(ctx context.Context) (store.Backfill, error) {
		b, err := a.Store.Backfill(ctx, found.Namespace, found.ID)
		if err == nil {
			if why := act.never(b); why != "" {
				err = conflict("%s", why)
			}
		}
		return b, err
	}
	return perform(ctx, a, planned[Backfill]{
		order: order{in.InNamespace, in.DryRun, in.Body.PlanToken}, act: []any{act.verb + "-backfill", found.ID.String()},
		plan: func(ctx context.Context) (Plan, string, error) {
			b, err := look(ctx)
			if err != nil {
				return Plan{}, "", err
			}
			p := Plan{Title: fmt.Sprintf("%s backfill %s of %s: %s", act.verb, b.ID, b.Code, act.what(b))}
			p.Items, err = a.slotItems(ctx, &b, act)
			return p, act.fits(b), err
		},
		do: func(ctx context.Context, expect string) (Backfill, error) {
			b, err := look(ctx)
			switch {
			case expect != "" && (err != nil || act.fits(b) != expect):
				return Backfill{}, engine.ErrChanged
			case err != nil:
				return Backfill{}, err
			}
			done, err := act.do(ctx, store.BackfillChange{Backfill: b.ID, Actor: actor(ctx), Note: in.Body.Reason})
			if err == nil && !done { // it changed meanwhile
				_, err = look(ctx)
			}
			if err != nil {
				return Backfill{}, err
			}
			b, err = a.Store.Backfill(ctx, b.Namespace, b.ID)
			return backfillView(b), err
		},
	})
}

// maxSlotItems is how many instants a plan lists.
const maxSlotItems = 1000

// slotItems are the instants that an act is about.
func (a *API) slotItems(ctx context.Context, b *store.Backfill, act backfillAct) (items []PlanItem, err error) {
	if act.slots == "" {
		return nil, nil
	}
	slots, err := a.Store.BackfillSlots(ctx, store.SlotQuery{
		Backfill: b.ID, State: act.slots, Before: store.SlotMark{At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, Limit: maxSlotItems})
	for _, s := range slots {
		v := slotView(b, s)
		items = append(items, PlanItem{Run: v.Run, Schedule: v.Schedule, ScheduledAt: v.ScheduledAt.Format(time.RFC3339), State: v.State, Action: act.verb, Reason: v.Reason})
	}
	return items, err
}

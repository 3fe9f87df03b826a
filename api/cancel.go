package api

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

type cancelInput struct {
	OfRun
	DryRun
	Body *ActBody
}

// cancelRun cancels at once, or by a plan.
func (a *API) cancelRun(ctx context.Context, in *cancelInput) (*body[Answer[RunDetail]], error) {
	if !in.DryRun.DryRun && (in.Body == nil || in.Body.Plan == "") {
		done, err := a.cancel(ctx, in)
		if err != nil {
			return nil, err
		}
		return &body[Answer[RunDetail]]{Answer[RunDetail]{Done: &done.Body}}, nil
	}
	if in.Body == nil {
		in.Body = &ActBody{}
	}
	run, err := a.run(ctx, in.OfRun)
	if errors.Is(err, store.ErrNotFound) {
		return a.planCancelDelayed(ctx, in, err)
	}
	if err != nil {
		return nil, err
	}
	act := engine.Act{Cancel: true, Actor: actor(ctx), Note: in.Body.Reason}
	return a.act(ctx, order{in.InNamespace, in.DryRun, in.Body.PlanToken}, run, named[*engine.Act]{"cancel", &act})
}

// planCancelDelayed is for what has not become a run yet.
func (a *API) planCancelDelayed(ctx context.Context, in *cancelInput, missing error) (*body[Answer[RunDetail]], error) {
	return perform(ctx, a, planned[RunDetail]{
		order: order{in.InNamespace, in.DryRun, in.Body.PlanToken}, act: []any{"cancel", in.Run},
		plan: func(ctx context.Context) (Plan, string, error) {
			got, err := a.getDelayed(ctx, in.OfRun, missing)
			if err != nil {
				return Plan{}, "", err
			}
			run := got.Body
			return Plan{Title: "cancel run " + run.ID + " of " + run.Workflow + ", which has not begun",
				Items: []PlanItem{{Run: run.ID, State: run.State, Action: "cancel"}}}, run.State, nil
		},
		do: func(ctx context.Context, _ string) (RunDetail, error) {
			done, err := a.cancelDelayed(ctx, in, missing)
			if err != nil {
				return RunDetail{}, err
			}
			return done.Body, nil
		},
	})
}

func (a *API) cancel(ctx context.Context, in *cancelInput) (*body[RunDetail], error) {
	run, err := a.run(ctx, in.OfRun)
	if errors.Is(err, store.ErrNotFound) {
		return a.cancelDelayed(ctx, in, err)
	}
	if err != nil {
		return nil, err
	}
	if run.State.Terminal() {
		return nil, conflict("run %s has ended already: it %s", run.ID, ended(run.State))
	}
	intent := store.Intent{Run: run.ID, Kind: store.IntentCancel, Actor: actor(ctx), Reason: in.Body.reason()}
	if err := a.Store.InTx(ctx, func(tx pgx.Tx) error { return a.Store.AddIntent(ctx, tx, intent) }); err != nil {
		return nil, err
	}
	return answerOf(a.runDetail(ctx, run))
}

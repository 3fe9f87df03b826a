package api

import (
	"cmp"
	"context"
	"errors"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

func (a *API) replay(ctx context.Context, in *rerunInput) (*body[Answer[RunDetail]], error) {
	if in.Body == nil {
		in.Body = &RerunBody{}
	}
	run, err := a.started(ctx, in.OfRun)
	if err != nil {
		return nil, err
	}
	replay, err := a.replayOf(ctx, run, in.Body)
	if err == nil {
		err = a.fitting(ctx, in.InNamespace, cmp.Or(replay.Version, run.VersionID), "body.version")
	}
	if err != nil {
		return nil, err
	}
	return perform(ctx, a, planned[RunDetail]{
		order: order{in.InNamespace, in.DryRun, in.Body.PlanToken}, act: []any{"replay", run.ID.String(), replay.Rerun, replay.Version},
		plan: func(ctx context.Context) (Plan, string, error) {
			seen, err := a.Operator.PreviewReplay(ctx, run.ID, replay)
			if err != nil {
				return Plan{}, "", err
			}
			plan, err := a.planOf(ctx, run, "replay", seen)
			return plan, seen.Fingerprint, err
		},
		do: func(ctx context.Context, expect string) (RunDetail, error) {
			replay.Expect = expect
			launched, err := a.Operator.Replay(ctx, run.ID, replay)
			if err == nil && launched.Refused != "" {
				err = a.refusal(ctx, run.WorkflowID, run.Workflow, launched)
			}
			if err != nil {
				return RunDetail{}, err
			}
			return a.detailOf(ctx, in.InNamespace, launched.Run)
		},
	})
}

// replayOf makes a request the engine's. A run that succeeded is repeated as a whole unless the request says otherwise.
func (a *API) replayOf(ctx context.Context, run store.RunRow, b *RerunBody) (engine.Replay, error) {
	r := engine.Replay{Actor: actor(ctx)}
	var err error
	if r.Rerun, err = rerunOf(b); err != nil {
		return r, err
	}
	if b.Scope == "" && len(b.Nodes) == 0 && run.State == progress.Succeeded && (b.Version == nil || *b.Version == run.Version) {
		r.Rerun.Scope = progress.ScopeAll
	}
	if b.Version == nil || *b.Version == run.Version {
		return r, nil
	}
	version, err := a.Store.Version(ctx, run.WorkflowID, *b.Version)
	if errors.Is(err, store.ErrNotFound) {
		return r, invalid("body.version", "%s has no version %d", run.Workflow, *b.Version)
	}
	r.Version = version.ID
	return r, err
}

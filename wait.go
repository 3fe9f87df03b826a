package ax

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// Bounds of the pause between two looks at a run.
const (
	lookFirst = 10 * time.Millisecond
	lookMost  = 500 * time.Millisecond
)

// Wait returns the state in which a run ends. It looks at the run more and more seldom, at least twice a second.
func (a *App) Wait(ctx context.Context, run string) (progress.State, error) {
	id, err := store.ParseRunID(run)
	if err != nil {
		return "", fmt.Errorf("wait for run: %w", err)
	}
	namespace, err := a.store.Namespace(ctx, a.config.Namespace)
	if err != nil {
		return "", fmt.Errorf("wait for run: %w", err)
	}
	for pause := lookFirst; ; pause = min(2*pause, lookMost) {
		row, err := a.store.Run(ctx, namespace, id)
		switch {
		case err != nil && (!store.Transient(err) || ctx.Err() != nil):
			return "", fmt.Errorf("wait for run: %w", err)
		case err == nil && row.State.Terminal():
			return row.State, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return row.State, fmt.Errorf("wait for run %s: %w", run, ctx.Err())
		}
	}
}

// Output returns what a node of a run gave, one JSON value; nil when it gave null or has not succeeded.
func (a *App) Output(ctx context.Context, run, node string) (json.RawMessage, error) {
	id, err := store.ParseRunID(run)
	if err != nil {
		return nil, fmt.Errorf("read output: %w", err)
	}
	outputs, err := a.store.Outputs(ctx, []store.RunID{id}, []string{node})
	if err != nil || len(outputs) == 0 {
		return nil, err
	}
	return outputs[0].Output, nil
}

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// Repeat makes runs that repeat ended ones, in the caller's transaction, one for each wish and in order (S32). One that cannot be repeated
// fails alone, in its Launched; an error means that the transaction is spoilt.
func (e *Engine) Repeat(ctx context.Context, tx pgx.Tx, wishes []store.Repeat) ([]store.Launched, error) {
	sources := make([]store.RunID, len(wishes))
	for i, w := range wishes {
		sources[i] = w.Run
	}
	// All at once and in order, before anything else is locked.
	if err := e.store.HoldRuns(ctx, tx, sources); err != nil {
		return nil, err
	}
	out := make([]store.Launched, len(wishes))
	for i := range wishes {
		l, err := e.repeat(ctx, tx, &wishes[i])
		switch {
		case err == nil:
		case errors.Is(err, ErrActive), errors.Is(err, ErrPointless), errors.Is(err, store.ErrNotFound), l.Err != nil:
			l.Err = err
		default:
			return nil, err
		}
		out[i] = l
	}
	return out, nil
}

func (e *Engine) repeat(ctx context.Context, tx pgx.Tx, w *store.Repeat) (store.Launched, error) {
	r := Replay{Actor: w.Actor, Version: w.Version, Rerun: Rerun{Scope: progress.ScopeFailed}, of: w}
	if w.Whole {
		r.Rerun.Scope = progress.ScopeAll
	}
	l, err := e.replay(ctx, tx, w.Run, &r)
	if errors.Is(err, ErrPointless) && !w.Whole { // it did not succeed, though no node of it failed
		r.Rerun.Scope = progress.ScopeAll
		return e.replay(ctx, tx, w.Run, &r)
	}
	return l, err
}

// override gives parameters other values.
func override(params, values []byte) ([]byte, error) {
	var own, given map[string]json.RawMessage
	if err := json.Unmarshal(params, &own); err != nil {
		return nil, fmt.Errorf("read parameters: %w", err)
	}
	if err := json.Unmarshal(values, &given); err != nil {
		return nil, fmt.Errorf("read parameters: %w", err)
	}
	if len(given) == 0 {
		return params, nil
	}
	maps.Copy(own, given)
	merged, err := json.Marshal(own)
	if err != nil {
		return nil, fmt.Errorf("write parameters: %w", err)
	}
	return merged, nil
}

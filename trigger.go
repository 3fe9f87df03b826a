package ax

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/cron"
	"github.com/ax-run/ax/internal/store"
)

var (
	// ErrNotFound says that there is no such workflow or run.
	ErrNotFound = store.ErrNotFound
	// ErrTooManyRuns says that no run was made because as many of the workflow wait already as may (S22).
	ErrTooManyRuns = errors.New("too many runs of the workflow wait already")
	// ErrNotRunning says that the App was not started, or was stopped.
	ErrNotRunning = errors.New("the app does not run: call Start first")
)

// Trigger asks for a run.
type Trigger struct {
	// Workflow is its code.
	Workflow string
	// Params become a JSON object, such as a struct or map; nil leaves all of them to their defaults.
	Params any
	// LogicalTime is the time that the run is for (S11). Zero: now, by the database's clock.
	LogicalTime time.Time
	// Actor is who wants it. Zero: app.
	Actor string
}

// Trigger creates a run of a workflow's current version in tx, and returns its id: the run exists when tx commits, together
// with whatever else the caller wrote in it, or not at all. A nil tx is a transaction of its own. Parameters that do not
// fit are a *dag.ParamError, too many runs ErrTooManyRuns; both leave tx usable.
func (a *App) Trigger(ctx context.Context, tx pgx.Tx, t Trigger) (run string, err error) {
	if !a.running.Load() {
		return "", fmt.Errorf("trigger workflow %q: %w", t.Workflow, ErrNotRunning)
	}
	err = a.within(ctx, tx, func(tx pgx.Tx) (err error) {
		run, err = a.trigger(ctx, tx, t)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("trigger workflow %q: %w", t.Workflow, err)
	}
	return run, nil
}

func (a *App) trigger(ctx context.Context, tx pgx.Tx, t Trigger) (string, error) {
	params, err := encodeParams(t.Params)
	if err != nil {
		return "", err
	}
	entry, err := a.store.Entry(ctx, tx, a.config.Namespace, t.Workflow)
	if err != nil {
		return "", err
	}
	zone, err := cron.LoadZone(cmp.Or(entry.Timezone, a.config.DefaultTimezone))
	if err != nil {
		return "", err
	}
	at := t.LogicalTime
	if at.IsZero() {
		at = entry.Now
	}
	if err := dag.CheckInstant(at); err != nil {
		return "", fmt.Errorf("read the logical time: %w", err)
	}
	launched, err := a.engine.Launch(ctx, tx, []store.Trigger{{
		Version: entry.Version, Kind: "api", Actor: cmp.Or(t.Actor, actor), Params: params,
		ScheduledAt: at, LogicalDate: at.In(zone).Format(time.DateOnly),
	}})
	if err != nil {
		return "", err
	}
	switch l := launched[0]; {
	case l.Err != nil:
		return "", l.Err
	case l.Refused != "":
		return "", ErrTooManyRuns
	default:
		return l.Run.String(), nil
	}
}

func encodeParams(params any) ([]byte, error) {
	if params == nil {
		return nil, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(params); err != nil {
		return nil, fmt.Errorf("encode parameters: %w", err)
	}
	return b.Bytes(), nil
}

// Cancel asks in tx for the end of a run: once tx commits, what runs of it is stopped and what has not begun is canceled.
// A nil tx is a transaction of its own. A run that has ended stays as it is.
func (a *App) Cancel(ctx context.Context, tx pgx.Tx, run, reason string) error {
	id, err := store.ParseRunID(run)
	if err != nil {
		return fmt.Errorf("cancel run: %w", err)
	}
	return a.within(ctx, tx, func(tx pgx.Tx) error {
		state, err := a.store.RunState(ctx, tx, a.config.Namespace, id)
		if err != nil {
			return fmt.Errorf("cancel run: %w", err)
		}
		if state.Terminal() {
			return nil
		}
		return a.store.AddIntent(ctx, tx, store.Intent{Run: id, Kind: store.IntentCancel, Actor: actor, Reason: reason})
	})
}

// within does something in the caller's transaction, or in one of its own.
func (a *App) within(ctx context.Context, tx pgx.Tx, do func(pgx.Tx) error) error {
	if tx != nil {
		return do(tx)
	}
	return a.store.InTx(ctx, do)
}

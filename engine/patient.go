package engine

import (
	"context"
	"log/slog"
	"time"
)

// patiently makes a loop's round out of a look that may fail while the database is away: the failure is told once, at its
// beginning and at its end, and it is tried again.
func (e *Engine) patiently(name string, look func(context.Context) (time.Duration, error)) func(context.Context) time.Duration {
	failing := false
	return func(ctx context.Context) time.Duration {
		next, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return next
		case err != nil && !failing:
			e.log.Warn("looking after runs failed, trying again", slog.String("what", name), slog.Any("error", err))
		case err == nil && failing:
			e.log.Info("looking after runs works again", slog.String("what", name))
		}
		failing = err != nil
		if failing {
			return e.timings.Look
		}
		return next
	}
}

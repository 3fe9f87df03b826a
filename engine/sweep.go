package engine

import (
	"context"
	"log/slog"

	"github.com/ax-run/ax/internal/store"
)

// sweepJoins removes the counters of runs that have ended. They harm nobody if that fails.
func (e *Engine) sweepJoins(ctx context.Context, ended []store.RunID) {
	if len(ended) == 0 {
		return
	}
	if err := e.store.DropJoins(ctx, ended); err != nil {
		e.log.Warn("join counters of ended runs were left behind", slog.Any("error", err))
	}
}

package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// thinQueues refuses the nodes that are too many to wait in their queues (M12).
func (k *keeper) thinQueues(ctx context.Context) error {
	crowds, err := k.engine.store.CrowdedQueues(ctx, keepBatch)
	if err != nil {
		return err
	}
	k.thin(ctx, "queue", codeQueueFull, crowds)
	return nil
}

// thin fails the nodes that are too many to wait, newest first to come, where people see it: each becomes a dead letter, unless it has
// begun or was taken away meanwhile.
func (k *keeper) thin(ctx context.Context, what, code string, crowds []store.Crowd) {
	var together sync.WaitGroup
	for _, c := range crowds {
		k.engine.log.Warn("too many nodes wait; the newest fail", slog.String(what, c.Name), slog.Int("max_waiting", c.Most), slog.Int("failed", len(c.Beyond)))
		refused := Outcome{Err: &progress.Error{Class: progress.Permanent, Code: code,
			Message: fmt.Sprintf("%s %s is full: %d nodes wait for it already, and no more may", what, c.Name, c.Most)}}
		for _, claim := range c.Beyond {
			together.Go(func() { k.engine.report(ctx, &finished{claim: claim, outcome: refused, actor: "engine"}) })
		}
	}
	together.Wait()
}

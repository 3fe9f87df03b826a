package planner

import (
	"context"
	"time"
)

// FireBatch fires one batch of a planner that does not run.
func FireBatch(ctx context.Context, p *Planner) (more bool, err error) { return p.fireBatch(ctx) }

// Round is a whole round of a planner that does not run; it returns how long to sleep.
func Round(ctx context.Context, p *Planner) time.Duration { return p.round(ctx) }

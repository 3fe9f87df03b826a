package planner

import "context"

// FireBatch is one round of a planner that does not run.
func FireBatch(ctx context.Context, p *Planner) (more bool, err error) { return p.fireBatch(ctx) }

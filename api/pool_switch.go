package api

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

func (a *API) deletePool(ctx context.Context, in *deletePoolInput) (*body[Answer[PoolDetail]], error) {
	return perform(ctx, a, a.switchPool(in.OfPool, in.DryRun, PlanToken{in.Plan}, poolSwitch{
		act: "delete", title: "delete pool %s",
		do: func(ctx context.Context, key store.PoolKey) error { return a.Store.DeletePool(ctx, key) },
	}))
}

func (a *API) pausePool(ctx context.Context, in *switchPoolInput) (*body[Answer[PoolDetail]], error) {
	return perform(ctx, a, a.switchPool(in.OfPool, in.DryRun, in.Body.token(), poolSwitch{
		act: "pause", title: "let nobody more into pool %s",
		do: func(ctx context.Context, key store.PoolKey) error {
			return a.Store.PausePool(ctx, key, actor(ctx), in.Body.reason())
		},
	}))
}

func (a *API) resumePool(ctx context.Context, in *switchPoolInput) (*body[Answer[PoolDetail]], error) {
	return perform(ctx, a, a.switchPool(in.OfPool, in.DryRun, in.Body.token(), poolSwitch{
		act: "resume", title: "let nodes into pool %s again",
		do: func(ctx context.Context, key store.PoolKey) error { return a.Store.ResumePool(ctx, key) },
	}))
}

func (b *SwitchBody) token() PlanToken {
	if b == nil {
		return PlanToken{}
	}
	return b.PlanToken
}

func (b *SwitchBody) reason() string {
	if b == nil {
		return ""
	}
	return b.ReasonBody.reason()
}

// poolSwitch is something done to a whole pool.
type poolSwitch struct {
	act, title string
	do         func(context.Context, store.PoolKey) error
}

// switchPool makes what is done to a pool a thing that can be planned first. Its answer is the pool as it is then, or as it was before its removal.
func (a *API) switchPool(in OfPool, dry DryRun, token PlanToken, s poolSwitch) planned[PoolDetail] {
	return planned[PoolDetail]{
		order: order{in.InNamespace, dry, token}, act: []string{s.act, "pool", in.Pool},
		plan: func(ctx context.Context) (Plan, string, error) {
			d, err := a.poolDetail(ctx, in)
			if err != nil {
				return Plan{}, "", err
			}
			plan := Plan{Title: fmt.Sprintf(s.title, in.Pool), Warnings: []string{
				fmt.Sprintf("%d node runs hold slots of it and %d wait for it", d.Holding, d.Waiting)}}
			return plan, d.fingerprint(), nil
		},
		do: func(ctx context.Context, expect string) (PoolDetail, error) {
			d, err := a.poolDetail(ctx, in)
			if err != nil {
				return d, err
			}
			if expect != "" && expect != d.fingerprint() {
				return d, engine.ErrChanged
			}
			key, err := a.poolKey(ctx, in)
			if err != nil {
				return d, err
			}
			if err := s.do(ctx, key); err != nil || s.act == "delete" {
				return d, err
			}
			return a.poolDetail(ctx, in)
		},
	}
}

// fingerprint changes with the pool's limits and with whether it is paused, and not with those who come and go.
func (d *PoolDetail) fingerprint() string {
	return fmt.Sprintf("%s %t", d.UpdatedAt.Format(time.RFC3339Nano), d.Paused != nil)
}

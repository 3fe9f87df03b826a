package engine

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

const (
	// admitBatch is how many nodes of one line, and about how many in all, are let into their pools at once.
	admitBatch = 200
	// admitAgain is when one looks again where others were at work on the same pools or runs.
	admitAgain = 20 * time.Millisecond
)

// pools lets nodes that wait for their pools in as soon as there is room (S23, S24), gives back slots of bodies that had their grace, and
// refuses those that are too many to wait.
//
// Those who need the same pools and the same workers wait in one line: when its first cannot go, none of it can. So only the heads of the
// lines are compared, and however long the line of a full pool, a paused queue or a missing worker is, it hides nobody. Whoever is found to fit is
// let in by a transaction of its own that locks the runs, then the pools, and decides again on what it reads then.
func (k *keeper) pools(ctx context.Context) (time.Duration, error) {
	stopped, err := k.engine.store.FreeStopped(ctx)
	if err != nil {
		return 0, err
	}
	lines, err := k.engine.store.PoolLines(ctx)
	if err != nil {
		return 0, err
	}
	next := k.engine.timings.Look
	if stopped > 0 {
		next = min(next, stopped)
	}
	if len(lines) == 0 {
		return next, nil
	}
	again, err := k.engine.admit(ctx, lines)
	if err != nil || again == 0 {
		return 0, err
	}
	crowds, err := k.engine.store.CrowdedPools(ctx, lines, keepBatch)
	if err != nil {
		return 0, err
	}
	k.thin(ctx, "pool", codePoolFull, crowds)
	return min(next, again), nil
}

// admit lets in who fits, and says when to look again: 0 is at once.
func (e *Engine) admit(ctx context.Context, lines []store.PoolLine) (time.Duration, error) {
	a, err := e.survey(ctx, lines)
	if err != nil || a == nil {
		return e.timings.Look, err
	}
	if len(a.picked) == 0 {
		return a.until(e.timings.Look), nil
	}
	entered := 0
	err = e.store.InTx(ctx, func(tx pgx.Tx) (err error) {
		entered, err = e.enter(ctx, tx, a)
		return err
	})
	switch {
	case err != nil:
		return 0, err
	case entered == 0:
		return admitAgain, nil
	}
	return 0, nil
}

// admission is the heads of the lines that are open, and what was decided of them.
type admission struct {
	keys    []store.PoolKey
	shares  [][]store.PoolShare // of each line
	waiters []store.PoolWaiter
	// picked are the places of those who fit; later is when a rate lets the next one in, now the time of the decision.
	picked     []int
	now, later time.Time
}

// until is how long to sleep until the rates let the next one in, at most longest.
func (a *admission) until(longest time.Duration) time.Duration {
	if a.later.IsZero() {
		return longest
	}
	return min(max(a.later.Sub(a.now), time.Millisecond), longest)
}

// survey looks, without a lock, who of the lines that are open would fit; nil when no line is.
func (e *Engine) survey(ctx context.Context, lines []store.PoolLine) (*admission, error) {
	a := &admission{}
	known := e.lanes.now()
	seen := make(map[store.PoolKey]bool)
	var open []store.PoolLine
	for _, l := range lines {
		if !known.open[l.Lane] {
			continue
		}
		shares, err := l.Demand.Shares()
		if err != nil {
			return nil, err
		}
		open, a.shares = append(open, l), append(a.shares, shares)
		for _, s := range shares {
			if !seen[s.PoolKey] {
				seen[s.PoolKey] = true
				a.keys = append(a.keys, s.PoolKey)
			}
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	states, now, err := e.store.PoolStates(ctx, a.keys)
	if err != nil {
		return nil, err
	}
	most := make([]int, len(open))
	for i := range open {
		most[i] = headroom(a.shares[i], states)
	}
	if a.waiters, err = e.store.PoolHeads(ctx, open, most); err != nil {
		return nil, err
	}
	a.decide(states, now, nil)
	return a, nil
}

// headroom is about how many of a line could go at most; at least one, whose place in the order matters even if it cannot.
func headroom(shares []store.PoolShare, states []store.PoolState) int {
	n := admitBatch
	for _, s := range shares {
		for _, p := range states {
			if p.PoolKey == s.PoolKey && p.Slots > 0 {
				n = min(n, (p.Slots-p.Used)/s.Weight)
			}
		}
	}
	return max(n, 1)
}

// decide asks who fits, of those for whom goes is true; nil is everybody.
func (a *admission) decide(states []store.PoolState, now time.Time, goes func(store.Attempt) bool) {
	place := make(map[store.PoolKey]int, len(states))
	pools := make([]progress.Pool, len(states))
	for i, p := range states {
		place[p.PoolKey], pools[i] = i, p.Pool
	}
	var waiters []progress.Waiter
	var who []int
	for i, w := range a.waiters {
		if goes != nil && !goes(w.Attempt) {
			continue
		}
		waiter := progress.Waiter{Priority: w.Priority, Since: w.Since}
		for _, s := range a.shares[w.Line] {
			at, ok := place[s.PoolKey]
			if !ok {
				at = -1
			}
			waiter.Uses = append(waiter.Uses, progress.Use{Pool: at, Weight: s.Weight})
		}
		waiters, who = append(waiters, waiter), append(who, i)
	}
	admitted, later := progress.Admit(now, pools, waiters)
	a.picked, a.now, a.later = a.picked[:0], now, later
	for _, at := range admitted {
		a.picked = append(a.picked, who[at])
	}
	for i := range states {
		states[i].Pool = pools[i]
	}
}

// enter lets in those picked who still fit under the locks, and says how many.
func (e *Engine) enter(ctx context.Context, tx pgx.Tx, a *admission) (int, error) {
	picked := make([]store.PoolWaiter, len(a.picked))
	for i, at := range a.picked {
		picked[i] = a.waiters[at]
	}
	locked, err := e.store.LockAdmission(ctx, tx, picked, a.keys)
	if err != nil {
		return 0, err
	}
	a.waiters = picked
	a.decide(locked.Pools, locked.Now, func(w store.Attempt) bool { return locked.Waiting[w] })
	if len(a.picked) == 0 {
		return 0, nil
	}
	admitted := make([]store.Admitted, len(a.picked))
	for i, at := range a.picked {
		admitted[i] = store.Admitted{Attempt: picked[at].Attempt, Shares: a.shares[picked[at].Line]}
	}
	if err := e.store.Enter(ctx, tx, admitted, locked.Pools); err != nil {
		return 0, err
	}
	e.at(atAdmit)
	return len(admitted), nil
}

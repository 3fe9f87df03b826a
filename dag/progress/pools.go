package progress

import (
	"cmp"
	"slices"
	"time"
)

// Pool is what is known of a pool at one instant, under its lock (S23).
type Pool struct {
	// Slots is how many there are, Used the weight of those who hold some. Slots 0 is no limit.
	Slots, Used int
	Paused      bool
	// Rate bounds the starts; Next is when by its count the next one is due.
	Rate Rate
	Next time.Time
}

// Use is one pool that a waiter needs, by its place among the pools; a place that there is not stands for a pool that does not exist.
type Use struct{ Pool, Weight int }

// Waiter is a node whose rule holds and that waits for its pools.
type Waiter struct {
	Uses     []Use
	Priority int
	// Since is when it began to wait.
	Since time.Time
}

// lateness is how much later than the rate allows a start may come without the rate falling behind.
const lateness = 25 * time.Millisecond

// Admit decides who of the waiters gets its slots now, and returns their places in the order of S24: priority, then age, then as they
// stand. A waiter takes all its pools or none. Later is when the first of those whom only a rate holds back may go; zero when there is none.
// Pools are changed to what they are afterwards.
//
// A waiter whose weight does not fit, and that only this pool holds back, keeps the lighter ones behind it out of this pool: else it would
// never get its turn. Any other obstacle, such as another pool that is full, keeps nobody out of the pools it does not concern.
func Admit(now time.Time, pools []Pool, waiters []Waiter) (admitted []int, later time.Time) {
	a := admission{now: now, pools: pools, closed: make([]bool, len(pools))}
	order := make([]int, len(waiters))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(waiters[x].Priority, waiters[y].Priority), waiters[x].Since.Compare(waiters[y].Since))
	})
	for _, i := range order {
		if a.admit(waiters[i].Uses) {
			admitted = append(admitted, i)
		}
	}
	return admitted, a.later
}

type admission struct {
	now    time.Time
	pools  []Pool
	closed []bool
	later  time.Time
}

// admit takes all that a waiter needs, or nothing.
func (a *admission) admit(uses []Use) bool {
	full, early := -1, time.Time{}
	obstacles := 0
	for _, n := range uses {
		if n.Pool < 0 || n.Pool >= len(a.pools) || a.pools[n.Pool].Paused {
			return false
		}
		switch p := &a.pools[n.Pool]; {
		case a.closed[n.Pool] || p.Slots > 0 && p.Used+n.Weight > p.Slots:
			obstacles++
			full = n.Pool
			if n.Weight > p.Slots {
				return false // never, as the pool is now: nobody waits for that
			}
		case p.Rate.Count > 0 && p.Next.After(a.now):
			early = maxTime(early, p.Next)
		}
	}
	switch {
	case obstacles == 1 && early.IsZero():
		a.closed[full] = true
	case obstacles == 0 && !early.IsZero():
		if a.later.IsZero() || early.Before(a.later) {
			a.later = early
		}
	case obstacles == 0:
		a.take(uses)
		return true
	}
	return false
}

func (a *admission) take(uses []Use) {
	for _, n := range uses {
		p := &a.pools[n.Pool]
		p.Used += n.Weight
		if p.Rate.Count > 0 {
			p.Next = p.Rate.after(a.now, p.Next)
		}
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

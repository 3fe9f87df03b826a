package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// Reason is why something waits or did not happen: one stable set for API, console, command line and alerts.
type Reason string

// The reasons.
const (
	// QueuedMaxActive holds a run: as many runs of its workflow as may are running (S22).
	QueuedMaxActive Reason = "queued_max_active"
	// NoMatchingWorker holds a node: no live worker takes its handler on its queue.
	NoMatchingWorker Reason = "no_matching_worker"
	// RetryBackoff holds a node until its next attempt is due.
	RetryBackoff Reason = "retry_backoff"
	// PoolWait holds a node: a pool that it needs is full (S23).
	PoolWait Reason = "pool_wait"
	// RateLimited holds a node until the rate of its pool lets the next one start (S23).
	RateLimited Reason = "rate_limited"
	// PoolFull and QueueFull failed a node: too many waited already (M12). They are the codes of its error.
	PoolFull  Reason = "pool_full"
	QueueFull Reason = "queue_full"
	// AwaitingSignal holds a node that waits for a person.
	AwaitingSignal Reason = "awaiting_signal"
	// Paused holds a node whose queue or pool is paused or whose run is held, and a run that is held.
	Paused Reason = "paused"
	// UpstreamRunning holds a node whose rule is not decided: nodes it waits for have not ended (S14).
	UpstreamRunning Reason = "upstream_running"
	// NotYetDue holds a node until a time.
	NotYetDue Reason = "not_yet_due"
)

// BlockedBy says what something waits for (S25).
type BlockedBy struct {
	Reason  Reason     `json:"reason" enum:"queued_max_active,no_matching_worker,retry_backoff,pool_wait,rate_limited,awaiting_signal,paused,not_yet_due,upstream_running"`
	Message string     `json:"message" doc:"The reason in a sentence."`
	Since   *time.Time `json:"since,omitempty"`
	Until   *time.Time `json:"until,omitempty" doc:"When it ends by itself."`
	Runs    []string   `json:"runs,omitempty" nullable:"false" doc:"The runs that hold what it waits for, the first ten."`
	Pools   []string   `json:"pools,omitempty" nullable:"false" doc:"The pools that it waits for."`
	Holders []string   `json:"holders,omitempty" nullable:"false" doc:"The node runs (execution ids) that hold the slots it waits for, the first ten of each pool."`
	Nodes   []string   `json:"nodes,omitempty" nullable:"false" doc:"The nodes that it waits for, the first ten."`
}

// reasonOfHold is the reason for a kind of held row.
func reasonOfHold(kind string) Reason {
	switch kind {
	case "worker":
		return NoMatchingWorker
	case "due":
		return RetryBackoff
	case "pool":
		return PoolWait
	case "approval":
		return AwaitingSignal
	case "queue", "hold":
		return Paused
	}
	return NotYetDue
}

// blockedNode says what a held node waits for; nil for one that is not held back. Of several things it is the one that ends last, as far as
// can be known: a held run, a paused queue, a missing worker, then the pools.
func blockedNode(n *store.LiveNode) *BlockedBy {
	if n.Held == "" || n.Held == "remote" || n.Held == "child" {
		return nil
	}
	b := &BlockedBy{Reason: reasonOfHold(n.Held), Since: &n.Since, Until: n.DueAt}
	queued := n.Held == "worker" || n.Held == "queue" || n.Held == "pool"
	switch {
	case b.Reason == AwaitingSignal:
		b.Message = "it waits for a person"
	case b.Reason == RetryBackoff:
		b.Message = fmt.Sprintf("attempt %d is due later", n.Attempt.Number)
	case n.Held == "hold" || queued && n.RunHeld:
		b.Reason, b.Message = Paused, "its run is held, until it is released or canceled"
	case queued && n.QueuePaused:
		b.Reason, b.Message = Paused, fmt.Sprintf("queue %s is paused", n.Queue)
	case queued && !n.Served:
		b.Reason, b.Message = NoMatchingWorker, fmt.Sprintf("no live worker takes %s on queue %s", work(n.Kind), n.Queue)
		if n.Routed {
			b.Message += ", has its labels and is on its route"
		}
	case n.Held == "pool":
		b.pools(n.Pools)
	case queued:
		b.Message = "a worker takes it next"
	default:
		b.Message = "it is not due yet"
	}
	return b
}

// pools says which pool stands in the way: one that lets nobody in before one that is full, and that before one whose rate is used up.
func (b *BlockedBy) pools(pools []store.PoolAhead) {
	b.Message = "its pools have room; it starts next"
	var worst obstacle
	for _, p := range pools {
		b.Pools = append(b.Pools, p.Share.Name)
		o := inTheWay(&p)
		if o.rank == full {
			for _, h := range p.Holders {
				b.Holders = append(b.Holders, h.ExecutionID())
			}
		}
		if o.rank > worst.rank {
			worst, b.Reason, b.Message = o, o.reason, o.message
			if b.Until = nil; o.rank == early {
				b.Until = utcOr(&p.State.Next)
			}
		}
	}
}

// obstacle is what keeps a node out of a pool; the zero value is nothing.
type obstacle struct {
	rank    int
	reason  Reason
	message string
}

// The ranks of obstacles, the lesser first.
const (
	early = iota + 1
	full
	closed
)

// inTheWay says what keeps a node out of a pool.
func inTheWay(p *store.PoolAhead) obstacle {
	switch s := &p.State; {
	case !p.Exists:
		return obstacle{closed, PoolWait, fmt.Sprintf("there is no pool %s", p.Share.Name)}
	case s.Paused:
		return obstacle{closed, Paused, fmt.Sprintf("pool %s is paused", p.Share.Name)}
	case s.Slots > 0 && p.Share.Weight > s.Slots:
		return obstacle{closed, PoolWait, fmt.Sprintf("it takes %d slots of pool %s, which has %d", p.Share.Weight, p.Share.Name, s.Slots)}
	case s.Slots > 0 && s.Used+p.Share.Weight > s.Slots:
		return obstacle{full, PoolWait, fmt.Sprintf("%d of %d slots of pool %s are taken, and it takes %d", s.Used, s.Slots, p.Share.Name, p.Share.Weight)}
	case s.Rate.Count > 0 && s.Next.After(p.Now):
		return obstacle{early, RateLimited, fmt.Sprintf("pool %s starts %s", p.Share.Name, s.Rate)}
	}
	return obstacle{}
}

// work names a kind of job as people know it.
func work(kind string) string {
	if handler, ok := strings.CutPrefix(kind, "go:"); ok {
		return "handler " + handler
	}
	return kind + " nodes"
}

// blockedRun says why a run is queued.
func blockedRun(r store.RunRow, maxRuns int, holders []store.RunID) *BlockedBy {
	b := &BlockedBy{
		Reason: QueuedMaxActive, Since: &r.CreatedAt,
		Message: fmt.Sprintf("%s may run %d at a time, and runs already", r.Workflow, maxRuns),
	}
	for _, id := range holders {
		b.Runs = append(b.Runs, id.String())
	}
	if len(holders) == 0 {
		b.Message = fmt.Sprintf("%s has a free place; the run starts next", r.Workflow)
	}
	return b
}

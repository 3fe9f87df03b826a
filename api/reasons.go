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
	// PoolWait holds a node: its pools are full.
	PoolWait Reason = "pool_wait"
	// AwaitingSignal holds a node that waits for a person.
	AwaitingSignal Reason = "awaiting_signal"
	// Paused holds a node whose queue is paused, or a run that is held.
	Paused Reason = "paused"
	// NotYetDue holds a node until a time.
	NotYetDue Reason = "not_yet_due"
)

// BlockedBy says what something waits for (S25).
type BlockedBy struct {
	Reason  Reason     `json:"reason" enum:"queued_max_active,no_matching_worker,retry_backoff,pool_wait,awaiting_signal,paused,not_yet_due"`
	Message string     `json:"message" doc:"The reason in a sentence."`
	Since   *time.Time `json:"since,omitempty"`
	Until   *time.Time `json:"until,omitempty" doc:"When it ends by itself."`
	Runs    []string   `json:"runs,omitempty" nullable:"false" doc:"The runs that hold what it waits for, the first ten."`
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

// blockedNode says what a held node waits for; nil for one that is not held back.
func blockedNode(n *store.LiveNode) *BlockedBy {
	if n.Held == "" || n.Held == "remote" || n.Held == "child" {
		return nil
	}
	b := &BlockedBy{Reason: reasonOfHold(n.Held), Since: &n.Since, Until: n.DueAt}
	switch b.Reason {
	case NoMatchingWorker:
		b.Message = fmt.Sprintf("no live worker takes %s on queue %s", work(n.Kind), n.Queue)
	case RetryBackoff:
		b.Message = fmt.Sprintf("attempt %d is due later", n.Attempt.Number)
	case PoolWait:
		b.Message = "its pools are full"
	case AwaitingSignal:
		b.Message = "it waits for a person"
	case Paused:
		b.Message = "its queue or its run is paused"
	case NotYetDue:
		b.Message = "it is not due yet"
	}
	return b
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

package progress

import (
	"slices"
	"time"

	"github.com/ax-run/ax/dag"
)

// Snapshot is everything Advance may know of a run: its own facts and those of its nodes'
// newest generations, at one instant, under the run's lock.
type Snapshot struct {
	// Now is the database's clock (S37).
	Now time.Time
	// Seed spreads jitter; the run id serves.
	Seed int64
	Run  Run
	// Eval answers what expressions say. Nil for a graph without any.
	Eval Evaluator
	// Nodes stand in the graph's topological order.
	Nodes []Node
}

// Clone is a copy that shares nothing that Advance changes.
func (s *Snapshot) Clone() Snapshot {
	out := *s
	out.Nodes = slices.Clone(s.Nodes)
	for i := range out.Nodes {
		out.Nodes[i].Shards = slices.Clone(out.Nodes[i].Shards)
	}
	return out
}

// Run is a run's own facts.
type Run struct {
	State State
	// Canceling is set from an accepted cancel on, TimedOut from the run's deadline on.
	Canceling, TimedOut bool
	// Limited means that the run waits for its turn among those of its workflow, when it is reopened too (S22).
	Limited bool
	// Displaced is set when a newer run takes the place of a queued one (S22).
	Displaced bool
}

// Node is the facts of one node's newest generation.
type Node struct {
	State      State
	Tolerated  bool
	Generation int
	// Attempt is the number of the newest attempt, 0 before the first.
	Attempt int
	// Failures and Lost count attempts that ended badly: Failures by their own fault, Lost with their worker (S16).
	Failures, Lost int
	// Reason is why the node ended, "" while it has not.
	Reason Reason
	// Taken are the children that a branch chose, by position, when Reason is ReasonBranch; a branch that ended otherwise, as by a mark,
	// has taken all of its edges.
	Taken []int
	// Shards are the facts of a split node's shards once it has expanded; the node itself is Running until they end.
	Shards []Node
}

// Whole is the shard number of a node that is not one of a node's shards.
const Whole = -1

// Evaluator answers what the expressions of a graph say, given the outputs of the run so far. An error is the node's failure,
// never a condition that does not hold (S15).
type Evaluator interface {
	// When tells whether the condition of node i holds.
	When(i int) (bool, *Error)
	// Branch tells which children the branch i takes.
	Branch(i int) ([]int, *Error)
	// Expand tells into how many shards node i splits, and freezes them (S21).
	Expand(i int) (int, *Error)
	// Until tells whether there is an instant that node i waits for.
	Until(i int) *Error
}

// Fresh is the snapshot of a run that has just begun: every node pending in generation 1.
func Fresh(g *dag.Graph, now time.Time, seed int64) Snapshot {
	s := Snapshot{Now: now, Seed: seed, Run: Run{State: Running}, Nodes: make([]Node, g.Len())}
	for i := range s.Nodes {
		s.Nodes[i] = Node{State: Pending, Generation: 1}
	}
	return s
}

// Class says who is at fault for a failed attempt (S16).
type Class string

// The classes. Permanent errors are final at once; the others may be retried. A timeout
// is the attempt's own; lost means its worker died; handed back that it stopped in order, which counts against nothing (S28).
const (
	Permanent  Class = "permanent"
	System     Class = "system"
	Timeout    Class = "timeout"
	Lost       Class = "lost"
	HandedBack Class = "handed_back"
)

// Error is why an attempt failed.
type Error struct {
	Class   Class
	Code    string
	Message string
	// RetryAfter is the server's wish for the next attempt's delay; 0 leaves it to the policy.
	RetryAfter time.Duration
}

// Event is something that happened to a run: exactly one field is set.
type Event struct {
	Result *Result
	Cancel *Cancel
	// Deadline says that the run's timeout has passed.
	Deadline bool
	// Displaced says that a newer run takes the place of this one, which has not started (S22).
	Displaced bool
	Rerun     *Rerun
	Mark      *Mark
}

// Result is how the current attempt of a node ended: with Err nil it succeeded, or with Skipped the body said so.
type Result struct {
	Node    int
	Shard   int
	Err     *Error
	Skipped bool
	// Note is what the body said beside it.
	Note string
}

// Cancel is an accepted cancel.
type Cancel struct{ Actor, Reason string }

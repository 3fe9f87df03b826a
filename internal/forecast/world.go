// Package forecast foretells what workflows will do: it lets the fires of a stretch of time run against pools and queues over a virtual
// clock, with the durations that nodes had before.
//
// Simulate is a pure function over a World: events in order of time, from the first fire until the last run has ended. Every run is taken to go
// well: each node runs once, for as long as it usually takes. What it says is where load piles up and when runs can be expected to end, not what
// will fail.
package forecast

import (
	"math"
	"time"
)

// Unlimited is the capacity of what has no limit.
const Unlimited = math.MaxInt

// World is what there is, and what will be started in it.
type World struct {
	Workflows []Workflow
	// Resources are pools and queues: whatever nodes take a share of while they run.
	Resources []Resource
	Fires     []Fire
	// From and Until bound what is told of. Fires before From are simulated too, so that the stretch does not begin with an empty house; at and
	// after Until nothing new starts, and what runs is followed to its end.
	From, Until time.Time
	// MaxSteps bounds how many nodes are simulated, copies counted apart, and a run that comes to nothing as one; beyond it the Result is Full.
	MaxSteps int
	// Points is into how many equal parts the stretch is divided to tell of load.
	Points int
}

// Workflow is a graph of nodes and how its runs get in each other's way (S22).
type Workflow struct {
	Name string
	// Nodes are in topological order: parents before children.
	Nodes []Node
	// MaxRuns 0 is no limit; MaxQueued is how many may wait for their turn.
	MaxRuns, MaxQueued int
	Overflow           Overflow
	// Deadline says until when the run of an instant must have ended; nil, or a zero answer, is at any time.
	Deadline func(scheduled time.Time) time.Time
	// Timeout is how long a run may take from its start; 0 is for ever.
	Timeout time.Duration
	// Upstream starts a run when others have completed (S12).
	Upstream *Upstream
}

// Overflow is what becomes of a run that may not start yet.
type Overflow int

// The policies of S22.
const (
	Queue Overflow = iota
	QueueLatest
	Skip
	CancelRunning
)

// Node is a step of a workflow.
type Node struct {
	Name string
	// Needs are the places of its parents.
	Needs []int
	// Typical is how long it takes in half of the cases at most, Slow in nineteen of twenty.
	Typical, Slow time.Duration
	// Copies is into how many shards it is split; 0 is not at all.
	Copies int
	Uses   []Use
	// Priority 1 goes first.
	Priority int
	// Patience is how long it may wait for what it uses (queue_timeout); 0 is for ever.
	Patience time.Duration
}

// Use is a share of a resource, which a node holds while it runs.
type Use struct{ Resource, Weight int }

// Kind tells pools from queues.
type Kind string

// The kinds.
const (
	PoolKind  Kind = "pool"
	QueueKind Kind = "queue"
)

// Resource is a pool or a queue.
type Resource struct {
	Kind Kind
	Name string
	// Capacity is the weight that may be in use at once: Unlimited, or 0 for one that is paused or that nobody serves.
	Capacity int
	// Every is the least time between two starts, of which Burst may come at once; 0 is no rate.
	Every time.Duration
	Burst int
}

// Upstream are the workflows for whose completion a workflow waits.
type Upstream struct {
	// Terms are their places. Any is satisfied by each of them, otherwise all are needed.
	Terms []int
	Any   bool
	Match Match
}

// Match says which completions belong together.
type Match int

// The matches of S12.
const (
	ByDate Match = iota
	ByInstant
	Latest // all of them: each completion counts once all are present
)

// Fire is a run that will be started.
type Fire struct {
	// Workflow is its place in the World.
	Workflow int
	// Schedule names what starts it, "" for a run asked for in advance.
	Schedule string
	// At is when it starts, Scheduled the instant it is for (S11).
	At, Scheduled time.Time
	// Date is the run's logical date.
	Date string
	// Delay, for a schedule of a fixed delay, is how long after the end of the run the next one starts.
	Delay time.Duration
}

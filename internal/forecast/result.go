package forecast

import "time"

// Result is what is foretold for the stretch between From and Until.
type Result struct {
	// Runs are those that start or would start in the stretch, in order of their fires.
	Runs []Run
	// Loads has one entry for each resource.
	Loads []Load
	// Collisions are the times at which work waits, in order.
	Collisions []Collision
	// Misses are the runs that end after their deadline, or take too long, in order.
	Misses []Miss
	// Full says that there were more runs than are simulated, so that the rest is worth little.
	Full bool
}

// Outcome is how a run fares.
type Outcome string

// The outcomes.
const (
	Ends     Outcome = "ends"
	Skipped  Outcome = "skipped"  // too many of its workflow were there already
	Replaced Outcome = "replaced" // a newer one took its place in the queue
	Canceled Outcome = "canceled" // a newer one took its place while it ran
	Stuck    Outcome = "stuck"    // some node asks for more than there will ever be
)

// Run is a run that is foretold.
type Run struct {
	Workflow  int
	Schedule  string
	Scheduled time.Time
	// Fired is when it is created, Started when its workflow's limit lets it start, Finished when it ends; zero where it does not come to that.
	Fired, Started, Finished time.Time
	// Late is when it ends if everything takes as long as it does in nineteen of twenty cases.
	Late    time.Time
	Outcome Outcome
	// Waited is how long its nodes waited for pools and workers, all together.
	Waited time.Duration
}

// Load is how much of a resource is in use over time.
type Load struct {
	Points []Point
	// Busy is the weight in use, summed over the time; Peak the most at once; Waited how long nodes waited for it, all together.
	Busy   time.Duration
	Peak   int
	Waited time.Duration
}

// Point is one part of the stretch.
type Point struct {
	At time.Time
	// Mean and Peak are the weight in use, Waiting the most nodes that waited for it at once.
	Mean          float64
	Peak, Waiting int
}

// Collision is a time during which nodes wait for a resource, or runs of a workflow for each other.
type Collision struct {
	// Resource or Workflow is its place; the other is -1.
	Resource, Workflow int
	From, To           time.Time
	// Most is how many wait at once.
	Most int
	// Workflows are some of those that wait.
	Workflows []int
}

// MissKind says what is missed.
type MissKind string

// The kinds.
const (
	MissDeadline     MissKind = "deadline"
	MissTimeout      MissKind = "timeout"
	MissQueueTimeout MissKind = "queue_timeout"
)

// Miss is a run that will be too late.
type Miss struct {
	Kind MissKind
	// Run is its place among the Runs.
	Run int
	// Due is until when it should have ended, or the node started.
	Due time.Time
	// Possible means that it is late only if everything is as slow as in one of twenty cases.
	Possible bool
}

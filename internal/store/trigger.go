package store

import (
	"time"

	"github.com/ax-run/ax/dag/progress"
)

// Trigger asks for a run: by a schedule, a person, or anything else that may start one. The engine's Launch carries it out.
type Trigger struct {
	// Version is the stored version the run will be pinned to (S1).
	Version int64
	// Named says that somebody named the version: it need not be the one whose limits hold.
	Named bool
	// Kind is what caused it: schedule, manual, api …; Actor is who.
	Kind, Actor string
	// Priority makes the run less urgent than its workflow's own; 0 leaves that.
	Priority int
	// Yields makes the run give way to all others of its workflow: it is less urgent than they are, and it is refused where it could not
	// start at once, so that it takes no place in the queue and none of another run (S32).
	Yields bool
	// Schedule is 0 unless a schedule fired.
	Schedule int64
	// ScheduledAt is the logical time; LogicalDate its date in the schedule's zone, yyyy-mm-dd (S11).
	ScheduledAt         time.Time
	PreviousScheduledAt *time.Time
	LogicalDate         string
	// Params are the values given, a JSON object; the definition's defaults fill the rest.
	Params []byte
	// Test makes it a test run of some nodes; nil is a run of all.
	Test *Test
	// Parent is the attempt (as job arguments) that waits for the run, or ""; Depth is how many parents the run has.
	Parent string
	Depth  int
}

// Test is what a test run is about: only the nodes named run. The others count as succeeded, with the outputs given, else with those of
// the workflow's newest success.
type Test struct {
	Nodes   []string
	Outputs map[string][]byte
}

// Repeat asks for a run that repeats an ended one (S32).
type Repeat struct {
	Run RunID
	// Version is the stored version that the new run has; what it changed runs again too.
	Version int64
	// Whole runs every node again; else what ended well is taken over with its output.
	Whole bool
	// Params are values that the run has instead of those of the old one, a JSON object.
	Params      []byte
	Kind, Actor string
	Priority    int
}

// Launched is what became of a Trigger: Run in State running or queued, or no run and why.
type Launched struct {
	Run   RunID
	State progress.State
	// Refused is why there is no run: "overlap" when too many wait already (S22); "" when there is one.
	Refused string
	// Key is the value by which the run counts against its workflow's limit, "" for none.
	Key string
	// Err is why the run could not be created, such as a parameter of the wrong type.
	Err error
}

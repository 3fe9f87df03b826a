package progress

import "time"

// Step is one change that Advance asks for: exactly one field is set. Steps are applied in
// order and in one transaction (S19).
type Step struct {
	Start  *Start
	End    *End
	Expand *Expand
	Reset  *Reset
	Reopen *Reopen
	Run    *RunEnd
}

// Expand freezes the shards of a node's generation; the starts of the shards follow. Keep takes over those of the generation
// before.
type Expand struct {
	Node, Generation, Total int
	Keep                    bool
}

// Reset begins a new generation of a node, which is pending again, or with Shard not Whole of one of its shards. The old one has
// ended (I2).
type Reset struct {
	Node, Shard int
	// Generation is the new one.
	Generation int
	Reason     Reason
}

// Reopen makes an ended run go on: its own generation rises, its clock and its cancel begin anew (S2).
type Reopen struct{}

// Start makes an attempt of a node due: at once, or After a delay.
type Start struct {
	Node       int
	Shard      int
	Generation int
	Attempt    int
	After      time.Duration
	Reason     Reason
}

// End writes the row that ends an attempt, or ends a node that never started.
type End struct {
	Node       int
	Shard      int
	Generation int
	Attempt    int
	// State is the node's state from here on: Retrying or Queued when another attempt follows.
	State State
	// Reported means that this row is the event's own result; its times, output and error come with it.
	Reported  bool
	Tolerated bool
	// Live means that something queued, held or running must be removed with it.
	Live   bool
	Reason Reason
	// Note is what the body or a person said beside it.
	Note string
	// Taken are the children a branch took, by position.
	Taken []int
	Err   *Error
}

// RunEnd ends the run.
type RunEnd struct {
	State    State
	Warnings int
	Reason   Reason
}

// Reason is why a step happens, from one stable set.
type Reason string

// The reasons.
const (
	ReasonRule         Reason = "rule"
	ReasonRetry        Reason = "retry"
	ReasonReroute      Reason = "reroute"
	ReasonFinally      Reason = "finally"
	ReasonResult       Reason = "result"
	ReasonUpstream     Reason = "upstream"
	ReasonCanceled     Reason = "canceled"
	ReasonRunTimeout   Reason = "run_timeout"
	ReasonAborted      Reason = "aborted"
	ReasonMayHaveRun   Reason = "may_have_run"
	ReasonCondition    Reason = "condition"
	ReasonBranch       Reason = "branch"
	ReasonEmpty        Reason = "empty"
	ReasonShards       Reason = "shards"
	ReasonFailFast     Reason = "fail_fast"
	ReasonRerun        Reason = "rerun"
	ReasonMarked       Reason = "marked"
	ReasonOverlap      Reason = "overlap"
	ReasonTest         Reason = "test"
	ReasonAllSucceeded Reason = "all_succeeded"
	ReasonNodeFailed   Reason = "node_failed"
)

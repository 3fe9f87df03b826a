// Package progress holds the rules of a run: given a graph, what its nodes are and what
// just happened, what changes next. Everything here is pure; time is an argument.
package progress

// State is what a node run or a run is (S2). The values are the stored text.
type State string

// The states. A run uses queued, running, succeeded, failed, canceled and skipped; a node run all of them.
const (
	Pending        State = "pending"
	Waiting        State = "waiting"
	Queued         State = "queued"
	Running        State = "running"
	Retrying       State = "retrying"
	Succeeded      State = "succeeded"
	Failed         State = "failed"
	Skipped        State = "skipped"
	UpstreamFailed State = "upstream_failed"
	Canceled       State = "canceled"
)

// Terminal reports whether the state never changes except by a rerun or mark.
func (s State) Terminal() bool {
	switch s {
	case Succeeded, Failed, Skipped, UpstreamFailed, Canceled:
		return true
	}
	return false
}

// Live reports whether the node has something queued, running or held for it.
func (s State) Live() bool {
	switch s {
	case Waiting, Queued, Running, Retrying:
		return true
	}
	return false
}

// Transition is one edge of the state diagram and what causes it.
type Transition struct {
	From, To State
	Cause    string
}

// NodeTransitions is every change a node run can make within one generation. Nothing else is a change:
// a terminal state is left only by a rerun or mark, which begins a new generation (I1).
var NodeTransitions = []Transition{
	{Pending, Queued, "its rule holds"},
	{Pending, Waiting, "its rule holds, but something holds it back"},
	{Pending, Running, "it was split into shards, or a child run began"},
	{Pending, Succeeded, "a branch chose, or a person marked it"},
	{Pending, Failed, "its expression could not be evaluated, or a person marked it"},
	{Pending, Skipped, "its rule cannot hold any more and not because of a failure, its condition does not hold, its run was displaced, or a person marked it"},
	{Pending, UpstreamFailed, "its rule cannot hold any more because of a failure or cancel above it"},
	{Pending, Canceled, "the run was canceled, aborted or timed out"},
	{Waiting, Queued, "released"},
	{Waiting, Succeeded, "its wait is over, or a person approved"},
	{Waiting, Failed, "it waited longer than queue_timeout, too many waited already, or a person refused"},
	{Waiting, Canceled, "the run was canceled, aborted or timed out, or the node was begun anew"},
	{Queued, Running, "a worker took it"},
	{Queued, Waiting, "no live worker is left for it, its queue was paused, or its run was held"},
	{Queued, Failed, "it waited longer than queue_timeout, or too many waited already"},
	{Queued, Canceled, "the run was canceled, aborted or timed out, or the node was begun anew"},
	{Running, Succeeded, "the attempt succeeded"},
	{Running, Skipped, "the body said so"},
	{Running, Retrying, "the attempt failed and will be repeated later"},
	{Running, Queued, "the attempt failed or was lost and is repeated at once"},
	{Running, Waiting, "the attempt is repeated at once, and something holds it back"},
	{Running, Failed, "the last attempt failed"},
	{Running, Canceled, "the run was canceled, aborted or timed out, or the node was begun anew"},
	{Retrying, Queued, "the delay is over"},
	{Retrying, Waiting, "the delay is over, but something holds it back"},
	{Retrying, Canceled, "the run was canceled, aborted or timed out, or the node was begun anew"},
}

// RunTransitions is every change a run can make within one generation.
var RunTransitions = []Transition{
	{Queued, Running, "a place among max_runs is free"},
	{Queued, Skipped, "displaced before it started"},
	{Queued, Canceled, "canceled before it started"},
	{Queued, Succeeded, "all nodes ended by marks, no failure untolerated"},
	{Queued, Failed, "all nodes ended by marks, a failure untolerated"},
	{Running, Succeeded, "all nodes ended, no failure untolerated"},
	{Running, Failed, "all nodes ended, a failure untolerated or the run timed out"},
	{Running, Canceled, "all nodes ended after a cancel"},
}

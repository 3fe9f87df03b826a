package api

// The reasons that an answer to "why" gives for its steps, beside those for which something waits: those of the schedule.
const (
	// Planned is a time at which the schedule fires.
	Planned Reason = "planned"
	// NotPlanned is a time at which nothing fires.
	NotPlanned Reason = "not_planned"
	// OutsideWindow is a time before the schedule's start or after its end.
	OutsideWindow Reason = "outside_window"
	// RegisteredAfter is a time before the schedule was registered, ChangedAfter one that it has by another spec than that of then.
	RegisteredAfter Reason = "registered_after"
	ChangedAfter    Reason = "changed_after"
	// CalendarExcluded is a date on which the schedule does not fire.
	CalendarExcluded Reason = "calendar_excluded"
	// DSTGap is a time that the clocks skipped, DSTFold one that they showed twice (S7).
	DSTGap  Reason = "dst_gap"
	DSTFold Reason = "dst_fold"
	// InvalidSchedule is a stored spec that cannot be read.
	InvalidSchedule Reason = "definition_invalid"
	// DelayPending is a fixed delay whose next instant is not known or not come.
	DelayPending Reason = "delay_pending"
	// UpstreamNotMet, UpstreamExpired and UpstreamMet say how far a workflow is that waits for others (S12).
	UpstreamNotMet  Reason = "upstream_not_met"
	UpstreamExpired Reason = "upstream_expired"
	UpstreamMet     Reason = "upstream_met"
	// Triggered is a run that somebody, or another run, asked for.
	Triggered Reason = "triggered"
)

// The reasons of a fire (S9, S10).
const (
	// WasFired became a run in time, FiredLate after a time in which no server planned, MadeUp by resuming or a backfill.
	WasFired  Reason = "fired"
	FiredLate Reason = "fired_late"
	MadeUp    Reason = "made_up"
	// MissedNoServer is overdue, and no server has decided it.
	MissedNoServer Reason = "missed_no_server"
	// CoalescedInto is represented by the run of a later one.
	CoalescedInto Reason = "coalesced_into"
	// SkippedPaused and the others are those of the ledger.
	SkippedPaused   Reason = "skipped_paused"
	SkippedOverlap  Reason = "skipped_overlap"
	SkippedCatchup  Reason = "skipped_catchup"
	SkippedLate     Reason = "skipped_late"
	SkippedCalendar Reason = "skipped_calendar"
	SkippedEdited   Reason = "skipped_edited"
	// FireError could not become a run.
	FireError Reason = "fire_error"
	// NoRecord is what nothing is kept of.
	NoRecord Reason = "no_record"
)

// The reasons of runs and nodes.
const (
	// RunSucceeded is a run or node that succeeded; WithWarnings a run in which a failure was tolerated.
	RunSucceeded Reason = "succeeded"
	WithWarnings Reason = "succeeded_with_warnings"
	// NowRunning goes on.
	NowRunning Reason = "running"
	// WasCanceled, TimedOut and FailedNode ended a run; the first two a node, too.
	WasCanceled Reason = "canceled"
	TimedOut    Reason = "timed_out"
	FailedNode  Reason = "failed_node"
	// NodeFailed failed with an error of its own; ExpiredWaiting waited longer than its queue_timeout (S17).
	NodeFailed     Reason = "failed"
	ExpiredWaiting Reason = "queue_timeout"
	// FailedAbove did not run because of a failure before it; the others were skipped, or stopped with the run (S14–S16).
	FailedAbove     Reason = "upstream_failed"
	ConditionFalse  Reason = "condition_false"
	BranchNotTaken  Reason = "branch_not_taken"
	AbortedByPolicy Reason = "aborted_by_policy"
	SkippedByRule   Reason = "skipped_by_rule"
	// ShardsPartial is a split node of which too few shards succeeded (S21).
	ShardsPartial Reason = "shards_partial"
)

// The reasons of workers and logs.
const (
	// AllSaturated holds a node: no worker has had room for it.
	AllSaturated Reason = "all_saturated"
	// HandlerNotRegistered: workers take the queue, and none has the handler. HeartbeatLost: the worker that had it was not heard any more.
	HandlerNotRegistered Reason = "handler_not_registered"
	HeartbeatLost        Reason = "heartbeat_lost"
	// WorkerFine is a worker that took the node.
	WorkerFine Reason = "ok"
	// FirstError is a line of a log that says what went wrong; NoOutput is an empty log.
	FirstError Reason = "first_error"
	NoOutput   Reason = "no_output"
)

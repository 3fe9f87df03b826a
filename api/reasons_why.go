package api

// The reasons that an answer to "why" gives for its steps, beside those for which something waits. Each step has its own; what is in order
// has one too.
const (
	// Of the schedule.
	Planned          Reason = "planned"
	NotPlanned       Reason = "not_planned"
	OutsideWindow    Reason = "outside_window"
	RegisteredAfter  Reason = "registered_after"
	ChangedAfter     Reason = "changed_after"
	CalendarExcluded Reason = "calendar_excluded"
	DSTGap           Reason = "dst_gap"
	DSTFold          Reason = "dst_fold"
	InvalidSchedule  Reason = "definition_invalid"
	DelayPending     Reason = "delay_pending"
	UpstreamNotMet   Reason = "upstream_not_met"
	UpstreamExpired  Reason = "upstream_expired"
	UpstreamMet      Reason = "upstream_met"
	// Triggered is a run that somebody, or another run, asked for.
	Triggered Reason = "triggered"

	// Of the fire.
	WasFired        Reason = "fired"
	FiredLate       Reason = "fired_late"
	MadeUp          Reason = "made_up"
	MissedNoServer  Reason = "missed_no_server"
	CoalescedInto   Reason = "coalesced_into"
	SkippedPaused   Reason = "skipped_paused"
	SkippedOverlap  Reason = "skipped_overlap"
	SkippedCatchup  Reason = "skipped_catchup"
	SkippedLate     Reason = "skipped_late"
	SkippedCalendar Reason = "skipped_calendar"
	SkippedEdited   Reason = "skipped_edited"
	FireError       Reason = "fire_error"
	NoRecord        Reason = "no_record"

	// Of runs and nodes.
	RunSucceeded    Reason = "succeeded"
	WithWarnings    Reason = "succeeded_with_warnings"
	NowRunning      Reason = "running"
	WasCanceled     Reason = "canceled"
	TimedOut        Reason = "timed_out"
	FailedNode      Reason = "failed_node"
	NodeFailed      Reason = "failed"
	ExpiredWaiting  Reason = "queue_timeout"
	FailedAbove     Reason = "upstream_failed"
	ConditionFalse  Reason = "condition_false"
	BranchNotTaken  Reason = "branch_not_taken"
	AbortedByPolicy Reason = "aborted_by_policy"
	SkippedByRule   Reason = "skipped_by_rule"
	ShardsPartial   Reason = "shards_partial"

	// Of workers and logs.
	AllSaturated         Reason = "all_saturated"
	HandlerNotRegistered Reason = "handler_not_registered"
	HeartbeatLost        Reason = "heartbeat_lost"
	WorkerFine           Reason = "ok"
	FirstError           Reason = "first_error"
	NoOutput             Reason = "no_output"
)

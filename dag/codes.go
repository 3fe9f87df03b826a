package dag

// The codes of problems.
const (
	// CodeUnparsable and CodeTooLarge say that the document could not be read.
	CodeUnparsable = "unparsable"
	CodeTooLarge   = "too_large"

	CodeUnknownKey    = "unknown_key"
	CodeDuplicateKey  = "duplicate_key"
	CodeWrongType     = "wrong_type"
	CodeMissing       = "missing"
	CodeConflict      = "conflict"
	CodeInvalidText   = "invalid_text"
	CodeInvalidName   = "invalid_name"
	CodeInvalidChoice = "invalid_choice"
	CodeOutOfRange    = "out_of_range"

	CodeInvalidDuration   = "invalid_duration"
	CodeInvalidTime       = "invalid_time"
	CodeInvalidCron       = "invalid_cron"
	CodeInvalidZone       = "invalid_zone"
	CodeInvalidURL        = "invalid_url"
	CodeInvalidExpression = "invalid_expression"

	CodeDuplicateName = "duplicate_name"
	CodeUnknownNode   = "unknown_node"
	CodeUnknownParam  = "unknown_param"
	CodeUnknownPool   = "unknown_pool"
	// CodeUnknownCalendar and CodeUnknownWorkflow are found when a definition is registered.
	CodeUnknownCalendar = "unknown_calendar"
	CodeUnknownWorkflow = "unknown_workflow"
	CodeSelfDependency  = "self_dependency"
	CodeNotAncestor     = "not_ancestor"
	CodeNotChild        = "not_child"
	CodeCycle           = "cycle"
	CodeFinally         = "finally"
	CodeNeverFires      = "never_fires"
	CodeNeverRuns       = "never_runs"
	CodeJoinOfBranch    = "join_of_branch"
	CodeTooManyNodes    = "too_many_nodes"

	// CodeTooManyProblems closes a list that was cut short.
	CodeTooManyProblems = "too_many_problems"
)

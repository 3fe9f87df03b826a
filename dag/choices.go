package dag

// choices are the words that a key may have, by type and key. Both the checks and the JSON Schema go by them.
var choices = map[string][]string{
	"Param.type": {"string", "integer", "number", "boolean", "object", "array"},

	"Schedule.dialect":     {"unix", "quartz"},
	"Schedule.dst":         {string(DSTStandard), string(DSTQuartz)},
	"Schedule.dst_gap":     {"next", "skip"},
	"Schedule.dst_overlap": {"first", "second", "both"},
	"Schedule.catchup":     {string(CatchupLatest), string(CatchupAll), string(CatchupNone)},
	"CalendarUse.mode":     {"include", "exclude"},

	"Term.on":    {"success", "failure", "done"},
	"Term.match": {"scheduled_at", "logical_date", "latest"},
	"Term.take":  {"last", "first", "each"},

	"Concurrency.overflow": {
		string(OverflowQueue), string(OverflowQueueLatest), string(OverflowSkip), string(OverflowCancelRunning),
	},
	"AlertRule.on": {
		"not_triggered", "late_start", "deadline", "failed", "dead_letter", "failure_rate", "pool_full",
	},
	"AlertRule.severity": {"low", "normal", "high", "critical"},

	"Node.trigger_rule": {
		string(AllSuccess), string(AllFailed), string(AllDone), string(OneSuccess), string(OneFailed), string(OneDone),
		string(NoneFailed), string(NoneFailedMinOneSuccess), string(NoneSkipped), string(Always),
	},
	"Node.on_failure": {string(AbortChain), string(SkipNode), string(AbortRun)},
	"Retry.backoff":   {string(BackoffExponential), string(BackoffFixed), string(BackoffList)},
	"HTTP.protocol":   {"ax", "plain"},
	"Approval.roles":  {"viewer", "developer", "admin"},
}

package dag

// Policy says what happens when a node is late or fails (S16, S17).
type Policy struct {
	Timeout      Duration  `json:"timeout,omitempty"`
	QueueTimeout Duration  `json:"queue_timeout,omitempty"`
	Retry        *Retry    `json:"retry,omitempty"`
	OnFailure    OnFailure `json:"on_failure,omitempty"`
	// Idempotent false means: once started, never repeated by itself. Nil is true.
	Idempotent *bool  `json:"idempotent,omitempty"`
	Effects    string `json:"effects,omitempty"`
}

// Retry is how often and after what delays a failed attempt is repeated (S16). The pointers
// tell "none" from "not said"; after Build none of Delay, Jitter and MaxLost is nil.
type Retry struct {
	// MaxAttempts is the total number of attempts, the first included.
	MaxAttempts int     `json:"max_attempts,omitempty"`
	Backoff     Backoff `json:"backoff,omitempty"`
	// Delay is the pause before the second attempt; fixed backoff repeats it, exponential multiplies it by Factor.
	Delay    *Duration `json:"delay,omitempty"`
	Factor   float64   `json:"factor,omitempty"`
	MaxDelay Duration  `json:"max_delay,omitempty"`
	// Jitter spreads each delay by this fraction of it, either way.
	Jitter *float64 `json:"jitter,omitempty"`
	// Delays are the pauses of backoff list, one before each attempt but the first; the last one serves all further attempts.
	Delays []Duration `json:"delays,omitempty"`
	// MaxLost is how many attempts may be lost to dead workers; they are counted apart.
	MaxLost *int     `json:"max_lost,omitempty"`
	On      *RetryOn `json:"on,omitempty"`
}

// RetryOn refines which error codes may be retried; empty means every system error.
type RetryOn struct {
	Codes  []string `json:"codes,omitempty"`
	Except []string `json:"except,omitempty"`
}

// Backoff is the shape of the delays between attempts.
type Backoff string

// The shapes.
const (
	BackoffExponential Backoff = "exponential"
	BackoffFixed       Backoff = "fixed"
	BackoffList        Backoff = "list"
)

// OnFailure says what a node's final failure does to its run (S16).
type OnFailure string

// The choices.
const (
	AbortChain OnFailure = "abort_chain"
	SkipNode   OnFailure = "skip"
	AbortRun   OnFailure = "abort_run"
)

// Rule is a node's trigger rule over its direct parents (S14).
type Rule string

// The trigger rules.
const (
	AllSuccess              Rule = "all_success"
	AllFailed               Rule = "all_failed"
	AllDone                 Rule = "all_done"
	OneSuccess              Rule = "one_success"
	OneFailed               Rule = "one_failed"
	OneDone                 Rule = "one_done"
	NoneFailed              Rule = "none_failed"
	NoneFailedMinOneSuccess Rule = "none_failed_min_one_success"
	NoneSkipped             Rule = "none_skipped"
	Always                  Rule = "always"
)

// Placement says where a node runs and what it shares (S22–S26).
type Placement struct {
	Queue    string            `json:"queue,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Route    *Route            `json:"route,omitempty"`
	Pools    []PoolUse         `json:"pools,omitempty"`
	Priority int               `json:"priority,omitempty"`
}

// Route chooses among matching workers (S26). In a document it is any, round_robin,
// {consistent_hash: EXPR} or {worker: ID}.
type Route struct {
	Kind string
	// Key is the expression that consistent_hash hashes.
	Key    string
	Worker string
}

// The kinds of routes.
const (
	RouteAny            = "any"
	RouteRoundRobin     = "round_robin"
	RouteConsistentHash = "consistent_hash"
	RouteWorker         = "worker"
)

// PoolUse takes Weight slots of a pool while the node is queued or running (S23).
type PoolUse struct {
	Pool   string `json:"pool"`
	Weight int    `json:"weight,omitempty"`
}

// Concurrency bounds how many runs of a workflow go at once (S22).
type Concurrency struct {
	MaxRuns   int      `json:"max_runs,omitempty"`
	Overflow  Overflow `json:"overflow,omitempty"`
	MaxQueued int      `json:"max_queued,omitempty"`
	Key       string   `json:"key,omitempty"`
}

// Overflow says what happens to a run that may not start yet (S22).
type Overflow string

// The overflow policies.
const (
	OverflowQueue         Overflow = "queue"
	OverflowQueueLatest   Overflow = "queue_latest"
	OverflowSkip          Overflow = "skip"
	OverflowCancelRunning Overflow = "cancel_running"
)

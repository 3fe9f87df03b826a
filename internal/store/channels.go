package store

// The channels on which ax's processes tell each other that something is worth a look.
const (
	ChannelDue     = "ax_due"
	ChannelIntent  = "ax_intent"
	ChannelWorkers = "ax_workers"
	// ChannelCompleted says that there are completions for a planner to consume.
	ChannelCompleted = "ax_completed"
	// ChannelPool says that a node waits for a pool, or that a pool may have room.
	ChannelPool = "ax_pool"
	// ChannelRoute says that a node waits to be given to a worker.
	ChannelRoute = "ax_route"
	// ChannelStop carries the incarnation of a worker that holds an attempt which is not current any more.
	ChannelStop = "ax_stop"
)

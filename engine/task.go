package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// Task is an attempt that a body is to carry out.
type Task struct {
	Attempt store.Attempt
	Facts   *store.RunFacts
	Node    *dag.Node
	// Inputs is the node's inputs with every expression evaluated: a JSON object.
	Inputs json.RawMessage
	// Work is the node's http or command with every expression evaluated, as JSON of dag.HTTP or dag.Command.
	Work json.RawMessage
	// Shards is how many shards the node was split into; 0 when it was not.
	Shards int
	// Item is what a shard of a list is about, as JSON; nil otherwise.
	Item json.RawMessage
	// Deadline is when the attempt is over by this machine's clock; the context ends with it.
	Deadline time.Time
	// Log takes the body's log lines.
	Log *LogWriter
	// ResultURL and HeartbeatURL are where a body that runs elsewhere reports to, "" for nowhere.
	ResultURL, HeartbeatURL string
	// Sign makes the signature of what is sent to such a body; nil for none.
	Sign func(body []byte) string
}

// Executor carries out attempts of one kind of node. It returns when the body has ended; when ctx ends it should stop the
// body and return soon, for it is given up on after the grace period. It never panics across: a panic is a failed attempt.
type Executor interface {
	Execute(ctx context.Context, t *Task) Outcome
}

// ExecutorFunc makes a function an Executor.
type ExecutorFunc func(ctx context.Context, t *Task) Outcome

// Execute calls f.
func (f ExecutorFunc) Execute(ctx context.Context, t *Task) Outcome { return f(ctx, t) }

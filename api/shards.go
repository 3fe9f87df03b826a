package api

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// Shards counts the shards of a split node by how they are (S21).
type Shards struct {
	Total     int           `json:"total"`
	Succeeded int           `json:"succeeded"`
	Failed    int           `json:"failed"`
	Skipped   int           `json:"skipped"`
	Canceled  int           `json:"canceled"`
	Running   int           `json:"running"`
	Waiting   int           `json:"waiting" doc:"Those that wait to start, for the first time or again."`
	Failures  []FailedShard `json:"failures,omitempty" nullable:"false" doc:"The shards that failed, the first twenty."`
}

// FailedShard is a shard that failed.
type FailedShard struct {
	ID    string     `json:"id" doc:"The execution id."`
	Shard int        `json:"shard"`
	Error *NodeError `json:"error,omitempty"`
}

// maxFailedShards is how many failed shards are named.
const maxFailedShards = 20

type listShardsInput struct {
	OfNodeRun
	PageInput
}

// shardMark is the number of the shard that comes next.
type shardMark int

func (a *API) listShards(ctx context.Context, in *listShardsInput) (*body[Page[NodeRun]], error) {
	from, err := readCursor(in.Cursor, shardMark(0))
	if err != nil {
		return nil, err
	}
	n, err := a.nodeRun(ctx, in.Namespace, in.ID)
	if err != nil {
		return nil, err
	}
	own, _, err := a.nodeRunFacts(ctx, n, listedOutput)
	if err != nil {
		return nil, err
	}
	var rest []nodeFacts
	if first := int(from); first >= 0 && first < own.total() {
		rest = own.shardFacts()[first:]
	}
	return answerOf(paged(rest[:min(len(rest), in.Limit+1)], in.Limit,
		func(f nodeFacts) NodeRun { return nodeView(n.run.ID, n.graph, n.at, f) },
		func(f nodeFacts) shardMark { return shardMark(f.shard + 1) }))
}

// total is how many shards the generation has, of which these are the facts.
func (f *nodeFacts) total() int {
	if len(f.splits) == 0 {
		return 0
	}
	return f.splits[0].Total
}

// shardFacts are what is stored of each shard of one generation of a split node: those that a rerun left alone are of an earlier one.
func (f *nodeFacts) shardFacts() []nodeFacts {
	all := make([]nodeFacts, f.total())
	for s := range all {
		all[s] = nodeFacts{shard: s}
		if stored := f.shards[s]; stored != nil {
			all[s] = stored.between(f.splits[0].Base, f.splits[0].Generation)
			all[s] = all[s].newest()
		}
	}
	return all
}

// fromShards says what became of a split node's shards. Until its end is in history, it runs.
func (n *NodeRun) fromShards(f *nodeFacts) {
	split := f.splits[0]
	n.Generation, n.Attempts, n.Shards = split.Generation, 1, &Shards{Total: split.Total}
	ended := n.FinishedAt
	if len(f.history) == 0 {
		n.State, ended = string(progress.Running), nil
	}
	var queued, started *time.Time
	for _, s := range f.shardFacts() {
		n.Shards.count(n, &s)
		queued, started = s.begun(queued, started)
	}
	n.NodeTimes = timesOf(queued, started, ended)
	n.TotalMS = n.DurationMS
}

// begun is when the first of a shard's attempts, or an earlier one of another shard, was queued and started.
func (f *nodeFacts) begun(queued, started *time.Time) (*time.Time, *time.Time) {
	for _, r := range f.history {
		queued, started = earlier(queued, r.QueuedAt), earlier(started, r.StartedAt)
	}
	if f.live != nil {
		queued, started = earlier(queued, f.live.QueuedAt), earlier(started, f.live.StartedAt)
	}
	return queued, started
}

// earlier is the earlier of two instants, where nil is none.
func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

// count adds a shard of a node.
func (c *Shards) count(of *NodeRun, f *nodeFacts) {
	shard := NodeRun{State: string(progress.Pending)}
	id := store.Attempt{Node: of.Node, Shard: f.shard}
	if n := len(f.history); n > 0 {
		id = f.history[n-1].Attempt
		shard.fromHistory(f.history[n-1])
	}
	if f.live != nil {
		shard.fromLive(f.live)
	}
	switch progress.State(shard.State) {
	case progress.Succeeded:
		c.Succeeded++
	case progress.Failed:
		c.Failed++
		if len(c.Failures) < maxFailedShards {
			c.Failures = append(c.Failures, FailedShard{ID: id.ExecutionID(), Shard: f.shard, Error: shard.Error})
		}
	case progress.Skipped:
		c.Skipped++
	case progress.Canceled:
		c.Canceled++
	case progress.Running:
		c.Running++
	default:
		c.Waiting++
	}
}

// joinedOutput is the output of a split node that succeeded: the list of its shards' outputs, null for those without one.
func (f *nodeFacts) joinedOutput() json.RawMessage {
	outputs := make([][]byte, f.total())
	for s, shard := range f.shardFacts() {
		outputs[s] = []byte("null")
		if n := len(shard.history); n > 0 && shard.history[n-1].Output != nil {
			outputs[s] = shard.history[n-1].Output
		}
	}
	return slices.Concat([]byte("["), bytes.Join(outputs, []byte(",")), []byte("]"))
}

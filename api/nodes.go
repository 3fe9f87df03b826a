package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// NodeRun is one node of a run: its newest generation, unless an id names an older one.
type NodeRun struct {
	ID         string     `json:"id" doc:"The execution id, stable across retries; {run}:{node} while the node is pending."`
	Run        string     `json:"run"`
	Node       string     `json:"node"`
	Title      string     `json:"title,omitempty"`
	Kind       string     `json:"kind" enum:"handler,http,command,workflow,approval,wait,branch"`
	Handler    string     `json:"handler,omitempty"`
	Needs      []string   `json:"needs" nullable:"false"`
	Finally    bool       `json:"finally,omitempty"`
	Level      int        `json:"level" doc:"The length of the longest path from a root."`
	State      string     `json:"state" enum:"pending,waiting,queued,running,retrying,succeeded,failed,skipped,upstream_failed,canceled"`
	Tolerated  bool       `json:"tolerated,omitempty" doc:"It failed, and by its policy that counts as success."`
	Reason     string     `json:"reason,omitempty"`
	BlockedBy  *BlockedBy `json:"blocked_by,omitempty"`
	Stale      bool       `json:"stale,omitempty" doc:"A node before it was run again, or marked, after this one had started: it goes by what was there before."`
	StaleBy    string     `json:"stale_by,omitempty" doc:"Which node that was; of several the last."`
	Generation int        `json:"generation" doc:"Counts reruns, from 1."`
	Shard      *int       `json:"shard,omitempty" doc:"Which shard of a split node it is, from 0."`
	Shards     *Shards    `json:"shards,omitempty" doc:"What became of the shards of a split node, once it has split."`
	Attempts   int        `json:"attempts" doc:"How many attempts there were, the present one included; 0 for a node that never ran."`
	Worker     string     `json:"worker,omitempty"`
	Error      *NodeError `json:"error,omitempty" doc:"Why the last attempt that ended failed."`
	NodeTimes
	TotalMS    *int64          `json:"total_ms,omitempty" doc:"From the start of the first attempt to the end of the last, with the pauses in between."`
	Output     json.RawMessage `json:"output,omitempty" doc:"What the node produced. In lists only when short; its own page has all of it."`
	OutputSize int             `json:"output_size,omitempty" doc:"The length of the output's JSON in bytes."`
}

// NodeTimes are the times of one attempt.
type NodeTimes struct {
	QueuedAt   *time.Time `json:"queued_at,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	WaitMS     *int64     `json:"wait_ms,omitempty" doc:"From queued to started."`
	DurationMS *int64     `json:"duration_ms,omitempty" doc:"From started to finished."`
}

// NodeError is why an attempt failed.
type NodeError struct {
	Class   string `json:"class" enum:"permanent,system,timeout,lost"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

type listNodesInput struct {
	OfRun
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"500" doc:"How many items at most."`
	Cursor string `query:"cursor" maxLength:"1000" doc:"Where to go on: next_cursor of the page before."`
}

func (a *API) nodeRoutes() {
	handle(a, op(http.MethodGet, ns+"/runs/{run}/nodes", "list-nodes", "runs"),
		"List every node of a run in topological order, with its state", a.listNodes)
	handle(a, op(http.MethodGet, ns+"/node-runs/{id}", "get-node-run", "runs"), "Show one node run with its attempts", a.getNodeRun)
	handle(a, op(http.MethodGet, ns+"/node-runs/{id}/shards", "list-shards", "runs"),
		"List the shards of a split node run in their order, each a node run of its own", a.listShards)
	a.logRoute()
}

// listedOutput is the longest output that a list shows.
const listedOutput = 8 << 10

// nodeMark is a position in the topological order, which never changes.
type nodeMark int

func (a *API) listNodes(ctx context.Context, in *listNodesInput) (*body[Page[NodeRun]], error) {
	from, err := readCursor(in.Cursor, nodeMark(0))
	if err != nil {
		return nil, err
	}
	run, err := a.run(ctx, in.OfRun)
	if err != nil {
		return nil, err
	}
	graph, err := a.graphs.of(ctx, run.VersionID)
	if err != nil {
		return nil, err
	}
	first := min(max(int(from), 0), graph.Len())
	positions := make([]int, 0, in.Limit+1)
	for i := first; i < min(first+in.Limit+1, graph.Len()); i++ {
		positions = append(positions, i)
	}
	facts, err := a.nodeFacts(ctx, run.ID, graph, positions, listedOutput)
	if err != nil {
		return nil, err
	}
	page, err := paged(positions, in.Limit,
		func(i int) NodeRun { return nodeView(run.ID, graph, i, facts[graph.At(i).Name].newest()) },
		func(i int) nodeMark { return nodeMark(i + 1) })
	if err != nil {
		return nil, err
	}
	return answerOf(page, a.explainPending(ctx, run, graph, page.Items))
}

// nodeView composes a node's state: what is live, else its last row of history, else pending.
func nodeView(run store.RunID, g *dag.Graph, at int, f nodeFacts) NodeRun {
	vertex := g.At(at)
	n := NodeRun{Run: run.String(), Node: vertex.Name, Title: vertex.Node.Title, Kind: kindOf(vertex.Node), Handler: vertex.Node.Handler,
		Needs: []string{}, Finally: vertex.Node.Finally, Level: vertex.Level, Generation: 1, State: string(progress.Pending)}
	for _, p := range vertex.Parents {
		n.Needs = append(n.Needs, g.At(p).Name)
	}
	id := store.Attempt{Run: run, Node: vertex.Name, Shard: f.shard, Generation: 1}
	if len(f.history) > 0 {
		last := f.history[len(f.history)-1]
		id = last.Attempt
		n.fromHistory(last)
		n.Attempts = f.started()
		n.TotalMS = millis(firstStart(f.history), n.FinishedAt)
	}
	if f.live != nil {
		id = f.live.Attempt
		n.fromLive(f.live)
	}
	if len(f.splits) > 0 {
		id.Generation = f.splits[0].Generation
		n.fromShards(&f)
	}
	if f.shard != store.WholeNode {
		n.Shard = &f.shard
	}
	n.Stale = f.stale()
	if n.Stale {
		n.StaleBy = f.above.node
	}
	if n.ID = id.ExecutionID(); n.State == string(progress.Pending) && n.Shard == nil {
		n.ID = run.String() + ":" + vertex.Name
	}
	return n
}

func firstStart(history []store.NodeRecord) *time.Time {
	for _, r := range history {
		if r.StartedAt != nil {
			return r.StartedAt
		}
	}
	return nil
}

func (n *NodeRun) fromHistory(r store.NodeRecord) {
	n.State, n.Tolerated, n.Reason, n.Worker = string(r.State), r.Tolerated, r.Reason, r.Worker
	n.Generation = r.Attempt.Generation
	n.Error, n.NodeTimes = errorView(r.Err), timesOf(r.QueuedAt, r.StartedAt, &r.FinishedAt)
	n.Output, n.OutputSize = r.Output, r.OutputSize
}

// fromLive says how things are now; the error of the attempt before stays.
func (n *NodeRun) fromLive(l *store.LiveNode) {
	n.State, n.Tolerated, n.Reason, n.Worker = string(l.State), false, "", l.Worker
	n.Generation, n.Attempts, n.TotalMS = l.Attempt.Generation, l.Attempt.Number, nil
	n.NodeTimes = timesOf(l.QueuedAt, l.StartedAt, nil)
	n.Output, n.OutputSize = nil, 0
	n.BlockedBy = blockedNode(l)
	if n.BlockedBy != nil && l.State != progress.Running {
		n.Attempts = max(l.Attempt.Number-1, 0)
	}
}

func timesOf(queued, started, finished *time.Time) NodeTimes {
	return NodeTimes{QueuedAt: utcOr(queued), StartedAt: utcOr(started), FinishedAt: utcOr(finished),
		WaitMS: millis(queued, started), DurationMS: millis(started, finished)}
}

func errorView(e *progress.Error) *NodeError {
	if e == nil {
		return nil
	}
	return &NodeError{Class: string(e.Class), Code: e.Code, Message: e.Message}
}

// kindOf names what a node does, as the definition's key does.
func kindOf(n *dag.Node) string {
	switch {
	case n.HTTP != nil:
		return "http"
	case n.Command != nil:
		return "command"
	case n.Child != nil:
		return "workflow"
	case n.Approval != nil:
		return "approval"
	case n.Wait != nil:
		return "wait"
	case n.Branch != nil:
		return "branch"
	}
	return "handler"
}

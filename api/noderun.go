package api

import (
	"context"
	"math"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// NodeRunDetail is one node run with its attempts.
type NodeRunDetail struct {
	NodeRun
	History   []Attempt `json:"history" nullable:"false" doc:"The attempts that ended, oldest first."`
	Successor string    `json:"successor,omitempty" doc:"The newer node run that replaced this one."`
	Refused   []Refusal `json:"refused,omitempty" nullable:"false" doc:"What came of attempts that were not current any more, and was refused."`
}

// Refusal is something that came of an attempt that was not current (S18).
type Refusal struct {
	Attempt int       `json:"attempt"`
	Kind    string    `json:"kind" enum:"result,heartbeat,logs"`
	Worker  string    `json:"worker,omitempty"`
	Said    string    `json:"said,omitempty" doc:"The status that a result had."`
	Count   int       `json:"count"`
	FirstAt time.Time `json:"first_at"`
	LastAt  time.Time `json:"last_at"`
}

// Attempt is one attempt of a node run that ended, or the decision that ended a node without one.
type Attempt struct {
	Attempt int        `json:"attempt"`
	Outcome string     `json:"outcome" doc:"How the attempt itself ended: succeeded, failed, timeout, lost, skipped, canceled …"`
	State   string     `json:"state" doc:"The node's state from then on."`
	Worker  string     `json:"worker,omitempty"`
	Actor   string     `json:"actor"`
	Reason  string     `json:"reason,omitempty"`
	Note    string     `json:"note,omitempty" doc:"What the body or a person said beside it."`
	Error   *NodeError `json:"error,omitempty"`
	NodeTimes
}

// OfNodeRun is the path of one node run.
type OfNodeRun struct {
	InNamespace
	ID string `path:"id" maxLength:"300" doc:"The execution id, {run}:{node}:{generation} with :{shard} for one shard, or {run}:{node} for the newest generation."`
}

// nodeRun is the node run that a request is about.
type nodeRun struct {
	run   store.RunRow
	graph *dag.Graph
	at    int
	// id has generation 0 for the newest.
	id store.Attempt
}

// nodeRun finds the node that an id names: a node of the run, or one shard of a split node (S21).
func (a *API) nodeRun(ctx context.Context, namespace, text string) (nodeRun, error) {
	id, err := store.ParseExecutionID(text)
	if err != nil {
		return nodeRun{}, err
	}
	n := nodeRun{id: id}
	if n.run, err = a.run(ctx, OfRun{InNamespace{namespace}, id.Run.String()}); err != nil {
		return n, err
	}
	if n.graph, err = a.graphs.of(ctx, n.run.VersionID); err != nil {
		return n, err
	}
	at, ok := n.graph.Index(id.Node)
	if n.at = at; !ok || id.Shard < store.WholeNode || id.Generation < 0 || id.Generation > math.MaxInt32 {
		return n, notFound("run %s has no node run %.100q", n.run.ID, text)
	}
	return n, nil
}

// nodeRunFacts reads what is stored of a node run: of its own generation, and of the newest.
func (a *API) nodeRunFacts(ctx context.Context, n nodeRun, outputs int) (own, newest nodeFacts, err error) {
	all, err := a.nodeFacts(ctx, n.run.ID, n.graph, []int{n.at}, outputs)
	if err != nil {
		return own, newest, err
	}
	f := all[n.id.Node].at(n.id.Shard)
	own, newest = f.of(n.id.Generation), f.newest()
	switch {
	case n.id.Shard != store.WholeNode && own.empty():
		return own, newest, notFound("run %s has no generation %d of shard %d of node %s", n.run.ID, n.id.Generation, n.id.Shard, n.id.Node)
	case n.id.Generation > 1 && own.empty():
		return own, newest, notFound("run %s has no generation %d of node %s", n.run.ID, n.id.Generation, n.id.Node)
	}
	return own, newest, nil
}

func (a *API) getNodeRun(ctx context.Context, in *OfNodeRun) (*body[NodeRunDetail], error) {
	return answerOf(a.nodeRunDetail(ctx, in.Namespace, in.ID))
}

func (a *API) nodeRunDetail(ctx context.Context, namespace, id string) (NodeRunDetail, error) {
	n, err := a.nodeRun(ctx, namespace, id)
	if err != nil {
		return NodeRunDetail{}, err
	}
	return a.nodeDetailOf(ctx, n, math.MaxInt32)
}

// nodeDetailOf composes a node run with its attempts; outputs longer than so many bytes are left out.
func (a *API) nodeDetailOf(ctx context.Context, n nodeRun, outputs int) (NodeRunDetail, error) {
	own, newest, err := a.nodeRunFacts(ctx, n, outputs)
	if err != nil {
		return NodeRunDetail{}, err
	}
	view := []NodeRun{nodeView(n.run.ID, n.graph, n.at, own)}
	if err := a.explainPending(ctx, n.run, n.graph, view); err != nil {
		return NodeRunDetail{}, err
	}
	d := NodeRunDetail{NodeRun: view[0], History: make([]Attempt, len(own.history))}
	for i, r := range own.history {
		d.History[i] = attemptView(r)
	}
	if d.Shards != nil && d.State == string(progress.Succeeded) {
		d.Output = own.joinedOutput()
		d.OutputSize = len(d.Output)
	}
	if current := nodeView(n.run.ID, n.graph, n.at, newest); current.Generation > d.Generation {
		d.Successor = current.ID
	}
	d.Refused, err = a.refusals(ctx, n, d.Generation)
	return d, err
}

// refusals is what was refused of one generation of a node run.
func (a *API) refusals(ctx context.Context, n nodeRun, generation int) ([]Refusal, error) {
	id := n.id
	id.Generation = generation
	rows, err := a.Store.Refusals(ctx, id)
	if err != nil {
		return nil, err
	}
	var refused []Refusal
	for _, r := range rows {
		refused = append(refused, Refusal{r.Attempt.Number, r.Kind, r.Worker, r.Said, r.Count, utc(r.FirstAt), utc(r.LastAt)})
	}
	return refused, nil
}

func attemptView(r store.NodeRecord) Attempt {
	finished := time.Time(r.FinishedAt)
	return Attempt{
		Attempt: r.Attempt.Number, Outcome: r.Outcome, State: string(r.State), Worker: r.Worker, Actor: r.Actor, Reason: r.Reason, Note: r.Note,
		Error: errorView(r.Err), NodeTimes: timesOf(r.QueuedAt, r.StartedAt, &finished),
	}
}

package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

// MarkBody gives a node a state by hand.
type MarkBody struct {
	State  string `json:"state" enum:"succeeded,failed,skipped"`
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the record."`
	PlanToken
}

type markInput struct {
	OfNodeRun
	DryRun
	Body MarkBody
}

// ApproveBody decides an approval.
type ApproveBody struct {
	Approved *bool  `json:"approved,omitempty" doc:"False refuses, and the node fails; true when left out."`
	Reason   string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the record and for the nodes that follow."`
	PlanToken
}

type approveInput struct {
	OfNodeRun
	DryRun
	Body *ApproveBody
}

func (a *API) markRoutes() {
	handle(a, op(http.MethodPost, ns+"/node-runs/{id}/mark", "mark-node-run", "runs"),
		"Give a stuck or ended node a state by hand, and decide what follows from it again", a.mark)
	handle(a, needing(Viewer, op(http.MethodPost, ns+"/node-runs/{id}/approve", "approve-node-run", "runs")), "Approve or refuse what waits for a person", a.approve)
}

// current finds the node run that a request is about, which must be its node's newest.
func (a *API) current(ctx context.Context, in OfNodeRun) (nodeRun, NodeRun, error) {
	n, err := a.nodeRun(ctx, in.Namespace, in.ID)
	if errors.Is(err, store.ErrNotFound) && n.id.Run != 0 {
		if _, waits := a.started(ctx, OfRun{in.InNamespace, n.id.Run.String()}); waits != nil {
			err = waits
		}
	}
	if err != nil {
		return n, NodeRun{}, err
	}
	_, newest, err := a.nodeRunFacts(ctx, n, 0)
	if err != nil {
		return n, NodeRun{}, err
	}
	view := nodeView(n.run.ID, n.graph, n.at, newest)
	if n.id.Shard != store.WholeNode {
		return n, view, invalid("path.id", "one shard cannot be marked or approved by itself; name its node")
	}
	if n.id.Generation != 0 && n.id.Generation != view.Generation {
		return n, view, conflict("%s was replaced by %s, which is %s", in.ID, view.ID, view.State)
	}
	return n, view, nil
}

// mayApprove refuses who has none of the roles that an approval names; where it names none, who may only read.
func mayApprove(me identity, approval *dag.Approval) error {
	roles := []string{string(Developer)}
	if approval != nil && len(approval.Roles) > 0 {
		roles = approval.Roles
	}
	if me.role == Admin || slices.Contains(roles, string(me.role)) {
		return nil
	}
	return problem(http.StatusForbidden, "this is decided by the role %s; %s has the role %s", strings.Join(roles, " or "), me.actor, me.role)
}

func (a *API) mark(ctx context.Context, in *markInput) (*body[Answer[NodeRunDetail]], error) {
	n, view, err := a.current(ctx, in.OfNodeRun)
	if err != nil {
		return nil, err
	}
	act := engine.Act{Actor: actor(ctx), Note: in.Body.Reason, Mark: &engine.Mark{Node: view.Node, State: progress.State(in.Body.State)}}
	return perform(ctx, a, planned[NodeRunDetail]{
		order: order{in.InNamespace, in.DryRun, in.Body.PlanToken}, act: []any{"mark", n.run.ID.String(), act.Mark},
		plan: func(ctx context.Context) (Plan, string, error) {
			seen, err := a.Operator.Preview(ctx, n.run.ID, act)
			if err != nil {
				return Plan{}, "", err
			}
			plan, err := a.planOf(ctx, n.run, "mark "+view.Node+" "+in.Body.State+" in", seen)
			return plan, seen.Fingerprint, err
		},
		do: func(ctx context.Context, expect string) (NodeRunDetail, error) {
			act.Expect = expect
			if err := a.Operator.Do(ctx, n.run.ID, act); err != nil {
				return NodeRunDetail{}, err
			}
			return a.nodeRunDetail(ctx, in.Namespace, n.run.ID.String()+":"+view.Node)
		},
	})
}

func (a *API) approve(ctx context.Context, in *approveInput) (*body[Answer[NodeRunDetail]], error) {
	if in.Body == nil {
		in.Body = &ApproveBody{}
	}
	n, view, err := a.current(ctx, in.OfNodeRun)
	if err != nil {
		return nil, err
	}
	if err := mayApprove(who(ctx), n.graph.At(n.at).Node.Approval); err != nil {
		return nil, err
	}
	if view.BlockedBy == nil || view.BlockedBy.Reason != AwaitingSignal {
		return nil, conflict("%s does not wait for a person: it is %s", view.ID, view.State)
	}
	verb := "approve"
	if in.Body.Approved != nil && !*in.Body.Approved {
		verb = "refuse"
	}
	item := PlanItem{Run: n.run.ID.String(), Node: view.Node, State: view.State, Action: verb}
	return perform(ctx, a, planned[NodeRunDetail]{
		order: order{in.InNamespace, in.DryRun, in.Body.PlanToken}, act: []any{verb, view.ID},
		plan: func(context.Context) (Plan, string, error) {
			return Plan{Title: verb + " " + view.ID + " of " + n.run.Workflow, Items: []PlanItem{item}}, view.ID, nil
		},
		do: func(ctx context.Context, _ string) (NodeRunDetail, error) {
			// That it still waits is what the decision itself makes sure of.
			attempt := store.Attempt{Run: n.run.ID, Node: view.Node, Shard: store.WholeNode, Generation: view.Generation}
			err := a.Operator.Decide(ctx, attempt, engine.Decision{Actor: actor(ctx), Note: in.Body.Reason, Approved: verb == "approve"})
			if err != nil {
				return NodeRunDetail{}, err
			}
			return a.nodeRunDetail(ctx, in.Namespace, n.run.ID.String()+":"+view.Node)
		},
	})
}

package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

// Operator does what people do to runs by hand; the engine is one.
type Operator interface {
	Do(ctx context.Context, run store.RunID, act engine.Act) error
	Preview(ctx context.Context, run store.RunID, act engine.Act) (engine.Preview, error)
	Replay(ctx context.Context, run store.RunID, r engine.Replay) (store.Launched, error)
	PreviewReplay(ctx context.Context, run store.RunID, r engine.Replay) (engine.Preview, error)
	Decide(ctx context.Context, a store.Attempt, d engine.Decision) error
}

// RerunBody says what is to run again.
type RerunBody struct {
	Scope string `json:"scope,omitempty" enum:"node,downstream,failed,all,failed_shards" doc:"How far it reaches: only the nodes named (and what was derived from them), with all that comes after them, everything that failed, everything, or the failed shards of the nodes named. downstream when nodes are named, else failed."`

	Nodes   []string `json:"nodes,omitempty" nullable:"false" minItems:"1" maxItems:"10000"`
	Version *int     `json:"version,omitempty" minimum:"1" maximum:"2147483647" doc:"Run with another version, which makes a new run: a run keeps its own."`
	Reason  string   `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the record."`
	PlanToken
}

type rerunInput struct {
	OfRun
	DryRun
	Body *RerunBody
}

// ActBody is what goes with an act that has no more to say.
type ActBody struct {
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the record."`
	PlanToken
}

func (b *ActBody) reason() string {
	if b == nil {
		return ""
	}
	return b.Reason
}

type actInput struct {
	OfRun
	DryRun
	Body *ActBody
}

func (a *API) actRoutes() {
	run := ns + "/runs/{run}"
	handle(a, op(http.MethodPost, run+"/rerun", "rerun-run", "runs"), "Run nodes of a run again", a.rerun)
	handle(a, op(http.MethodPost, run+"/replay", "replay-run", "runs"),
		"Repeat an ended run as a new one, which takes over the outputs of what does not run again", a.replay)
	handle(a, op(http.MethodPost, run+"/hold", "hold-run", "runs"), "Let nothing new of a run start", a.hold)
	handle(a, op(http.MethodPost, run+"/release", "release-run", "runs"), "Let a held run go on", a.release)
}

// rerunOf makes a request the engine's.
func rerunOf(b *RerunBody) (engine.Rerun, error) {
	r := engine.Rerun{Scope: progress.Scope(b.Scope), Nodes: b.Nodes}
	if r.Scope == "" {
		if r.Scope = progress.ScopeFailed; len(b.Nodes) > 0 {
			r.Scope = progress.ScopeDownstream
		}
	}
	named := r.Scope == progress.ScopeNode || r.Scope == progress.ScopeDownstream || r.Scope == progress.ScopeFailedShards
	switch {
	case named && len(r.Nodes) == 0:
		return r, invalid("body.nodes", "the scope %s needs the names of nodes", r.Scope)
	case !named && len(r.Nodes) > 0:
		return r, invalid("body.nodes", "the scope %s names no nodes", r.Scope)
	}
	return r, nil
}

func (a *API) rerun(ctx context.Context, in *rerunInput) (*body[Answer[RunDetail]], error) {
	if in.Body == nil {
		in.Body = &RerunBody{}
	}
	run, err := a.started(ctx, in.OfRun)
	if err != nil {
		return nil, err
	}
	if in.Body.Version != nil && *in.Body.Version != run.Version {
		return a.replay(ctx, in)
	}
	rerun, err := rerunOf(in.Body)
	if err != nil {
		return nil, err
	}
	act := engine.Act{Actor: actor(ctx), Note: in.Body.Reason, Rerun: &rerun}
	return a.act(ctx, order{in.InNamespace, in.DryRun, in.Body.PlanToken}, run, named[*engine.Act]{"rerun", &act})
}

func (a *API) hold(ctx context.Context, in *actInput) (*body[Answer[RunDetail]], error) {
	return a.plainAct(ctx, in, named[*engine.Act]{"hold", &engine.Act{Hold: true}})
}

func (a *API) release(ctx context.Context, in *actInput) (*body[Answer[RunDetail]], error) {
	return a.plainAct(ctx, in, named[*engine.Act]{"release", &engine.Act{Release: true}})
}

func (a *API) plainAct(ctx context.Context, in *actInput, act named[*engine.Act]) (*body[Answer[RunDetail]], error) {
	if in.Body == nil {
		in.Body = &ActBody{}
	}
	run, err := a.started(ctx, in.OfRun)
	if err != nil {
		return nil, err
	}
	act.of.Actor, act.of.Note = actor(ctx), in.Body.Reason
	return a.act(ctx, order{in.InNamespace, in.DryRun, in.Body.PlanToken}, run, act)
}

// named is an act with the verb that people know it by.
type named[A any] struct {
	verb string
	of   A
}

// act plans an act on a run or does it.
func (a *API) act(ctx context.Context, o order, run store.RunRow, act named[*engine.Act]) (*body[Answer[RunDetail]], error) {
	return perform(ctx, a, planned[RunDetail]{
		order: o, act: []any{act.verb, run.ID.String(), act.of.Rerun, act.of.Mark},
		plan: func(ctx context.Context) (Plan, string, error) {
			seen, err := a.Operator.Preview(ctx, run.ID, *act.of)
			if err != nil {
				return Plan{}, "", err
			}
			plan, err := a.planOf(ctx, run, act.verb, seen)
			return plan, seen.Fingerprint, err
		},
		do: func(ctx context.Context, expect string) (RunDetail, error) {
			act.of.Expect = expect
			if err := a.Operator.Do(ctx, run.ID, *act.of); err != nil {
				return RunDetail{}, err
			}
			return a.detailOf(ctx, o.InNamespace, run.ID)
		},
	})
}

// detailOf reads a run anew.
func (a *API) detailOf(ctx context.Context, in InNamespace, id store.RunID) (RunDetail, error) {
	run, err := a.run(ctx, OfRun{in, id.String()})
	if err != nil {
		return RunDetail{}, err
	}
	return a.runDetail(ctx, run)
}

// planOf puts a preview into words.
func (a *API) planOf(ctx context.Context, run store.RunRow, verb string, seen engine.Preview) (Plan, error) {
	graph, err := a.graphs.of(ctx, run.VersionID)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Title: fmt.Sprintf("%s run %s of %s for %s, which is %s", verb, run.ID, run.Workflow, run.LogicalDate, seen.State)}
	if len(seen.Nodes) > 0 {
		plan.Title += fmt.Sprintf(": %d of %d nodes", len(seen.Nodes), graph.Len())
	}
	for _, n := range seen.Nodes {
		plan.Items = append(plan.Items, PlanItem{Run: run.ID.String(), Node: n.Name, State: string(n.State), Action: string(n.Effect)})
		if i, ok := graph.Index(n.Name); ok {
			plan.Warnings = append(plan.Warnings, warnings(graph.At(i).Node, n)...)
		}
	}
	if seen.Copied > 0 {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("%d nodes do not run: the new run takes over what they did", seen.Copied))
	}
	if n := len(seen.Stale); n > 0 {
		told := strings.Join(seen.Stale[:min(n, maxToldNodes)], ", ")
		if n > maxToldNodes {
			told += fmt.Sprintf(" and %d more", n-maxToldNodes)
		}
		plan.Warnings = append(plan.Warnings, told+": what was done there stays as it is and will be stale")
	}
	return plan, nil
}

// maxToldNodes is how many nodes a warning names.
const maxToldNodes = 10

// warnings say what a person should know before a node does its work once more.
func warnings(n *dag.Node, seen engine.PreviewNode) (out []string) {
	if seen.Effect != engine.EffectRerun && seen.Effect != engine.EffectRestart {
		return nil
	}
	if n.Idempotent != nil && !*n.Idempotent {
		out = append(out, seen.Name+" is not idempotent: what it did already it may do twice")
	}
	if n.Effects != "" {
		out = append(out, seen.Name+" has effects: "+n.Effects)
	}
	return out
}

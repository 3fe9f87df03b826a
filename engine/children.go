package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// maxRunDepth is how deep child runs may nest (S13).
const maxRunDepth = 10

// child is a workflow node whose run is to be launched by the commit that starts it.
type child struct {
	parent store.Attempt
	run    *moving
	node   int
}

// launchChildren launches the runs of workflow nodes that this movement started. One that cannot be launched is a signal of its own: the
// node fails with the reason in the next movement.
func (m *movement) launchChildren(ctx context.Context, tx pgx.Tx) error {
	for _, c := range m.children {
		if err := m.launchChild(ctx, tx, c); err != nil {
			return err
		}
	}
	return nil
}

func (m *movement) launchChild(ctx context.Context, tx pgx.Tx, c child) error {
	facts, err := m.engine.facts.get(ctx, c.run.row.ID)
	if err != nil {
		return err
	}
	trigger, err := m.childTrigger(ctx, c, facts)
	if err != nil {
		return m.refuseChild(ctx, tx, c, err)
	}
	launched, err := m.engine.Launch(ctx, tx, []store.Trigger{trigger})
	if err != nil {
		return err
	}
	switch l := launched[0]; {
	case l.Err != nil:
		return m.refuseChild(ctx, tx, c, l.Err)
	case l.Refused != "":
		return m.answerChild(ctx, tx, c, store.ChildNote{Refused: "the child run was not started: " + l.Refused, Skipped: true})
	default:
		return m.engine.store.NoteChild(ctx, tx, c.parent, store.ChildNote{Child: l.Run})
	}
}

// refuseChild leaves word of why there is no child run; the keeper fails the node with it.
func (m *movement) refuseChild(ctx context.Context, tx pgx.Tx, c child, why error) error {
	if store.Transient(why) {
		return why
	}
	return m.answerChild(ctx, tx, c, store.ChildNote{Refused: why.Error()})
}

// answerChild leaves word for the keeper, in place of a child run.
func (m *movement) answerChild(ctx context.Context, tx pgx.Tx, c child, note store.ChildNote) error {
	if err := m.engine.store.NoteChild(ctx, tx, c.parent, note); err != nil {
		return err
	}
	return m.engine.store.AddSignal(ctx, tx, store.Signal{Parent: c.parent.JobArgs()})
}

// childTrigger says what the child runs: the newest version unless one is named, at its parent's logical time.
func (m *movement) childTrigger(ctx context.Context, c child, facts *store.RunFacts) (store.Trigger, error) {
	if c.run.row.Depth+1 > maxRunDepth {
		return store.Trigger{}, fmt.Errorf("child runs nest more than %d deep", maxRunDepth)
	}
	v := c.run.plan.graph.At(c.node)
	spec := v.Node.Child
	namespace := spec.Namespace
	if namespace == "" {
		namespace = facts.Namespace
	}
	version, err := m.engine.store.VersionFor(ctx, namespace, spec.Code, spec.Version)
	if err != nil {
		return store.Trigger{}, err
	}
	params, err := c.params(v.Work != nil)
	if err != nil {
		return store.Trigger{}, err
	}
	return store.Trigger{Version: version, Kind: "workflow", Actor: "engine", ScheduledAt: facts.ScheduledAt, PreviousScheduledAt: facts.PreviousScheduledAt,
		LogicalDate: facts.LogicalDate, Params: params, Parent: c.parent.JobArgs(), Depth: c.run.row.Depth + 1}, nil
}

// params are the child's parameters with the parent's expressions evaluated.
func (c *child) params(templated bool) ([]byte, error) {
	v := c.run.plan.graph.At(c.node)
	if !templated {
		if len(v.Node.Child.Params) == 0 {
			return nil, nil
		}
		return json.Marshal(v.Node.Child.Params)
	}
	vars, failure := c.run.eval.know(c.node)
	if failure != nil {
		return nil, errors.New(failure.Message)
	}
	work, err := v.Work.Eval(c.run.eval.ctx, vars)
	if err != nil {
		return nil, err
	}
	var fields struct {
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(work, &fields); err != nil {
		return nil, fmt.Errorf("read params of the child run: %w", err)
	}
	return fields.Params, nil
}

// childEnded makes a child run's end its node's.
func childEnded(s store.EndedChild) Outcome {
	permanent := func(code, message string) Outcome {
		return Outcome{Err: &progress.Error{Class: progress.Permanent, Code: code, Message: message}}
	}
	switch {
	case s.Refused != "" && s.Skipped:
		return Outcome{Skipped: true, Reason: s.Refused}
	case s.Refused != "":
		return permanent("child_refused", s.Refused)
	case s.State == progress.Succeeded:
		return Outcome{}
	case s.State == progress.Skipped:
		return Outcome{Skipped: true, Reason: "the child run was skipped"}
	default:
		return permanent("child_"+string(s.State), fmt.Sprintf("child run %s %s", s.Child, s.State))
	}
}

// runOutput is what a parent sees of a run: its workflow's output expression, or null.
func (e *Engine) runOutput(ctx context.Context, run store.RunID, version int64) ([]byte, error) {
	p, err := e.plans.get(ctx, version)
	if err != nil || p.graph.Output() == nil {
		return nil, err
	}
	facts, err := e.facts.get(ctx, run)
	if err != nil {
		return nil, err
	}
	vars := runVars(facts)
	vars.Nodes = make(map[string]json.RawMessage)
	outs, err := e.facts.outputs.Do(ctx, outputWish{run: run, nodes: p.graph.Output().Nodes()})
	if err != nil {
		return nil, err
	}
	for name, out := range outs {
		vars.Nodes[name] = out
	}
	// An output that cannot be evaluated is null: the run has succeeded all the same.
	out, err := p.graph.Output().Eval(ctx, vars)
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	return out, nil
}

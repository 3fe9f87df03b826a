package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// Replay makes a new run of one that has ended (S29): the nodes that Rerun reaches run again, and so does whatever did not end well; the
// others are taken over with their outputs.
type Replay struct {
	Actor string
	Rerun Rerun
	// Version is the stored version that the new run has, another one of the same workflow or 0 for the same. Nodes that it changed run
	// again too, with all that comes after them.
	Version int64
	// Expect is as in Act.
	Expect string
	// of is what a backfill wants of the new run; nil for a replay by hand.
	of *store.Repeat
}

// ErrActive says that a run has not ended, as a replay wants.
var ErrActive = errors.New("the run has not ended")

// Replay carries a replay out and says what became of it, as Launch does. The dead letters of the nodes that run again are answered by it.
// ErrChanged, ErrActive, ErrPointless, *UnknownNodeError and store.ErrNotFound say why it was refused.
func (e *Engine) Replay(ctx context.Context, run store.RunID, r Replay) (store.Launched, error) {
	var out store.Launched
	err := e.store.InTx(ctx, func(tx pgx.Tx) (err error) {
		out, err = e.replay(ctx, tx, run, &r)
		return err
	})
	return out, err
}

// replay is Replay in a transaction.
func (e *Engine) replay(ctx context.Context, tx pgx.Tx, run store.RunID, r *Replay) (store.Launched, error) {
	o, err := e.planReplay(ctx, tx, run, r)
	if err != nil {
		return store.Launched{}, err
	}
	if r.Expect != "" && r.Expect != o.source.fingerprint() {
		return store.Launched{}, ErrChanged
	}
	trigger, err := o.trigger(ctx, r)
	if err != nil {
		return store.Launched{}, err
	}
	launched, err := e.launch(ctx, tx, []store.Trigger{trigger}, &o.origin)
	if err != nil {
		return store.Launched{}, err
	}
	out := launched[0]
	if out.Err != nil || out.Refused != "" {
		return out, out.Err
	}
	return out, e.store.AnswerLetters(ctx, tx, run, o.again(), store.Resolution{How: "replay", Actor: r.Actor, Note: "by run " + out.Run.String()})
}

// PreviewReplay says what a replay would do, without doing it.
func (e *Engine) PreviewReplay(ctx context.Context, run store.RunID, r Replay) (Preview, error) {
	var out Preview
	err := e.store.InTx(ctx, func(tx pgx.Tx) error {
		o, err := e.planReplay(ctx, tx, run, &r)
		if err != nil {
			return err
		}
		out = Preview{Fingerprint: o.source.fingerprint(), State: o.source.row.State, Copied: len(o.origin.Copies)}
		for _, name := range o.again() {
			n := PreviewNode{Name: name, State: progress.Pending, Effect: EffectDecide}
			if i, ok := o.source.plan.graph.Index(name); ok {
				n = o.source.seen(i)
			}
			out.Nodes = append(out.Nodes, n)
		}
		return nil
	})
	return out, err
}

// replaying is a replay thought through.
type replaying struct {
	engine *Engine
	source *moving
	plan   *plan
	hit    []bool // by position in plan's graph
	origin store.Origin
}

func (e *Engine) planReplay(ctx context.Context, tx pgx.Tx, run store.RunID, r *Replay) (*replaying, error) {
	source, err := e.examine(ctx, tx, run)
	if err != nil {
		return nil, err
	}
	if !source.row.State.Terminal() {
		return nil, fmt.Errorf("run %s is %s: %w", run, source.row.State, ErrActive)
	}
	o := &replaying{engine: e, source: source, plan: source.plan, origin: store.Origin{ReplayOf: run}}
	if r.Version != 0 {
		if o.plan, err = e.plans.get(ctx, r.Version); err != nil {
			return nil, err
		}
	}
	event, err := source.event(&Act{Rerun: &r.Rerun})
	if err != nil {
		return nil, err
	}
	if err := o.choose(event.Rerun); err != nil {
		return nil, err
	}
	o.copy()
	return o, nil
}

// choose decides what runs again: what the rerun reaches, what ended without success, and what another version has changed, with all that
// follows from these.
func (o *replaying) choose(wanted *progress.Rerun) error {
	old, snap := o.source.plan.graph, &o.source.snap
	roots := progress.Affected(old, snap, wanted)
	for i := range snap.Nodes {
		if !worthKeeping(&snap.Nodes[i]) {
			roots = append(roots, i)
		}
	}
	again := make(map[string]bool)
	for _, i := range progress.Affected(old, snap, &progress.Rerun{Scope: progress.ScopeNode, Nodes: roots}) {
		again[old.At(i).Name] = true
	}
	changed := make([]bool, o.plan.graph.Len())
	o.hit = make([]bool, len(changed))
	for i := range changed {
		v := o.plan.graph.At(i)
		was, known := old.Index(v.Name)
		changed[i] = !known || o.plan != o.source.plan && !dag.SameNode(v.Node, old.At(was).Node)
		for _, p := range v.Parents {
			changed[i] = changed[i] || changed[p]
		}
		o.hit[i] = changed[i] || again[v.Name] && snap.Nodes[was].Reason != progress.ReasonTest
	}
	if len(o.again()) == 0 {
		return ErrPointless
	}
	return nil
}

// worthKeeping reports whether a node did what it was to do. One that was skipped with its whole run did not.
func worthKeeping(n *progress.Node) bool {
	return n.State == progress.Succeeded || n.State == progress.Skipped && n.Reason != progress.ReasonOverlap
}

// again names the nodes that run again.
func (o *replaying) again() (names []string) {
	for i, hit := range o.hit {
		if hit {
			names = append(names, o.plan.graph.At(i).Name)
		}
	}
	return names
}

// copy takes the other nodes over. What a test run left out its replay leaves out too.
func (o *replaying) copy() {
	for i, hit := range o.hit {
		name := o.plan.graph.At(i).Name
		if hit {
			continue
		}
		was, _ := o.source.plan.graph.Index(name)
		n := &o.source.snap.Nodes[was]
		o.origin.Copies = append(o.origin.Copies, store.Copy{Node: name, State: n.State, Reason: n.Reason, From: o.source.row.ID})
	}
}

// trigger starts the new run for the same logical time with the same parameters.
func (o *replaying) trigger(ctx context.Context, r *Replay) (store.Trigger, error) {
	facts, err := o.engine.facts.get(ctx, o.source.row.ID)
	if err != nil {
		return store.Trigger{}, err
	}
	params, err := o.params(facts.Params)
	if facts.Trigger == triggerTest {
		o.origin.OnlyNodes = o.again()
	}
	if r.of != nil && err == nil {
		params, err = override(params, r.of.Params)
	}
	t := store.Trigger{Version: o.plan.version, Named: true, Kind: o.kind(facts.Trigger), Actor: r.Actor, ScheduledAt: facts.ScheduledAt,
		PreviousScheduledAt: facts.PreviousScheduledAt, LogicalDate: facts.LogicalDate, Params: params}
	if r.of != nil {
		t.Kind, t.Priority, t.Yields = r.of.Kind, r.of.Priority, true
	}
	return t, err
}

// kind is what starts the new run: a test stays one, which counts for nothing elsewhere.
func (o *replaying) kind(was string) string {
	if was == triggerTest {
		return triggerTest
	}
	return "replay"
}

// params leaves out what another version does not declare any more.
func (o *replaying) params(given []byte) ([]byte, error) {
	if o.plan == o.source.plan {
		return given, nil
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(given, &values); err != nil {
		return nil, fmt.Errorf("read parameters of run %s: %w", o.source.row.ID, err)
	}
	for name := range values {
		if _, declared := o.plan.graph.Definition().Params[name]; !declared {
			delete(values, name)
		}
	}
	kept, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("write parameters: %w", err)
	}
	return kept, nil
}

package engine

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// Preview is what an act would do.
type Preview struct {
	Fingerprint string
	// Nodes are those that it would change, in topological order; in a replay, those that would run.
	Nodes []PreviewNode
	// Copied is how many nodes a replay would take over.
	Copied int
	// Stale are the nodes that did their work, or do it, and that stay as they are after nodes that are begun anew (S29).
	Stale []string
	// State is the run's.
	State progress.State
}

// PreviewNode is a node that an act would change, and what it is now.
type PreviewNode struct {
	Name   string
	State  progress.State
	Effect Effect
}

// Effect is what an act does to a node.
type Effect string

// The effects.
const (
	// EffectRerun runs an ended node again, EffectRestart stops one that has not ended and runs it anew.
	EffectRerun   Effect = "rerun"
	EffectRestart Effect = "stop_and_rerun"
	// EffectDecide decides again about a node whose state came from others; it may run.
	EffectDecide Effect = "decide_again"
	EffectMark   Effect = "mark"
	EffectCancel Effect = "cancel"
)

// Preview says what an act would do, without doing it. It is refused as Do would be.
func (e *Engine) Preview(ctx context.Context, run store.RunID, act Act) (Preview, error) {
	var out Preview
	err := e.store.InTx(ctx, func(tx pgx.Tx) error {
		r, err := e.examine(ctx, tx, run)
		if err != nil {
			return err
		}
		out, err = r.preview(&act)
		return err
	})
	return out, err
}

// examine locks a run and reads all there is of it; nothing is changed.
func (e *Engine) examine(ctx context.Context, tx pgx.Tx, run store.RunID) (*moving, error) {
	m := &movement{engine: e}
	locked, err := e.store.LockRuns(ctx, tx, []store.RunID{run}, nil)
	if err != nil {
		return nil, err
	}
	if err := m.recall(ctx, tx, &locked); err != nil {
		return nil, err
	}
	if len(m.runs) == 0 {
		return nil, fmt.Errorf("run %s: %w", run, store.ErrNotFound)
	}
	return m.runs[0], nil
}

func (r *moving) preview(act *Act) (Preview, error) {
	out := Preview{Fingerprint: r.fingerprint(), State: r.snap.Run.State}
	event, err := r.check(act)
	switch {
	case err != nil:
		return out, err
	case event.Cancel != nil:
		out.Nodes = r.unended()
	case event.Rerun != nil:
		for _, i := range progress.Affected(r.plan.graph, &r.snap, event.Rerun) {
			out.Nodes = append(out.Nodes, r.seen(i))
		}
		out.Stale = r.stale(out.Nodes)
	case event.Mark != nil:
		out.Nodes = r.marked(event)
		out.Stale = r.stale(out.Nodes)
	}
	return out, r.eval.err
}

// seen is a node that is begun anew.
func (r *moving) seen(i int) PreviewNode {
	n := PreviewNode{Name: r.plan.graph.At(i).Name, State: r.snap.Nodes[i].State, Effect: EffectRerun}
	switch n.State {
	case progress.Waiting, progress.Queued, progress.Running, progress.Retrying:
		n.Effect = EffectRestart
	case progress.Pending, progress.Skipped, progress.UpstreamFailed, progress.Canceled:
		n.Effect = EffectDecide
	}
	return n
}

// marked are a node and those that a mark of it begins anew, found by marking it.
func (r *moving) marked(event progress.Event) (out []PreviewNode) {
	node := event.Mark.Node
	out = append(out, PreviewNode{Name: r.plan.graph.At(node).Name, State: r.snap.Nodes[node].State, Effect: EffectMark})
	was := slices.Clone(r.snap.Nodes)
	steps := progress.Advance(r.plan.graph, &r.snap, []progress.Event{event})
	r.snap.Nodes = was
	for _, s := range steps {
		if s.Reset != nil && s.Reset.Node != node {
			out = append(out, r.seen(s.Reset.Node))
		}
	}
	return out
}

// stale are the nodes after some that are begun anew which did their work, or do it, and stay as they are.
func (r *moving) stale(anew []PreviewNode) (names []string) {
	begun, below := make([]bool, len(r.snap.Nodes)), make([]bool, len(r.snap.Nodes))
	for _, n := range anew {
		if i, ok := r.plan.graph.Index(n.Name); ok {
			begun[i] = true
		}
	}
	for i := range r.snap.Nodes {
		v, n := r.plan.graph.At(i), &r.snap.Nodes[i]
		for _, p := range v.Parents {
			below[i] = below[i] || begun[p] || below[p]
		}
		worked := n.State == progress.Succeeded || n.State == progress.Failed || n.State == progress.Running
		if below[i] && !begun[i] && worked && n.Reason != progress.ReasonMarked && n.Reason != progress.ReasonTest {
			names = append(names, v.Name)
		}
	}
	return names
}

// unended are the nodes that a cancel would end: all that have not ended, finally nodes only at the second time.
func (r *moving) unended() (out []PreviewNode) {
	for i := range r.snap.Nodes {
		v := r.plan.graph.At(i)
		if !r.snap.Nodes[i].State.Terminal() && (!v.Node.Finally || r.snap.Run.Canceling || r.snap.Run.State == progress.Queued) {
			out = append(out, PreviewNode{Name: v.Name, State: r.snap.Nodes[i].State, Effect: EffectCancel})
		}
	}
	return out
}

// fingerprint changes whenever anything about the run does.
func (r *moving) fingerprint() string {
	h := fnv.New64a()
	note := func(n *progress.Node) { fmt.Fprintf(h, "%s %d %d;", n.State, n.Generation, n.Attempt) }
	fmt.Fprintf(h, "%s %d %t %t %t;", r.row.State, r.row.Generation, r.row.Canceling, r.row.TimedOut, r.row.Held)
	for i := range r.snap.Nodes {
		note(&r.snap.Nodes[i])
		for s := range r.snap.Nodes[i].Shards {
			note(&r.snap.Nodes[i].Shards[s])
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

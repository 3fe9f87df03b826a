package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// triggerTest is the trigger of test runs.
const triggerTest = "test"

// SelectionError says what is wrong with what a test run is about: the nodes it names, and the outputs it gives.
type SelectionError struct{ Nodes, Outputs []string }

// Error says all of it.
func (e *SelectionError) Error() string {
	return "test run: " + strings.Join(slices.Concat(e.Nodes, e.Outputs), "; ")
}

// test makes a run one of only some nodes: the others have ended before it begins, as successes.
func (r *prepared) test(ctx context.Context, s *store.Store, t *store.Test) error {
	if err := r.checkSelection(t); err != nil {
		return err
	}
	newest, err := s.NewestSuccess(ctx, r.run.Workflow)
	if err != nil {
		return err
	}
	only := slices.Compact(slices.Sorted(slices.Values(t.Nodes)))
	r.run.Trigger = triggerTest
	r.run.Origin, r.run.Undecided = &store.Origin{OnlyNodes: only}, true
	read := r.readBy(only)
	for i := range r.plan.graph.Len() {
		name := r.plan.graph.At(i).Name
		if _, runs := slices.BinarySearch(only, name); runs {
			continue
		}
		c := store.Copy{Node: name, State: progress.Succeeded, Reason: progress.ReasonTest, Output: t.Outputs[name]}
		if c.Output == nil && read[name] {
			c.From = newest
		}
		r.run.Origin.Copies = append(r.run.Origin.Copies, c)
	}
	return nil
}

func (r *prepared) checkSelection(t *store.Test) error {
	var wrong SelectionError
	if len(t.Nodes) == 0 {
		wrong.Nodes = append(wrong.Nodes, "no node is named")
	}
	for _, name := range t.Nodes {
		if _, ok := r.plan.graph.Index(name); !ok {
			wrong.Nodes = append(wrong.Nodes, fmt.Sprintf("the version has no node %q", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Outputs)) {
		_, known := r.plan.graph.Index(name)
		switch err := dag.CheckValue(t.Outputs[name]); {
		case !known:
			wrong.Outputs = append(wrong.Outputs, fmt.Sprintf("the version has no node %q", name))
		case slices.Contains(t.Nodes, name):
			wrong.Outputs = append(wrong.Outputs, fmt.Sprintf("%q runs, so its output is its own", name))
		case err != nil:
			wrong.Outputs = append(wrong.Outputs, fmt.Sprintf("the output of %q: %s", name, err))
		}
	}
	if wrong.Nodes == nil && wrong.Outputs == nil {
		return nil
	}
	return &wrong
}

// readBy are the nodes whose outputs matter to some: those that their expressions use, and their direct parents, whose outputs people look
// for. The run's own output counts too.
func (r *prepared) readBy(names []string) map[string]bool {
	g := r.plan.graph
	read := make(map[string]bool)
	for _, name := range names {
		i, _ := g.Index(name)
		for _, of := range g.At(i).Reads {
			read[of] = true
		}
		for _, p := range g.At(i).Parents {
			read[g.At(p).Name] = true
		}
	}
	if g.Output() != nil {
		for _, of := range g.Output().Nodes() {
			read[of] = true
		}
	}
	return read
}

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/expr"
	"github.com/ax-run/ax/internal/store"
)

// maxItems is how many shards a list may have (S21).
const maxItems = 10_000

// evaluation answers what a run's expressions say inside the transaction that moves it: history as that sees it, and the results that
// it is about to write. It implements progress.Evaluator.
type evaluation struct {
	ctx    context.Context
	tx     pgx.Tx
	engine *Engine
	run    *moving
	// stored are the outputs that history had before this movement, by name.
	stored map[string]json.RawMessage
	// items are the lists that nodes split over in this movement, by position.
	items map[int][]byte
	// instants are what nodes wait for, by position.
	instants map[int]time.Time
	// err is a fault that is not an expression's own, such as a lost connection: the movement fails with it.
	err error
}

// When implements progress.Evaluator.
func (e *evaluation) When(i int) (bool, *progress.Error) {
	vars, err := e.know(i)
	if err != nil {
		return false, err
	}
	holds, failure := e.run.plan.graph.At(i).When.EvalBool(e.ctx, vars)
	return holds, e.fault(failure)
}

// Branch implements progress.Evaluator.
func (e *evaluation) Branch(i int) ([]int, *progress.Error) {
	vars, err := e.know(i)
	if err != nil {
		return nil, err
	}
	v := e.run.plan.graph.At(i)
	names := v.Node.Branch.Default
	for k, arm := range v.Cases {
		holds, failure := arm.EvalBool(e.ctx, vars)
		if failure != nil {
			return nil, e.fault(failure)
		}
		if holds {
			names = v.Node.Branch.Cases[k].To
			break
		}
	}
	var taken []int
	for _, name := range names {
		if at, ok := e.run.plan.graph.Index(name); ok {
			taken = append(taken, at)
		}
	}
	slices.Sort(taken)
	return taken, nil
}

// Expand implements progress.Evaluator.
func (e *evaluation) Expand(i int) (int, *progress.Error) {
	v := e.run.plan.graph.At(i)
	if s := v.Node.Shards; s == dag.ShardsWorkers || s == dag.ShardsCapacity {
		return e.expandWorkers(i, v.Node)
	}
	if v.ForEach == nil {
		n, err := strconv.Atoi(string(v.Node.Shards))
		if err != nil {
			return 0, &progress.Error{Class: progress.Permanent, Code: codeExpression, Message: fmt.Sprintf("shards: %s is not a number", v.Node.Shards)}
		}
		return n, nil
	}
	vars, err := e.know(i)
	if err != nil {
		return 0, err
	}
	list, failure := v.ForEach.Eval(e.ctx, vars)
	if failure != nil {
		return 0, e.fault(failure)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return 0, &progress.Error{Class: progress.Permanent, Code: "not_a_list", Message: fmt.Sprintf("for_each gave %.80s, not a list", list)}
	}
	if len(items) > maxItems {
		return 0, &progress.Error{Class: progress.Permanent, Code: "too_many_items",
			Message: fmt.Sprintf("for_each gave %d items, at most %d are run", len(items), maxItems)}
	}
	if e.items == nil {
		e.items = make(map[int][]byte)
	}
	e.items[i] = list
	return len(items), nil
}

// expandWorkers splits a node over the workers that would take it now: suspect ones are left out (S21). The names of those that shards are made for
// are kept as the shards' items.
func (e *evaluation) expandWorkers(i int, n *dag.Node) (int, *progress.Error) {
	place := e.run.plan.places[i]
	workers, err := e.engine.store.Candidates(e.ctx, e.tx, store.BaseQueue(place.Queue), n.Labels)
	if err != nil {
		return 0, e.fault(err)
	}
	capacity, names := 0, []string{}
	for _, w := range workers {
		if slices.Contains(w.Kinds, place.Kind) {
			names = append(names, w.Name)
			capacity += w.Capacity
		}
	}
	total := len(names)
	if n.Shards == dag.ShardsCapacity {
		total = capacity
	} else if err := e.keepItems(i, names); err != nil {
		return 0, err
	}
	if total > maxItems {
		return 0, &progress.Error{Class: progress.Permanent, Code: "too_many_shards",
			Message: fmt.Sprintf("the workers make %d shards, at most %d are run", total, maxItems)}
	}
	return total, nil
}

// keepItems notes what a node's shards are about.
func (e *evaluation) keepItems(i int, items []string) *progress.Error {
	list, err := json.Marshal(items)
	if err != nil {
		return &progress.Error{Class: progress.System, Code: codeInternal, Message: err.Error()}
	}
	if e.items == nil {
		e.items = make(map[int][]byte)
	}
	e.items[i] = list
	return nil
}

// Until implements progress.Evaluator.
func (e *evaluation) Until(i int) *progress.Error {
	vars, err := e.know(i)
	if err != nil {
		return err
	}
	out, failure := e.run.plan.graph.At(i).Until.Eval(e.ctx, vars)
	if failure != nil {
		return e.fault(failure)
	}
	var at *time.Time
	if err := json.Unmarshal(out, &at); err != nil || at == nil {
		return &progress.Error{Class: progress.Permanent, Code: codeExpression, Message: fmt.Sprintf("wait.until gave %.80s, not an instant", out)}
	}
	if e.instants == nil {
		e.instants = make(map[int]time.Time)
	}
	e.instants[i] = *at
	return nil
}

// wait is how long a wait node waits from now on. An instant that has passed is no wait; nor is one that could be told when the node's rule
// came to hold, but cannot be any more now that its run is released.
func (e *evaluation) wait(i int) time.Duration {
	v := e.run.plan.graph.At(i)
	if v.Until == nil {
		return time.Duration(v.Node.Wait.For)
	}
	at, known := e.instants[i]
	if !known && e.Until(i) == nil {
		at = e.instants[i]
	}
	return max(at.Sub(e.run.row.Now), 0)
}

// fault tells an expression's own error from the machine's.
func (e *evaluation) fault(err error) *progress.Error {
	if err == nil {
		return nil
	}
	if own := (*expr.EvalError)(nil); !errors.As(err, &own) {
		e.err = fmt.Errorf("evaluate: %w", err)
	}
	return &progress.Error{Class: progress.Permanent, Code: codeExpression, Message: err.Error()}
}

// know gathers what node i's expressions may read, as things are now.
func (e *evaluation) know(i int) (expr.Vars, *progress.Error) {
	vars, err := e.gather(e.run.plan.graph.At(i).Reads)
	if err != nil {
		e.err = err
		return expr.Vars{}, &progress.Error{Class: progress.System, Code: codeInternal, Message: err.Error()}
	}
	return vars, nil
}

func (e *evaluation) gather(reads []string) (expr.Vars, error) {
	facts, err := e.engine.facts.get(e.ctx, e.run.row.ID)
	if err != nil {
		return expr.Vars{}, err
	}
	vars := runVars(facts)
	vars.Nodes = make(map[string]json.RawMessage)
	var stored []string
	for _, name := range reads {
		at, _ := e.run.plan.graph.Index(name)
		out, known := e.fresh(at)
		if vars.Nodes[name] = out; !known {
			stored = append(stored, name)
		}
	}
	return vars, e.read(stored, vars.Nodes)
}

// fresh is the output of a node that this very movement decides, or that has none; known is false when history has it.
func (e *evaluation) fresh(at int) (out json.RawMessage, known bool) {
	n := &e.run.snap.Nodes[at]
	switch {
	case n.State != progress.Succeeded || n.Reason == progress.ReasonMarked:
		return nil, true
	case n.Reason == progress.ReasonBranch:
		return e.run.takenNames(n.Taken), true
	}
	got, ok := e.run.results[spot{at, store.WholeNode}]
	if !ok {
		return nil, false
	}
	return got.f.outcome.Output, true
}

// read fetches outputs, once a movement; those of split nodes are laid over with the shards that this movement ends.
func (e *evaluation) read(names []string, into map[string]json.RawMessage) error {
	var missing []string
	for _, name := range names {
		if _, ok := e.stored[name]; !ok {
			missing = append(missing, name)
		}
	}
	if e.stored == nil {
		e.stored = make(map[string]json.RawMessage)
	}
	if len(missing) > 0 {
		if err := e.fetch(missing); err != nil {
			return err
		}
	}
	for _, name := range names {
		into[name] = e.stored[name]
	}
	return nil
}

func (e *evaluation) fetch(names []string) error {
	outs, err := e.engine.store.OutputsIn(e.ctx, e.tx, e.run.row.ID, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		e.stored[name] = nil
	}
	for _, o := range outs {
		e.stored[o.Node] = o.Output
	}
	for _, name := range names {
		at, _ := e.run.plan.graph.Index(name)
		if e.run.snap.Nodes[at].Shards != nil && e.stored[name] == nil {
			if err := e.assemble(at, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// assemble makes the output of a split node that this very movement ends.
func (e *evaluation) assemble(at int, name string) error {
	list, err := e.engine.store.ShardOutputs(e.ctx, e.tx, e.run.row.ID, name, len(e.run.snap.Nodes[at].Shards))
	if err != nil {
		return err
	}
	for s := range list {
		if got, ok := e.run.results[spot{at, s}]; ok && got.f.outcome.Err == nil {
			list[s] = got.f.outcome.Output
		}
		if len(list[s]) == 0 {
			list[s] = json.RawMessage("null")
		}
	}
	out, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("put together the output of %s: %w", name, err)
	}
	e.stored[name] = out
	return nil
}

// runVars are the variables that every expression of a run has.
func runVars(f *store.RunFacts) expr.Vars {
	vars := expr.Vars{Params: f.Params, ScheduledAt: f.ScheduledAt, LogicalDate: f.LogicalDate, RunID: f.ID.String(), Workflow: f.Workflow}
	if f.PreviousScheduledAt != nil {
		vars.PreviousScheduledAt = *f.PreviousScheduledAt
	}
	return vars
}

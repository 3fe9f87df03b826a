package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// maxNesting is how deep child runs may nest (S13).
const maxNesting = 10

// wire connects the workflow with those that it waits for and those that it runs as nodes, and refuses what cannot be: a workflow or node
// that is not there, a cycle over any number of workflows, and too deep a nesting (S13).
func (r *registration) wire(ctx context.Context, def *dag.Definition) error {
	terms, places := upstreamTerms(def)
	calls := childCalls(def, r.Namespace)
	if len(terms)+len(calls) > 0 {
		if err := r.store.LockWiring(ctx, r.tx); err != nil {
			return err
		}
	}
	up := store.Upstreams{}
	if def.Upstream != nil {
		up.Any, up.Window = len(def.Upstream.Any) > 0, time.Duration(def.Upstream.Window)
	}
	for i, t := range terms {
		row, err := r.term(ctx, i, t, places[i])
		if err != nil {
			return err
		}
		up.Terms = append(up.Terms, row)
	}
	if err := r.problems.Err(); err != nil {
		return err
	}
	if len(terms)+len(calls) > 0 {
		if err := r.checkWiring(ctx, terms, places, calls); err != nil {
			return err
		}
	}
	if err := r.store.SetChildCalls(ctx, r.tx, r.workflow.ID, slices.Collect(maps.Keys(calls))); err != nil {
		return err
	}
	return r.store.SetUpstreams(ctx, r.tx, r.workflow.ID, up)
}

// upstreamTerms are a definition's terms, and their places in it.
func upstreamTerms(def *dag.Definition) (terms []dag.Term, places []string) {
	if def.Upstream == nil {
		return nil, nil
	}
	for key, list := range map[string][]dag.Term{"all": def.Upstream.All, "any": def.Upstream.Any} { // one of them is empty
		for i, t := range list {
			terms, places = append(terms, t), append(places, fmt.Sprintf("upstream.%s[%d]", key, i))
		}
	}
	return terms, places
}

// childCalls are the workflows that a definition runs as nodes, each with the place of the first such node.
func childCalls(def *dag.Definition, namespace string) map[store.Ref]string {
	calls := make(map[store.Ref]string)
	for _, name := range slices.Sorted(maps.Keys(def.Nodes)) {
		if c := def.Nodes[name].Child; c != nil {
			ref := store.Ref{Namespace: cmp.Or(c.Namespace, namespace), Code: c.Code}
			if calls[ref] == "" {
				calls[ref] = "nodes." + name + ".workflow"
			}
		}
	}
	return calls
}

// term resolves one term; what it names must be there.
func (r *registration) term(ctx context.Context, place int, t dag.Term, at string) (store.Term, error) {
	ref := r.ref(t)
	id, has, err := r.store.FindRef(ctx, r.tx, ref, t.Node)
	row := store.Term{Place: place, Upstream: id, Node: t.Node, Outcome: t.On, Match: t.Match, Take: t.Take}
	switch {
	case errors.Is(err, store.ErrNotFound):
		r.problem(at+".workflow", dag.CodeUnknownWorkflow, t.Workflow, "there is no workflow %s to wait for", r.name(ref)).
			Hint = "register it first"
	case err != nil:
		return row, err
	case t.Node != "" && !has:
		r.problem(at+".node", dag.CodeUnknownNode, t.Node, "workflow %s has no node %q", r.name(ref), t.Node)
	}
	return row, nil
}

func (r *registration) ref(t dag.Term) store.Ref {
	return store.Ref{Namespace: cmp.Or(t.Namespace, r.Namespace), Code: t.Workflow}
}

func (r *registration) problem(at, code string, value any, message string, args ...any) *dag.Problem {
	r.problems = append(r.problems, dag.Problem{
		Path: at, Severity: dag.SeverityError, Code: code, Message: fmt.Sprintf(message, args...), Value: value,
	})
	return &r.problems[len(r.problems)-1]
}

// name is a workflow as people write it from this one's namespace.
func (r *registration) name(ref store.Ref) string {
	if ref.Namespace == r.Namespace {
		return ref.Code
	}
	return ref.Namespace + "/" + ref.Code
}

// UnknownChildren warns of workflows that a definition runs as nodes and that are not there (yet): a parent may be registered before its
// child, and such a node fails if it runs first.
func UnknownChildren(ctx context.Context, s *store.Store, tx pgx.Tx, namespace string, def *dag.Definition) (dag.Problems, error) {
	var warnings dag.Problems
	calls := childCalls(def, namespace)
	for ref, place := range calls {
		if ref == (store.Ref{Namespace: namespace, Code: def.Workflow}) {
			continue // a cycle, which is refused
		}
		_, _, err := s.FindRef(ctx, tx, ref, "")
		if errors.Is(err, store.ErrNotFound) {
			warnings = append(warnings, dag.Problem{Path: place, Severity: dag.SeverityWarning, Code: dag.CodeUnknownWorkflow, Value: ref.Code,
				Message: fmt.Sprintf("there is no workflow %s in the namespace %s", ref.Code, ref.Namespace),
				Hint:    "register it before this one runs, or the node fails"})
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(warnings, func(a, b dag.Problem) int { return strings.Compare(a.Path, b.Path) })
	return warnings, nil
}

// checkWiring refuses a cycle that this definition would close, naming it, and child runs that would nest too deep.
func (r *registration) checkWiring(ctx context.Context, terms []dag.Term, places []string, calls map[store.Ref]string) error {
	edges, err := r.store.Edges(ctx, r.tx)
	if err != nil {
		return err
	}
	self := store.Ref{Namespace: r.Namespace, Code: r.Graph.Definition().Workflow}
	edges = slices.DeleteFunc(edges, func(e store.Edge) bool { return e.Child && e.From == self || !e.Child && e.To == self })
	at := make(map[store.Edge]string)
	for i, t := range terms {
		e := store.Edge{From: r.ref(t), To: self}
		edges, at[e] = append(edges, e), places[i]
	}
	for ref, place := range calls {
		e := store.Edge{From: self, To: ref, Child: true}
		edges, at[e] = append(edges, e), place
	}
	if cycle := shortestCycle(edges, self); cycle != nil {
		place := ""
		for _, e := range cycle {
			place = cmp.Or(place, at[e])
		}
		r.problem(place, dag.CodeCycle, nil, "the workflows lead back to each other: %s", r.path(cycle)).
			Hint = "a workflow leads to those that wait for it, and to those that it runs as nodes"
		return r.problems.Err()
	}
	if chain := longestNesting(edges, self); len(chain) > maxNesting {
		r.problem(at[chain[slices.IndexFunc(chain, func(e store.Edge) bool { return e.From == self || e.To == self })]], dag.CodeOutOfRange, nil,
			"child runs would nest %d deep, and %d is the most: %s", len(chain), maxNesting, r.path(chain))
	}
	return r.problems.Err()
}

func (r *registration) path(edges []store.Edge) string {
	names := []string{r.name(edges[0].From)}
	for _, e := range edges {
		names = append(names, r.name(e.To))
	}
	return strings.Join(names, " → ")
}

// shortestCycle is a shortest way from a workflow back to itself; nil when there is none.
func shortestCycle(edges []store.Edge, self store.Ref) []store.Edge {
	out := make(map[store.Ref][]store.Edge)
	for _, e := range edges {
		out[e.From] = append(out[e.From], e)
	}
	came := make(map[store.Ref]store.Edge)
	for queue := []store.Ref{self}; len(queue) > 0; queue = queue[1:] {
		for _, e := range out[queue[0]] {
			if _, seen := came[e.To]; seen {
				continue
			}
			came[e.To] = e
			if e.To == self {
				return way(came, self)
			}
			queue = append(queue, e.To)
		}
	}
	return nil
}

// way follows a search back from a workflow to itself.
func way(came map[store.Ref]store.Edge, self store.Ref) []store.Edge {
	path := []store.Edge{came[self]}
	for path[0].From != self {
		path = slices.Insert(path, 0, came[path[0].From])
	}
	return path
}

// longestNesting is the longest chain of runs that run each other as nodes and has a workflow in it. There is no cycle.
func longestNesting(edges []store.Edge, self store.Ref) []store.Edge {
	up, down := make(map[store.Ref][]store.Edge), make(map[store.Ref][]store.Edge)
	for _, e := range edges {
		if e.Child {
			up[e.To], down[e.From] = append(up[e.To], e), append(down[e.From], e)
		}
	}
	above := longest(up, self, func(e store.Edge) store.Ref { return e.From })
	slices.Reverse(above)
	return append(above, longest(down, self, func(e store.Edge) store.Ref { return e.To })...)
}

// longest is the longest way on from a workflow.
func longest(ways map[store.Ref][]store.Edge, from store.Ref, next func(store.Edge) store.Ref) []store.Edge {
	known := make(map[store.Ref][]store.Edge)
	var visit func(store.Ref) []store.Edge
	visit = func(at store.Ref) []store.Edge {
		if best, seen := known[at]; seen {
			return best
		}
		known[at] = nil // where others have closed a cycle of their own, it ends here
		var best []store.Edge
		for _, e := range ways[at] {
			if rest := visit(next(e)); len(rest)+1 > len(best) {
				best = append([]store.Edge{e}, rest...)
			}
		}
		known[at] = best
		return best
	}
	return slices.Clone(visit(from))
}

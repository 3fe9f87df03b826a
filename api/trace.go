package api

import (
	"context"
	"net/http"
	"sort"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// Transition is one change of state of a run or of one of its nodes (S3).
type Transition struct {
	At      time.Time  `json:"at"`
	Node    string     `json:"node,omitempty" doc:"Absent for the run itself."`
	NodeRun string     `json:"node_run,omitempty" doc:"The execution id."`
	Attempt int        `json:"attempt,omitempty"`
	From    string     `json:"from,omitempty" doc:"Absent where it begins."`
	To      string     `json:"to"`
	Actor   string     `json:"actor" doc:"planner, engine, worker:ID or user:NAME."`
	Reason  string     `json:"reason,omitempty"`
	Error   *NodeError `json:"error,omitempty"`
}

type traceInput struct {
	OfRun
	PageInput
}

func (a *API) traceRoute() {
	handle(a, op(http.MethodGet, ns+"/runs/{run}/trace", "get-trace", "runs"),
		"Tell every transition of a run and its nodes, oldest first", a.trace)
}

// traceMark is a place in a trace: after Told transitions of one instant.
type traceMark struct {
	At   time.Time
	Told int
}

func (a *API) trace(ctx context.Context, in *traceInput) (*body[Page[Transition]], error) {
	from, err := readCursor(in.Cursor, traceMark{})
	if err != nil {
		return nil, err
	}
	run, err := a.run(ctx, in.OfRun)
	if err != nil {
		return nil, err
	}
	facts, err := a.Store.NodeFacts(ctx, run.ID, nil, 0)
	if err != nil {
		return nil, err
	}
	told := number(compose(run, facts))
	rest := told[sort.Search(len(told), func(i int) bool { return told[i].after(from) }):]
	return answerOf(paged(rest, in.Limit,
		func(n numbered) Transition { return n.Transition },
		func(n numbered) traceMark { return n.mark }))
}

// numbered is a transition and the place after it.
type numbered struct {
	Transition
	mark traceMark
}

func (n numbered) after(m traceMark) bool {
	return n.At.After(m.At) || n.At.Equal(m.At) && n.mark.Told > m.Told
}

// number gives each of some ordered transitions its place.
func number(all []Transition) []numbered {
	out := make([]numbered, len(all))
	for i, t := range all {
		out[i] = numbered{t, traceMark{At: t.At, Told: 1}}
		if i > 0 && all[i-1].At.Equal(t.At) {
			out[i].mark.Told = out[i-1].mark.Told + 1
		}
	}
	return out
}

// compose tells the transitions of a run in order, from its row and those of its nodes, which are written once.
func compose(run store.RunRow, facts store.NodeFacts) []Transition {
	var t tale
	t.run(run)
	before := map[nodeKey]*store.NodeRecord{}
	for i := range facts.History {
		r := &facts.History[i]
		key := nodeKey{r.Attempt.Node, r.Attempt.Shard}
		t.ended(r, before[key])
		before[key] = r
	}
	for i := range facts.Live {
		l := &facts.Live[i]
		t.live(l, before[nodeKey{l.Attempt.Node, l.Attempt.Shard}])
	}
	return t.inOrder()
}

type nodeKey struct {
	node  string
	shard int
}

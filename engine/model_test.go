package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/reference"
	"github.com/ax-run/ax/internal/store"
)

// together is how many random runs go at the same time.
const together = 8

// TestEngineFollowsTheReference lets random runs end, and people rerun and mark their nodes then, and wants every node and shard to be
// what the reference says.
func TestEngineFollowsTheReference(t *testing.T) {
	t.Parallel()
	b := newModelBed(t)
	policies := reference.Policies([]dag.OnFailure{dag.AbortChain, dag.AbortChain, dag.SkipNode}, []time.Duration{0, 0, 3 * time.Millisecond})
	options := reference.Options{MaxNodes: 8, Rules: reference.AllRules, Policies: policies, Rich: true, Answers: 1, Pools: []string{"narrow", "wide"},
		Inputs: scripts("ok", "ok", "ok", "ok", "skip", "permanent", "busy", "full", "timeout", "lost", "handed_back"), Works: works}
	suspected := b.suspect()
	rapid.Check(t, func(t *rapid.T) {
		var stories []*story
		for range together {
			stories = append(stories, b.draw(t, options))
		}
		var all sync.WaitGroup
		for _, s := range stories {
			all.Go(func() { s.err = s.tell(context.Background()) })
		}
		all.Wait()
		for _, s := range stories {
			if s.err != nil { // rapid forgets the message of what it cannot repeat
				b.Logf("%v\n%s\n%+v", s.err, s.shape.Graph.Canonical(), s.acts)
			}
			require.NoError(t, s.err, "%s\n%+v", s.shape.Graph.Canonical(), s.acts)
		}
		b.clear(t)
	})
	require.Empty(t, suspected())
}

// works are what nodes without bodies do: call a workflow that succeeds or fails, or ask a person.
var works = rapid.SampledFrom([]*dag.Work{nil, nil, nil, nil, nil, nil, nil, {Child: &dag.Child{Code: "well"}}, {Child: &dag.Child{Code: "badly"}}, {Approval: &dag.Approval{}}})

// modelBed is a bed with two processes, what random workflows refer to, and a person who approves of everything.
type modelBed struct {
	*bed
	workflows int
}

func newModelBed(t *testing.T) *modelBed {
	handlers := map[string]Executor{"act": ExecutorFunc(scripted)}
	b := &modelBed{bed: newBed(t, handlers)}
	b.start("second", handlers)
	b.setPool("narrow", slots(2))
	b.setPool("wide", slots(8))
	b.register("workflow: well\noutput: nodes.a.output\nnodes: {a: {handler: act, inputs: {ends: [[ok]]}}}")
	b.register("workflow: badly\nnodes: {a: {handler: act, inputs: {ends: [[permanent]]}}}")
	return b
}

// story is a random run and what people do to it each time it has ended.
type story struct {
	*modelBed
	shape   reference.Shape
	limited bool
	acts    []Act
	run     store.RunID
	twin    *reference.Twin
	// generation is the run's.
	generation int
	err        error
}

func (b *modelBed) draw(t *rapid.T, options reference.Options) *story {
	b.workflows++
	s := &story{modelBed: b, generation: 1, limited: rapid.Bool().Draw(t, "limited")}
	options.Definition = dag.Definition{Meta: dag.Meta{Workflow: fmt.Sprintf("model%d", b.workflows)}}
	if s.limited {
		options.Definition.Concurrency = &dag.Concurrency{MaxRuns: 1}
	}
	s.shape = reference.Draw(t, options)
	for range rapid.IntRange(0, 3).Draw(t, "acts") {
		s.acts = append(s.acts, drawAct(t, s.shape))
	}
	s.run = b.launch(b.register(string(s.shape.Graph.Canonical())), 1, "{}")[0]
	return s
}

// drawAct draws a rerun or a mark.
func drawAct(t *rapid.T, s reference.Shape) Act {
	names := rapid.SampledFrom(s.Nodes)
	if rapid.IntRange(0, 2).Draw(t, "mark") == 0 {
		return Act{Actor: "user:test", Mark: &Mark{Node: names.Draw(t, "node").Name,
			State: rapid.SampledFrom([]progress.State{progress.Succeeded, progress.Failed, progress.Skipped}).Draw(t, "as")}}
	}
	r := &Rerun{Scope: rapid.SampledFrom([]progress.Scope{progress.ScopeNode, progress.ScopeDownstream, progress.ScopeFailed, progress.ScopeAll,
		progress.ScopeFailedShards}).Draw(t, "scope")}
	for _, n := range rapid.SliceOfN(names, 0, 3).Draw(t, "nodes") {
		r.Nodes = append(r.Nodes, n.Name)
	}
	return Act{Actor: "user:test", Rerun: r}
}

// tell lets the run end, compares it with the reference, and goes on with the next act.
func (s *story) tell(ctx context.Context) error {
	fresh := progress.Fresh(s.shape.Graph, time.Time{}, 0)
	fresh.Run.Limited = s.limited
	s.twin = reference.NewTwin(s.shape, &fresh)
	s.twin.Apply(nil)
	s.end()
	for at := 0; ; at++ {
		if err := s.approve(ctx); err != nil {
			return err
		}
		if err := s.compare(ctx); err != nil || at == len(s.acts) {
			return err
		}
		changes := s.act(&s.acts[at])
		switch err := s.engine.Do(ctx, s.run, s.acts[at]); {
		case changes && err != nil, !changes && !errors.Is(err, ErrPointless):
			return fmt.Errorf("act %d: %w, but there is something to do: %t", at, err, changes)
		}
	}
}

// approve says yes to whatever the run asks, until it has ended.
func (s *story) approve(ctx context.Context) error {
	quiet := make(chan error, 1)
	go func() { quiet <- s.quiet(s.run) }()
	for {
		select {
		case err := <-quiet:
			return err
		case <-time.After(5 * time.Millisecond):
		}
		for _, n := range s.shape.Nodes {
			if n.Work == nil || n.Work.Approval == nil {
				continue
			}
			err := s.engine.Decide(ctx, store.Attempt{Run: s.run, Node: n.Name, Shard: store.WholeNode}, Decision{Actor: "user:test", Approved: true})
			if err != nil && !errors.Is(err, ErrNotAsking) {
				return err
			}
		}
	}
}

// act does to the twin what is done to the run, lets it end again, and reports whether anything changed.
func (s *story) act(act *Act) bool {
	before := s.twin.Generations()
	event := progress.Event{}
	at := func(name string) int { i, _ := s.shape.Graph.Index(name); return i }
	if act.Mark != nil {
		event.Mark = &progress.Mark{Node: at(act.Mark.Node), State: act.Mark.State}
	} else {
		event.Rerun = &progress.Rerun{Scope: act.Rerun.Scope}
		for _, name := range act.Rerun.Nodes {
			event.Rerun.Nodes = append(event.Rerun.Nodes, at(name))
		}
	}
	s.twin.Apply([]progress.Event{event})
	if s.twin.Generations() == before {
		return false
	}
	s.generation++
	s.end()
	return true
}

// end lets everything of the twin run to its end.
func (s *story) end() {
	for !s.twin.Run.State.Terminal() {
		if s.twin.Run.State == progress.Queued {
			s.twin.Run.State = progress.Running
			s.twin.Apply(nil)
			continue
		}
		for _, at := range reference.Spots(&s.twin.Snapshot) {
			if n := reference.At(&s.twin.Snapshot, at); reference.Live(n.State) && n.Shards == nil {
				n.State = progress.Running
				s.twin.Apply([]progress.Event{{Result: s.result(at, n)}})
				break
			}
		}
	}
}

// result is how the attempt of a node ends.
func (s *story) result(at reference.Spot, n *progress.Node) *progress.Result {
	node := s.shape.Nodes[at.Node]
	var o Outcome
	switch {
	case node.Work == nil:
		o = endedBy(words(node.Inputs["ends"].([][]string)).word(at.Shard, n.Generation, n.Attempt))
	case node.Work.Child != nil && node.Work.Child.Code == "badly":
		o = endedBy("permanent")
	}
	return &progress.Result{Node: at.Node, Shard: at.Shard, Err: o.Err, Skipped: o.Skipped}
}

// compare wants the run and its twin to be the same.
func (s *story) compare(ctx context.Context) error {
	var state progress.State
	var generation, warnings int
	err := s.pool.QueryRow(ctx, "SELECT state, generation, warnings FROM ax.runs WHERE id = $1", s.run).Scan(&state, &generation, &warnings)
	if err != nil {
		return err
	}
	if state != s.twin.Run.State || generation != s.generation || warnings != s.twin.Warnings() {
		return fmt.Errorf("the run is %s in generation %d with %d warnings, but should be %s in %d with %d",
			state, generation, warnings, s.twin.Run.State, s.generation, s.twin.Warnings())
	}
	got, err := s.wholly(s.run)
	if err != nil {
		return err
	}
	for _, at := range reference.Spots(&s.twin.Snapshot) {
		spot := fmt.Sprintf("%s/%d", s.shape.Nodes[at.Node].Name, at.Shard)
		if want := told(reference.At(&s.twin.Snapshot, at)); got[spot] != want {
			return fmt.Errorf("%s is in %s, but should be in %s", spot, got[spot], want)
		}
	}
	return nil
}

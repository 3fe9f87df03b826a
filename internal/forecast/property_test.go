package forecast

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyWorld is a small world with everything in it. Each workflow fires once, so that its nodes can be told apart.
func anyWorld(t *rapid.T) World {
	w := World{From: noon, Until: at(600), Points: rapid.IntRange(1, 50).Draw(t, "points"), MaxSteps: 10_000}
	for i := range rapid.IntRange(0, 4).Draw(t, "resources") {
		w.Resources = append(w.Resources, Resource{Name: fmt.Sprint(i), Capacity: rapid.SampledFrom([]int{0, 1, 2, 5, Unlimited}).Draw(t, "capacity"),
			Every: rapid.SampledFrom([]time.Duration{0, 0, 0, minutes(0.5)}).Draw(t, "every"), Burst: rapid.IntRange(0, 3).Draw(t, "burst")})
	}
	for i := range rapid.IntRange(1, 12).Draw(t, "workflows") {
		w.Workflows = append(w.Workflows, anyWorkflow(t, len(w.Resources)))
		w = w.fire(i, float64(rapid.IntRange(-20, 60).Draw(t, "at")))
	}
	return w
}

func anyWorkflow(t *rapid.T, resources int) (flow Workflow) {
	for i := range rapid.IntRange(0, 6).Draw(t, "nodes") {
		n := Node{Typical: minutes(float64(rapid.IntRange(0, 10).Draw(t, "takes"))), Priority: rapid.IntRange(1, 4).Draw(t, "priority"),
			Copies: rapid.IntRange(0, 3).Draw(t, "copies")}
		n.Slow = n.Typical + minutes(float64(rapid.IntRange(0, 5).Draw(t, "more")))
		for p := range i {
			if rapid.Bool().Draw(t, "needs") {
				n.Needs = append(n.Needs, p)
			}
		}
		for r := range resources {
			if rapid.Bool().Draw(t, "uses") {
				n.Uses = append(n.Uses, Use{r, rapid.IntRange(1, 3).Draw(t, "weight")})
			}
		}
		flow.Nodes = append(flow.Nodes, n)
	}
	return flow
}

// span is when a copy of a node ran.
type span struct {
	node     *Node
	from, to time.Duration
}

// watched simulates a world once, and says when each node ran.
func watched(w *World) (*house, []span) {
	var spans []span
	var h *house
	h = newHouse(w, func(n *Node) time.Duration {
		spans = append(spans, span{n, h.now, h.now + n.Typical})
		return n.Typical
	})
	h.run()
	return h, spans
}

func TestCapacityIsNeverExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		_, spans := watched(&w)
		for i, r := range w.Resources {
			for _, moment := range spans {
				used := 0
				for _, s := range spans {
					if s.from <= moment.from && moment.from < s.to {
						for _, u := range s.node.Uses {
							if u.Resource == i {
								used += u.Weight
							}
						}
					}
				}
				require.LessOrEqual(t, used, r.Capacity)
			}
		}
	})
}

func TestDependenciesAreRespectedAndEachNodeRunsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		h, spans := watched(&w)
		of := make(map[*Node][]span)
		for _, s := range spans {
			of[s.node] = append(of[s.node], s)
		}
		for _, r := range h.runs {
			flow := &w.Workflows[r.Workflow]
			for i := range flow.Nodes {
				n := &flow.Nodes[i]
				require.LessOrEqual(t, len(of[n]), max(n.Copies, 1))
				if !r.Finished.IsZero() {
					require.Len(t, of[n], max(n.Copies, 1))
				}
				for _, s := range of[n] {
					require.GreaterOrEqual(t, s.from, r.Fired.Sub(w.From))
					for _, p := range n.Needs {
						parent := of[&flow.Nodes[p]]
						require.Len(t, parent, max(flow.Nodes[p].Copies, 1), "its parents have run")
						for _, before := range parent {
							require.GreaterOrEqual(t, s.from, before.to)
						}
					}
				}
			}
			if _, takes := Critical(flow.Nodes); !r.Finished.IsZero() {
				require.GreaterOrEqual(t, r.Finished.Sub(r.Started), takes)
			}
		}
	})
}

func TestWorkIsConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		_, spans := watched(&w)
		busy := make([]time.Duration, len(w.Resources))
		for _, s := range spans {
			for _, u := range s.node.Uses {
				if held := s.to - max(s.from, 0); held > 0 {
					busy[u.Resource] += time.Duration(u.Weight) * held
				}
			}
		}
		r := Simulate(w)
		for i, load := range r.Loads {
			// The last part of a stretch that does not divide evenly is lost: nanoseconds.
			require.InDelta(t, busy[i], load.Busy, 1000)
			var mean float64
			for _, p := range load.Points {
				mean += p.Mean * float64(w.Until.Sub(w.From)) / float64(w.Points)
				require.LessOrEqual(t, p.Mean, float64(p.Peak)+1e-9)
				require.LessOrEqual(t, p.Peak, load.Peak)
			}
			require.InDelta(t, float64(load.Busy), mean, 1e6)
		}
		require.Equal(t, r, Simulate(w), "the same world has the same future")
	})
}

// Nothing waits while there is room for it, and what ends frees who waits at once: with all capacities lifted, nothing waits.
func TestWithRoomForAllNothingWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		for i := range w.Resources {
			w.Resources[i] = Resource{Capacity: Unlimited}
		}
		r := Simulate(w)
		require.Empty(t, r.Collisions)
		for _, run := range r.Runs {
			_, takes := Critical(w.Workflows[run.Workflow].Nodes)
			require.Equal(t, run.Fired.Add(takes), run.Finished)
			require.Equal(t, Ends, run.Outcome)
			require.False(t, run.Late.Before(run.Finished))
		}
	})
}

// However runs overlap, the limit holds, and each run has exactly one fate.
func TestLimitsHoldWhateverThePolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flow := anyWorkflow(t, 1)
		flow.MaxRuns, flow.MaxQueued = rapid.IntRange(1, 3).Draw(t, "most"), rapid.IntRange(1, 3).Draw(t, "queue")
		flow.Overflow = rapid.SampledFrom([]Overflow{Queue, QueueLatest, Skip, CancelRunning}).Draw(t, "overflow")
		w := hour(flow).pool(4)
		for _, m := range rapid.SliceOfN(rapid.IntRange(0, 30), 0, 20).Draw(t, "fires") {
			w = w.fire(0, float64(m))
		}
		h := newHouse(&w, func(n *Node) time.Duration { return n.Typical })
		most := 0
		for h.events.len() > 0 {
			h.step()
			most = max(most, len(h.flows[0].running))
		}
		require.LessOrEqual(t, most, flow.MaxRuns)
		require.Empty(t, h.flows[0].running)
		require.Empty(t, h.flows[0].queued)
		for _, r := range h.runs {
			require.Equal(t, r.Outcome == Ends, !r.Finished.IsZero(), "%+v", r.Run)
			require.True(t, r.Outcome != Skipped && r.Outcome != Replaced || r.Started.IsZero())
		}
		require.Zero(t, h.resources[0].used)
	})
}

func TestCriticalIsTheLongestWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := anyWorkflow(t, 0).Nodes
		longest := make([]time.Duration, len(nodes)+1) // to the end of each node; the last is the longest of all
		for i, n := range nodes {
			for _, p := range n.Needs {
				longest[i] = max(longest[i], longest[p])
			}
			longest[i] += n.Typical
			longest[len(nodes)] = max(longest[len(nodes)], longest[i])
		}
		way, takes := Critical(nodes)
		require.Equal(t, longest[len(nodes)], takes)
		var sum time.Duration
		for i, n := range way {
			sum += nodes[n].Typical
			require.True(t, i == 0 || slices.Contains(nodes[n].Needs, way[i-1]))
		}
		require.Equal(t, takes, sum)
	})
}

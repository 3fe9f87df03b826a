package forecast

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func at(minutes float64) time.Time {
	return noon.Add(time.Duration(minutes * float64(time.Minute)))
}

func minutes(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }

// node is a step that takes so many minutes.
func node(takes float64, needs []int, uses ...Use) Node {
	return Node{Name: "n", Needs: needs, Typical: minutes(takes), Slow: minutes(2 * takes), Uses: uses, Priority: 2}
}

// hour is a world from noon to one o'clock, in minutes.
func hour(flows ...Workflow) World {
	return World{Workflows: flows, From: noon, Until: at(60), Points: 60, MaxSteps: 10_000}
}

func (w World) fire(flow int, minutes ...float64) World {
	for _, m := range minutes {
		w.Fires = append(w.Fires, Fire{Workflow: flow, Schedule: "s", At: at(m), Scheduled: at(m), Date: at(m).Format(time.TimeOnly)})
	}
	return w
}

func (w World) pool(capacity int) World {
	w.Resources = append(w.Resources, Resource{Name: fmt.Sprintf("p%d", len(w.Resources)), Capacity: capacity})
	return w
}

// lives says of each run when it was fired, started and ended, in minutes after noon, and how it fared.
func lives(r Result) (out []string) {
	since := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return fmt.Sprintf("%g", t.Sub(noon).Minutes())
	}
	for _, run := range r.Runs {
		out = append(out, fmt.Sprintf("%d: %s %s %s %s", run.Workflow, since(run.Fired), since(run.Started), since(run.Finished), run.Outcome))
	}
	return out
}

func TestNodesFollowTheirParents(t *testing.T) {
	// 0 → 1 → 3, 0 → 2 → 3, and 4 by itself, twice as long in copies.
	diamond := Workflow{Nodes: []Node{node(2, nil), node(3, []int{0}), node(5, []int{0}), node(1, []int{1, 2}), {Typical: minutes(4), Slow: minutes(4), Copies: 3}}}
	r := Simulate(hour(diamond).fire(0, 0, 10))
	require.Equal(t, []string{"0: 0 0 8 ends", "0: 10 10 18 ends"}, lives(r))
	require.Equal(t, at(16), r.Runs[0].Late)
	way, takes := Critical(diamond.Nodes)
	require.Equal(t, []int{0, 2, 3}, way)
	require.Equal(t, minutes(8), takes)
}

func TestAPoolLetsInWhatFits(t *testing.T) {
	// Three runs of a node that takes half of the pool, one of a node that takes all of it, one that is urgent.
	flows := []Workflow{{Nodes: []Node{node(10, nil, Use{0, 1})}}, {Nodes: []Node{node(5, nil, Use{0, 2})}}, {Nodes: []Node{node(1, nil, Use{0, 1})}}}
	flows[2].Nodes[0].Priority = 1
	r := Simulate(hour(flows...).pool(2).fire(0, 0, 0, 0).fire(1, 1).fire(2, 2))
	require.Equal(t, []string{"0: 0 0 10 ends", "0: 0 0 10 ends", "0: 0 0 20 ends", "1: 1 1 25 ends", "2: 2 2 11 ends"}, lives(r))
	require.Equal(t, minutes(10), r.Runs[2].Waited)
	require.Equal(t, []Collision{{Resource: 0, Workflow: -1, From: at(0), To: at(20), Most: 3, Workflows: []int{0, 1, 2}}}, r.Collisions)
	load := r.Loads[0]
	require.Equal(t, 2, load.Peak)
	require.Equal(t, minutes(3*10+2*5+1), load.Busy)
	require.Equal(t, minutes(10+19+8), load.Waited)
	require.Equal(t, Point{At: at(10), Mean: 2, Peak: 2, Waiting: 3}, load.Points[10])
	require.Equal(t, Point{At: at(30)}, load.Points[30])
}

func TestRunsOfAWorkflowOverlapAsItSays(t *testing.T) {
	for name, c := range map[string]struct {
		overflow Overflow
		want     []string
	}{
		"queue":  {Queue, []string{"0: 0 0 10 ends", "0: 1 10 20 ends", "0: 2 20 30 ends", "0: 3 - - skipped"}},
		"latest": {QueueLatest, []string{"0: 0 0 10 ends", "0: 1 - - replaced", "0: 2 - - replaced", "0: 3 10 20 ends"}},
		"skip":   {Skip, []string{"0: 0 0 10 ends", "0: 1 - - skipped", "0: 2 - - skipped", "0: 3 - - skipped"}},
		"cancel": {CancelRunning, []string{"0: 0 0 - canceled", "0: 1 1 - canceled", "0: 2 2 - canceled", "0: 3 3 13 ends"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := Workflow{Nodes: []Node{node(10, nil, Use{0, 1})}, MaxRuns: 1, MaxQueued: 2, Overflow: c.overflow}
			r := Simulate(hour(w).pool(1).fire(0, 0, 1, 2, 3))
			require.Equal(t, c.want, lives(r))
			require.Equal(t, 1, r.Loads[0].Peak)
		})
	}
	limited := Workflow{Nodes: []Node{node(10, nil)}, MaxRuns: 1, MaxQueued: 2}
	r := Simulate(hour(limited).fire(0, 0, 5))
	require.Equal(t, []Collision{{Resource: -1, Workflow: 0, From: at(5), To: at(10), Most: 1, Workflows: []int{0}}}, r.Collisions)
}

func TestWhatWaitsForOthersFollowsThem(t *testing.T) {
	flows := []Workflow{
		{Nodes: []Node{node(5, nil)}}, {Nodes: []Node{node(7, nil)}},
		{Nodes: []Node{node(1, nil)}, Upstream: &Upstream{Terms: []int{0, 1}, Match: ByInstant}},
		{Nodes: []Node{node(1, nil)}, Upstream: &Upstream{Terms: []int{0, 1}, Any: true, Match: ByDate}},
		{Nodes: []Node{node(1, nil)}, Upstream: &Upstream{Terms: []int{0, 1}, Match: Latest}},
	}
	r := Simulate(hour(flows...).fire(0, 0, 20).fire(1, 0))
	require.Equal(t, []string{"0: 0 0 5 ends", "1: 0 0 7 ends", "3: 5 5 6 ends", "2: 7 7 8 ends", "4: 7 7 8 ends", "0: 20 20 25 ends",
		"3: 25 25 26 ends", "4: 25 25 26 ends"}, lives(r))
}

func TestAFixedDelayCountsFromTheEnd(t *testing.T) {
	w := hour(Workflow{Nodes: []Node{node(12, nil)}, MaxRuns: 1})
	w.Fires = []Fire{{At: at(3), Scheduled: at(3), Delay: minutes(10)}}
	require.Equal(t, []string{"0: 3 3 15 ends", "0: 25 25 37 ends", "0: 47 47 59 ends"}, lives(Simulate(w)))
}

func TestARateSpreadsStarts(t *testing.T) {
	w := hour(Workflow{Nodes: []Node{node(1, nil, Use{0, 1})}}).fire(0, 0, 0, 0, 0, 0)
	w.Resources = []Resource{{Name: "erp", Capacity: Unlimited, Every: minutes(4), Burst: 2}}
	require.Equal(t, []string{"0: 0 0 1 ends", "0: 0 0 1 ends", "0: 0 0 5 ends", "0: 0 0 9 ends", "0: 0 0 13 ends"}, lives(Simulate(w)))
}

func TestWhatIsMissed(t *testing.T) {
	flow := Workflow{Nodes: []Node{node(10, nil, Use{0, 1})}, Timeout: minutes(15), Deadline: func(s time.Time) time.Time { return s.Add(minutes(12)) }}
	flow.Nodes[0].Patience = minutes(8)
	r := Simulate(hour(flow).pool(1).fire(0, 0, 1))
	require.Equal(t, []string{"0: 0 0 10 ends", "0: 1 1 20 ends"}, lives(r))
	require.Equal(t, []Miss{
		{Kind: MissQueueTimeout, Run: 1, Due: at(9)}, {Kind: MissDeadline, Run: 0, Due: at(12), Possible: true}, {Kind: MissDeadline, Run: 1, Due: at(13)},
		{Kind: MissTimeout, Run: 0, Due: at(15), Possible: true}, {Kind: MissTimeout, Run: 1, Due: at(16)},
	}, r.Misses)

	r = Simulate(hour(flow).pool(0).fire(0, 0))
	require.Equal(t, []string{"0: 0 0 - stuck"}, lives(r))
	require.False(t, r.Misses[0].Possible)
	require.Equal(t, at(60), r.Collisions[0].To)
}

func TestAStretchDoesNotBeginEmptyAndEndsWithWhatItBegan(t *testing.T) {
	w := hour(Workflow{Nodes: []Node{node(10, nil, Use{0, 1})}}).pool(1).fire(0, -30, -6, -5, 55, 60)
	r := Simulate(w)
	require.Equal(t, []string{"0: -6 -6 4 ends", "0: -5 -5 14 ends", "0: 55 55 65 ends"}, lives(r))
	require.Equal(t, minutes(14+5), r.Loads[0].Busy)
	require.Equal(t, at(0), r.Collisions[0].From)
	w.MaxSteps = 5
	require.True(t, Simulate(w).Full)
	require.False(t, r.Full)
}

func TestDurationsAreLearntFromTheMiddle(t *testing.T) {
	var samples []time.Duration
	for i := range 100 {
		samples = append(samples, time.Duration(100-i)*time.Second)
	}
	d, ok := Learn(samples)
	require.True(t, ok)
	require.Equal(t, Durations{50 * time.Second, 95 * time.Second}, d)
	d, ok = Learn([]time.Duration{-time.Second})
	require.True(t, ok, "a clock that went back is no time")
	require.Zero(t, d)
	_, ok = Learn(nil)
	require.False(t, ok)
}

package forecast

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// aDay is five thousand workflows of five nodes on fifty pools and four queues: a tenth of them fire at each of some minutes of an hour, three
// fifths once in some hours, the rest at night.
func aDay(minutes, hours int) World {
	w := World{From: noon, Until: noon.Add(24 * time.Hour), Points: 288, MaxSteps: 5_000_000}
	for range 50 {
		w.Resources = append(w.Resources, Resource{Name: "pool", Capacity: 8})
	}
	for range 4 {
		w.Resources = append(w.Resources, Resource{Name: "queue", Capacity: 400})
	}
	for i := range 5000 {
		queue, pool := Use{50 + i%4, 1}, Use{i % 50, 1 + i%2}
		takes := float64(1+i%7) / 10
		w.Workflows = append(w.Workflows, Workflow{MaxRuns: 1, MaxQueued: 100, Nodes: []Node{
			node(takes, nil, queue), node(takes, []int{0}, queue, pool), node(takes, []int{0}, queue), node(takes, []int{1, 2}, queue), node(takes, []int{3}, queue),
		}})
		switch {
		case i%10 == 0:
			for m := 0; m < 24*60; m += minutes {
				w = w.fire(i, float64(m))
			}
		case i%10 < 7:
			for m := i % 60; m < 24*60; m += 60 * hours {
				w = w.fire(i, float64(m))
			}
		default:
			w = w.fire(i, 14*60)
		}
	}
	return w
}

// A day takes a fraction of a second of this process's time; the bound leaves room for the race detector.
func TestADayOfFiveThousandWorkflows(t *testing.T) {
	w := aDay(60, 6)
	began := used(t)
	r := Simulate(w)
	took := used(t) - began
	t.Logf("%d runs of %d nodes in %s, %d collisions", len(r.Runs), 5*len(r.Runs), took, len(r.Collisions))
	require.Less(t, took, 10*time.Second)
	require.Len(t, r.Runs, len(w.Fires))
	require.NotEmpty(t, r.Collisions)
	for _, load := range r.Loads[:50] {
		require.LessOrEqual(t, load.Peak, 8)
	}
}

// used is the processor's time that this process has had.
func used(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A busy day: 121,500 runs of 607,500 nodes.
func BenchmarkADay(b *testing.B) {
	w := aDay(15, 1)
	for b.Loop() {
		Simulate(w)
	}
}

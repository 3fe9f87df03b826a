package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// TestADrainedWorkerTakesNothingNew drains a worker by hand while it runs something; what comes after waits until another worker is there.
func TestADrainedWorkerTakesNothingNew(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}, 10), make(chan struct{})
	b := newBed(t, map[string]Executor{"slow": ExecutorFunc(func(ctx context.Context, _ *Task) Outcome {
		begun <- struct{}{}
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return Outcome{}
	})})
	version := b.register("workflow: w\nnodes:\n  a: {handler: slow}\n  b: {handler: slow, needs: [a]}\n")
	run := b.launch(version, 1, "{}")[0]
	<-begun
	first := b.engine.incarnation()
	require.NoError(t, b.store.DrainWorker(t.Context(), first, "user:ops"))
	b.until("the worker has heard of it", func() bool { return b.engine.worker.current.Load().draining.Load() })
	b.until("nothing is served", func() bool { return len(b.engine.lanes.now().Open) == 0 })
	goOn <- struct{}{}
	b.until("b waits for a worker", func() bool {
		return b.count("SELECT count(*) FROM ax.held WHERE run_id = $1 AND node = 'b' AND kind = 'worker'", run) == 1
	})
	close(goOn)
	row, err := b.store.WorkerNamed(t.Context(), 1, "worker")
	require.NoError(t, err)
	require.Equal(t, store.WorkerDraining, row.State)
	b.start("second", map[string]Executor{"slow": succeed})
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND worker = $2", run, first))
}

// TestASuspectWorkerGetsNothingNew keeps a worker from beating: what it could run is held from when it is suspect, before it is lost.
func TestASuspectWorkerGetsNothingNew(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"mine": succeed})
	require.NoError(t, b.store.RegisterWorker(t.Context(), store.Worker{Incarnation: "mute-1", Name: "mute", Namespace: 1, Queues: []string{"q1"}, Kinds: []string{"go:other"},
		Capacity: 1, Suspect: quick.suspect(), Lease: 3600e9}))
	version := b.register("workflow: w\nnodes:\n  a: {handler: other}\n")
	lane := func() bool {
		for _, l := range b.engine.lanes.now().Open {
			if l.Kind == "go:other" {
				return true
			}
		}
		return false
	}
	b.until("it is known", lane)
	b.until("it is suspect", func() bool { return !lane() })
	run := b.launch(version, 1, "{}")[0]
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind = 'worker'", run))
	row, err := b.store.WorkerNamed(t.Context(), 1, "mute")
	require.NoError(t, err)
	require.Equal(t, store.WorkerSuspect, row.State)
}

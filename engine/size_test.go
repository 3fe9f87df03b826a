package engine

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// sized is a size for every day, or with AX_SOAK set one for the long run.
func sized(daily, soak int) int {
	if os.Getenv("AX_SOAK") != "" {
		return soak
	}
	return daily
}

// mostMemory is how much a process may use that moves runs of any size.
const mostMemory = 300 << 20

// TestSoakLargeRuns wants large runs to end without much memory.
func TestSoakLargeRuns(t *testing.T) {
	for name, shape := range map[string]func(n int) string{"fan-out": fanOut, "chain": chain, "shards": manyShards} {
		n := sized(1_000, 9_990)
		if name == "chain" {
			n = sized(300, 5_000)
		}
		t.Run(name, func(t *testing.T) {
			b := newBed(t, map[string]Executor{"ok": succeed})
			version := b.register(shape(n))
			_, err := b.engine.plans.get(t.Context(), version)
			require.NoError(t, err)
			m := watchMemory()
			began := time.Now()
			run := b.launch(version, 1, "{}")[0]
			require.Equal(t, progress.Succeeded, b.waitLong(run))
			most := m.stop()
			t.Logf("%s of %d: %v, %d MiB", name, n, time.Since(began).Round(time.Millisecond), most>>20)
			require.Less(t, most, uint64(mostMemory))
		})
	}
}

func fanOut(n int) string {
	var text strings.Builder
	text.WriteString("workflow: fan\nnodes:\n  a: {handler: ok}\n")
	for i := range n {
		fmt.Fprintf(&text, "  n%d: {handler: ok, needs: [a]}\n", i)
	}
	text.WriteString("  z: {handler: ok, needs: [")
	for i := range n {
		fmt.Fprintf(&text, "n%d, ", i)
	}
	text.WriteString("a]}\n")
	return text.String()
}

func chain(n int) string {
	text := &strings.Builder{}
	text.WriteString("workflow: chain\nnodes:\n  n0: {handler: ok}\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(text, "  n%d: {handler: ok, needs: [n%d]}\n", i, i-1)
	}
	return text.String()
}

func manyShards(n int) string {
	return fmt.Sprintf("workflow: shards\nnodes:\n  s: {handler: ok, shards: %d}\n  z: {handler: ok, needs: [s]}\n", n)
}

// waitLong waits for a run however long it takes, as long as it goes on.
func (b *bed) waitLong(run store.RunID) progress.State {
	b.Helper()
	for last, since := -1, time.Now(); !b.state(run).Terminal(); <-time.After(50 * time.Millisecond) {
		rows := b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1", run)
		if rows > last {
			last, since = rows, time.Now()
		}
		require.Less(b, time.Since(since), 20*time.Second, "after %d rows nothing goes on", rows)
	}
	return b.wait(run)
}

// memory samples what the process has from the system, but for what it gave back.
type memory struct {
	most atomic.Uint64
	quit chan struct{}
	done chan struct{}
}

func watchMemory() *memory {
	debug.FreeOSMemory()
	m := &memory{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(m.done)
		for {
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			m.most.Store(max(m.most.Load(), s.Sys-s.HeapReleased))
			select {
			case <-m.quit:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return m
}

func (m *memory) stop() uint64 {
	close(m.quit)
	<-m.done
	return m.most.Load()
}

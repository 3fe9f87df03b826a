package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// TestInvariantsHoldWhateverHappens lets runs of random graphs be canceled, time out and abort at any moment, in two processes of which
// one comes and goes, and wants every run to end and every invariant to hold.
func TestInvariantsHoldWhateverHappens(t *testing.T) {
	t.Parallel()
	c := newConformance(t)
	handlers := map[string]Executor{"act": ExecutorFunc(act)}
	options := graphOptions{
		ends:     rapid.SampledFrom([]string{"ok", "ok", "ok", "ok", "skip", "permanent", "system", "lost", "handed_back"}),
		failures: []dag.OnFailure{dag.AbortChain, dag.SkipNode, dag.AbortRun},
		rules: []dag.Rule{dag.AllSuccess, dag.AllSuccess, dag.AllFailed, dag.AllDone, dag.OneSuccess, dag.OneFailed, dag.OneDone, dag.NoneFailed,
			dag.NoneFailedMinOneSuccess, dag.NoneSkipped, dag.Always},
	}
	rapid.Check(t, func(t *rapid.T) {
		c.workflows++
		text := fmt.Sprintf("workflow: case%d\ntimeout: %s\nconcurrency: {max_runs: %d}\nnodes:\n%s", c.workflows,
			rapid.SampledFrom([]string{"1h", "1h", "40ms"}).Draw(t, "timeout"), rapid.IntRange(1, 6).Draw(t, "max_runs"), drawGraph(t, options))
		c.Log(text)
		runs := c.launch(c.register(text), 6, "{}")
		leave := func() {}
		if rapid.IntRange(0, 3).Draw(t, "guest") == 0 {
			leave = c.guest(handlers)
		}
		c.cancel(runs[0])
		c.cancelAt(runs[1], rapid.IntRange(1, 8).Draw(t, "nodes before the cancel"))
		leave()
		c.cancelAt(runs[1], 0)
		c.cancelAt(runs[2], rapid.IntRange(1, 8).Draw(t, "nodes before the cancel"))
		for _, run := range runs {
			c.wait(run)
		}
		require.Empty(t, c.violations(), text)
	})
}

// guest is one more process, and how it goes.
func (c *conformance) guest(handlers map[string]Executor) (leave func()) {
	c.Helper()
	e := c.start("guest", handlers)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(c, e.Stop(ctx))
	}
}

// cancelAt cancels a run when so many of its nodes have ended, or it has itself.
func (c *conformance) cancelAt(run store.RunID, nodes int) {
	c.Helper()
	c.until("the moment to cancel comes", func() bool {
		return c.state(run).Terminal() || c.state(run) == progress.Queued || c.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1", run) >= nodes
	})
	c.cancel(run)
}

func (c *conformance) violations() (found []string) {
	c.Helper()
	require.NoError(c, pgx.BeginTxFunc(c.Context(), c.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) (err error) {
		found, err = violations(c.Context(), tx)
		return err
	}))
	return found
}

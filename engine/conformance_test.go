package engine

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// Each case of a rapid test here is carried out on a database, so there are fewer than rapid's 100; -rapid.checks=N tries more.
func init() {
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
}

// TestPathsWriteTheSameRowsForSuccesses drives random graphs of successes once by the fast and once by the general path.
func TestPathsWriteTheSameRowsForSuccesses(t *testing.T) {
	t.Parallel()
	c := newConformance(t)
	rapid.Check(t, func(t *rapid.T) {
		text := drawGraph(t, graphOptions{ends: rapid.Just("ok"), rules: []dag.Rule{
			dag.AllSuccess, dag.AllSuccess, dag.AllDone, dag.OneSuccess, dag.OneDone, dag.NoneFailed, dag.NoneFailedMinOneSuccess, dag.NoneSkipped, dag.Always,
		}})
		general, fast := c.both(text)
		require.Equal(t, c.rows(general), c.rows(fast))
		require.Equal(t, !strings.Contains(text, "finally"), c.count("SELECT count(*) FROM ax.runs WHERE id = $1 AND clean", fast) == 1,
			"a run of successes stays on the fast path, but for its finally nodes")
	})
}

// TestPathsWriteTheSameRowsForMixedRuns lets runs begin on the fast path and leave it wherever something other than success comes.
func TestPathsWriteTheSameRowsForMixedRuns(t *testing.T) {
	t.Parallel()
	c := newConformance(t)
	options := graphOptions{
		ends: rapid.SampledFrom([]string{"ok", "ok", "ok", "ok", "ok", "skip", "permanent", "system", "timeout", "lost", "handed_back"}),
		rules: []dag.Rule{dag.AllSuccess, dag.AllSuccess, dag.AllFailed, dag.AllDone, dag.OneSuccess, dag.OneFailed, dag.OneDone, dag.NoneFailed,
			dag.NoneFailedMinOneSuccess, dag.NoneSkipped, dag.Always},
	}
	rapid.Check(t, func(t *rapid.T) {
		general, mixed := c.both(drawGraph(t, options))
		want, got := c.rows(general), c.rows(mixed)
		if !slices.Equal(want, got) { // rapid forgets the message of what it cannot repeat
			c.Logf("the general path wrote\n%s\nand the other\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
		require.Equal(t, want, got)
	})
}

// conformance is a bed with two processes, so that one run's nodes end in both at once.
type conformance struct {
	*bed
	workflows int
}

func newConformance(t *testing.T) *conformance {
	handlers := map[string]Executor{"act": ExecutorFunc(act)}
	c := &conformance{bed: newBed(t, handlers)}
	c.start("second", handlers)
	return c
}

// act ends as its inputs say: the word for each attempt, the last one for all further ones.
func act(_ context.Context, t *Task) Outcome {
	var in struct{ Ends []string }
	if err := json.Unmarshal(t.Inputs, &in); err != nil {
		return Outcome{Err: &progress.Error{Class: progress.Permanent, Message: err.Error()}}
	}
	switch end := in.Ends[min(t.Attempt.Number, len(in.Ends))-1]; end {
	case "ok":
		return Outcome{Output: json.RawMessage(fmt.Sprintf(`{"attempt": %d}`, t.Attempt.Number))}
	case "skip":
		return Outcome{Skipped: true, Reason: "nothing to do"}
	default:
		return Outcome{Err: &progress.Error{Class: progress.Class(end), Code: "code." + end, Message: "it ended so"}}
	}
}

// both carries a workflow out twice at the same time, the first run by the general path from its start.
func (c *conformance) both(nodes string) (general, free store.RunID) {
	c.Helper()
	c.workflows++
	text := fmt.Sprintf("workflow: case%d\nnodes:\n%s", c.workflows, nodes)
	c.Log(text)
	version := c.register(text)
	require.NoError(c, c.store.InTx(c.Context(), func(tx pgx.Tx) error {
		trigger := store.Trigger{Version: version, Kind: "manual", Actor: "user:test", ScheduledAt: time.Now(), LogicalDate: "2026-11-30"}
		launched, err := c.engine.Launch(c.Context(), tx, []store.Trigger{trigger, trigger})
		if err != nil {
			return err
		}
		general, free = launched[0].Run, launched[1].Run
		// What keeps a run from the fast path for good may as well be there before it begins.
		_, err = tx.Exec(c.Context(), "UPDATE ax.runs SET clean = false WHERE id = $1", general)
		return err
	}))
	c.wait(general)
	c.wait(free)
	c.until("join counters go with their runs", func() bool { return c.count("SELECT count(*) FROM ax.node_joins") == 0 })
	return general, free
}

// rows are everything that is stored of a run, but for what no two runs share: ids, times, and which process did it.
func (c *conformance) rows(run store.RunID) []string {
	c.Helper()
	rows, err := c.pool.Query(c.Context(), `
		SELECT json_build_array('run', state, reason, warnings, canceling, timed_out, limited, generation, started_at IS NOT NULL,
			deadline_at IS NOT NULL, finished_at IS NOT NULL)::text FROM ax.runs WHERE id = $1
		UNION ALL (SELECT json_build_array('node', node, shard, generation, attempt, state, outcome, tolerated, split_part(actor, ':', 1), reason,
			split_part(actor, ':', 2) = COALESCE(worker, ''), worker IS NOT NULL, job_id IS NOT NULL, error_class, error_code, error_message, output,
			(SELECT json_agg(h -> 'kind') FROM jsonb_array_elements(holds::jsonb) h),
			queued_at IS NOT NULL, started_at IS NOT NULL)::text FROM ax.node_runs WHERE run_id = $1 ORDER BY node, generation, attempt)
		UNION ALL (SELECT json_build_array('dead letter', node, shard, generation, attempts, namespace_id, workflow_id, tolerated, error_class,
			error_code, error_message, resolved_at, resolution)::text FROM ax.dead_letters WHERE run_id = $1 ORDER BY node, generation)
		UNION ALL SELECT json_build_array('wish', kind)::text FROM ax.run_intents WHERE run_id = $1`, run)
	require.NoError(c, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(c, err)
	return got
}

// graphOptions says what a random graph may have.
type graphOptions struct {
	ends *rapid.Generator[string]
	// failures are the choices of on_failure; without any, those that leave the other branches alone.
	failures []dag.OnFailure
	rules    []dag.Rule
}

// drawGraph draws nodes, in YAML.
func drawGraph(t *rapid.T, o graphOptions) string {
	var text strings.Builder
	ordinary := rapid.IntRange(1, 7).Draw(t, "nodes")
	for i := range ordinary + rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "finally nodes") {
		var needs []string
		for p := range i {
			if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
				needs = append(needs, fmt.Sprintf("n%d", p))
			}
		}
		fmt.Fprintf(&text, "  n%d: {handler: act, needs: [%s], %s", i, strings.Join(needs, ", "), drawPolicy(t, o))
		switch {
		case i >= ordinary:
			text.WriteString(", finally: true")
		case len(needs) > 0:
			fmt.Fprintf(&text, ", trigger_rule: %s", rapid.SampledFrom(o.rules).Draw(t, "rule"))
		}
		text.WriteString("}\n")
	}
	return text.String()
}

// drawPolicy draws how a node's attempts end, and what comes of that.
func drawPolicy(t *rapid.T, o graphOptions) string {
	failures := o.failures
	if failures == nil {
		failures = []dag.OnFailure{dag.AbortChain, dag.SkipNode}
	}
	ends := rapid.SliceOfN(o.ends, 1, 3).Draw(t, "ends")
	if ends[len(ends)-1] == "handed_back" { // which would go on for ever
		ends = append(ends, "ok")
	}
	return fmt.Sprintf("inputs: {ends: [%s]}, on_failure: %s, retry: {max_attempts: %d, max_lost: %d, backoff: fixed, delay: %s}", strings.Join(ends, ", "),
		rapid.SampledFrom(failures).Draw(t, "on_failure"),
		rapid.IntRange(1, 3).Draw(t, "max_attempts"), rapid.IntRange(0, 2).Draw(t, "max_lost"),
		rapid.SampledFrom([]string{"0s", "5ms"}).Draw(t, "delay"))
}

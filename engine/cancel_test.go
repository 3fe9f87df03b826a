package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// cancelable are runs in every state in which one may be canceled: their nodes, and a query that tells when the run ($1) is there.
var cancelable = map[string]struct{ top, nodes, there string }{
	"queued behind the limit": {top: "concurrency: {max_runs: 1}", nodes: "a: {handler: rare}",
		there: "SELECT count(*) FROM ax.runs WHERE id = $1 AND state = 'queued'"},
	"waiting for a worker":      {nodes: "a: {handler: rare}", there: "SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind = 'worker'"},
	"waiting for a pool":        {nodes: "a: {handler: ok, pool: shut}", there: "SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind = 'pool'"},
	"waiting for its queue":     {nodes: "a: {handler: ok, queue: closed}", there: "SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind IN ('queue', 'worker')"},
	"queued":                    {nodes: "a: {handler: blocked, shards: 200}", there: "SELECT (count(*) > 0)::int FROM ax_river.river_job WHERE state = 'available' AND args #>> '{}' LIKE $1::bigint || ':%'"},
	"running":                   {nodes: "a: {handler: obedient}", there: "SELECT count(*) FROM ax_river.river_job WHERE state = 'running' AND args #>> '{}' LIKE $1::bigint || ':%'"},
	"running and deaf":          {nodes: "a: {handler: blocked}", there: "SELECT count(*) FROM ax_river.river_job WHERE state = 'running' AND args #>> '{}' LIKE $1::bigint || ':%'"},
	"running elsewhere":         {nodes: "a: {handler: away}", there: "SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind = 'remote'"},
	"between attempts":          {nodes: "a: {handler: bad, retry: {backoff: fixed, delay: 1h}}", there: "SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind = 'due'"},
	"asking a person":           {nodes: "a: {approval: {message: well}}", there: "SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind = 'approval'"},
	"waiting for an instant":    {nodes: "a: {wait: {for: 1h}}", there: "SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind = 'wait'"},
	"waiting for its child":     {nodes: "a: {workflow: {code: child}}", there: "SELECT count(*) FROM ax.runs WHERE parent LIKE $1::bigint || ':%' AND state = 'running'"},
	"between shards":            {nodes: "a: {handler: obedient, shards: 20}", there: "SELECT (count(*) > 5)::int FROM ax_river.river_job WHERE state = 'running' AND args #>> '{}' LIKE $1::bigint || ':%'"},
	"tidying up":                {nodes: "a: {handler: ok}, z: {finally: true, handler: obedient}", there: "SELECT count(*) FROM ax_river.river_job WHERE state = 'running' AND args #>> '{}' LIKE $1::bigint || ':z:%'"},
	"having aborted":            {nodes: "a: {handler: broken, on_failure: abort_run}, b: {handler: obedient}, z: {finally: true, handler: rare}", there: "SELECT count(*) FROM ax.held WHERE run_id = $1 AND node = 'z'"},
	"held before anything runs": {nodes: "a: {handler: rare}", there: "SELECT count(*) FROM ax.runs WHERE id = $1 AND held_at IS NOT NULL"},
}

// TestCancelWithinTwoSeconds cancels runs in each of their states, and wants them, and their children, to have ended within two seconds;
// what runs only after a cancel is stopped by a second one.
func TestCancelWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := newBed(t, map[string]Executor{"ok": succeed, "bad": failing(progress.System), "broken": failing(progress.Permanent), "obedient": gated(nil),
		"blocked": ExecutorFunc(func(context.Context, *Task) Outcome { <-gate; return Outcome{} }),
		"away": ExecutorFunc(func(context.Context, *Task) Outcome {
			return Outcome{Accepted: &Accepted{Worker: "far", Left: time.Hour}}
		})})
	t.Cleanup(func() { close(gate) })
	b.setPool("shut", slots(1))
	_, err := b.pool.Exec(t.Context(), "UPDATE ax.pools SET paused_at = now()")
	require.NoError(t, err)
	b.register("workflow: child\nnodes: {a: {handler: obedient}}")
	for name, c := range cancelable {
		t.Run(name, func(t *testing.T) {
			version := b.register("workflow: cancelable\n" + c.top + "\nnodes: {" + c.nodes + "}")
			runs := b.launch(version, 2, "{}")
			run := runs[1]
			if name == "held before anything runs" {
				b.do(run, Act{Hold: true})
			}
			b.until(name, func() bool { return b.count(c.there, run) == 1 })
			b.endsWithinTwoSeconds(run)
			b.endsWithinTwoSeconds(runs[0])
		})
	}
	require.Zero(t, b.count("SELECT count(*) FROM ax.runs WHERE state IN ('queued', 'running')"))
}

func (b *bed) endsWithinTwoSeconds(run store.RunID) {
	b.Helper()
	began := time.Now()
	for range 2 {
		b.cancel(run)
		b.until("the cancel is accepted", func() bool { return b.count("SELECT count(*) FROM ax.run_intents WHERE run_id = $1", run) == 0 })
	}
	b.until("the run and its children end", func() bool {
		return b.count("SELECT count(*) FROM ax.runs WHERE (id = $1 OR parent LIKE $1::bigint || ':%') AND state IN ('queued', 'running')", run) == 0
	})
	require.Less(b, time.Since(began), 2*time.Second)
	require.Equal(b, progress.Canceled, b.wait(run))
}

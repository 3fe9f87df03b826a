package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
)

func TestQueueTimeoutFailsWhatNeverRan(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := newBed(t, map[string]Executor{"ok": succeed, "hold": ExecutorFunc(func(context.Context, *Task) Outcome { <-release; return Outcome{} })})
	t.Cleanup(func() { close(release) })
	narrow := b.register("workflow: narrow\nnodes: {a: {handler: hold}}")
	b.launch(narrow, 100, "{}") // as many as the worker has places for
	b.until("the worker is full", func() bool { return b.count("SELECT count(*) FROM ax_river.river_job WHERE state = 'running'") == 100 })
	run := b.launch(b.register(`
workflow: impatient
nodes:
  queued: {handler: ok, queue_timeout: 1s, on_failure: skip}
  nobody: {handler: rare, queue_timeout: 1s, on_failure: skip}
  retried: {handler: rare, queue_timeout: 1s, retry: {max_attempts: 5, backoff: fixed, delay: 0s}}
  after: {handler: rare, needs: [retried], trigger_rule: all_done, queue_timeout: 1s}
`), 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(run))
	require.Equal(t, 4, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND error_code = 'queue_timeout' AND attempt = 1 AND started_at IS NULL", run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'nobody' AND holds -> 0 ->> 'kind' = 'worker'", run))
}

package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
)

// TestStopOfAHeldRunLiftsTheHold wants the finally nodes of a held run to run after a cancel and after its timeout, whether the hold had
// kept them back already or not, and nobody to be able to hold it again (S16, S33, I5).
func TestStopOfAHeldRunLiftsTheHold(t *testing.T) {
	t.Parallel()
	gate, tidy := make(chan struct{}), make(chan struct{})
	b := newBed(t, map[string]Executor{"hang": gated(nil), "ok": succeed, "tidy": gated(tidy),
		"gate": ExecutorFunc(func(context.Context, *Task) Outcome { <-gate; return Outcome{} })})
	version := b.register("workflow: tidy\nnodes: {a: {handler: hang}, z: {finally: true, handler: tidy}}")
	runs := b.launch(version, 3, "{}")
	for _, run := range runs {
		b.claim(run)
		b.do(run, Act{Hold: true})
	}
	b.cancel(runs[0])
	b.until("it is canceled", func() bool { return b.nodes(runs[0])["a"] == "canceled" })
	require.Zero(t, b.count("SELECT count(*) FROM ax.runs WHERE id = $1 AND (held_at IS NOT NULL OR stopped_at IS NOT NULL)", runs[0]))
	require.ErrorIs(t, b.engine.Do(t.Context(), runs[0], Act{Hold: true}), ErrStopping)

	for run, deadline := range map[int]string{1: "stopped_at - interval '1 second'", 2: "stopped_at + (now() - stopped_at) / 2"} {
		_, err := b.pool.Exec(t.Context(), "UPDATE ax.runs SET deadline_at = "+deadline+" WHERE id = $1", runs[run])
		require.NoError(t, err)
		_, err = b.pool.Exec(t.Context(), "INSERT INTO ax.run_intents (run_id, kind, actor) VALUES ($1, 'deadline', 'engine')", runs[run])
		require.NoError(t, err)
		b.until("the wish is seen", func() bool { return b.count("SELECT count(*) FROM ax.run_intents WHERE run_id = $1", runs[run]) == 0 })
	}
	close(tidy)
	require.Equal(t, progress.Canceled, b.wait(runs[0]))
	require.Equal(t, map[string]string{"a": "canceled", "z": "succeeded"}, b.nodes(runs[0]))
	require.Equal(t, progress.Failed, b.wait(runs[1]), "its time was over before it was held")
	require.Equal(t, "succeeded", b.nodes(runs[1])["z"])
	require.Equal(t, progress.Running, b.state(runs[2]), "its clock stands")
	b.cancel(runs[2])
	require.Equal(t, progress.Canceled, b.wait(runs[2]))

	kept := b.launch(b.register("workflow: kept\nnodes: {a: {handler: gate}, z: {finally: true, handler: ok}}"), 1, "{}")[0]
	b.claim(kept)
	b.do(kept, Act{Hold: true})
	close(gate)
	b.until("z is held", func() bool {
		return b.count("SELECT count(*) FROM ax.held WHERE run_id = $1 AND node = 'z' AND kind = 'hold'", kept) == 1
	})
	b.cancel(kept)
	require.Equal(t, progress.Canceled, b.wait(kept))
	require.Equal(t, "succeeded", b.nodes(kept)["z"])
}

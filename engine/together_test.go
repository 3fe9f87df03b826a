package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// TestCancelTogetherWithAResult moves the end of a node's attempt and a cancel of its run in one transaction.
func TestCancelTogetherWithAResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome Outcome
		a       string
	}{
		"a success starts nothing any more": {Outcome{}, "succeeded"},
		"a failure is not repeated":         {Outcome{Err: &progress.Error{Class: progress.System, Code: "busy"}}, "canceled"},
		"a remote attempt does not go on":   {Outcome{Accepted: &Accepted{Worker: "far", Left: time.Hour}}, "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]Executor{"ok": succeed, "hang": gated(nil)})
			run := b.launch(b.register(`
workflow: together
nodes:
  a: {handler: hang, retry: {backoff: fixed, delay: 0s}}
  b: {handler: ok, needs: [a]}
  z: {handler: ok, finally: true}
`), 1, "{}")[0]
			claim := b.claim(run)
			require.NoError(t, b.engine.keeper.loops["intents"].Stop(t.Context()))
			b.cancel(run)
			require.NoError(t, b.engine.moveGeneral(t.Context(), []*finished{{claim: claim, outcome: c.outcome}}))
			require.Equal(t, progress.Canceled, b.wait(run))
			require.Equal(t, map[string]string{"a": c.a, "b": "canceled", "z": "succeeded"}, b.nodes(run))
		})
	}
}

// claim is the running attempt of a run, once there is one.
func (b *bed) claim(run store.RunID) (claim store.Claim) {
	b.Helper()
	b.until("an attempt runs", func() bool {
		claims, err := b.store.RunningJobs(b.Context(), b.engine.incarnation())
		require.NoError(b, err)
		for _, c := range claims {
			if c.Attempt.Run == run {
				claim = c
			}
		}
		return claim.Job.ID != 0
	})
	return claim
}

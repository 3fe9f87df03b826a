package engine

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

func (b *bed) repeat(wishes ...store.Repeat) (out []store.Launched) {
	b.Helper()
	require.NoError(b, b.store.InTx(b.Context(), func(tx pgx.Tx) (err error) {
		out, err = b.engine.Repeat(b.Context(), tx, wishes)
		return err
	}))
	return out
}

func TestRepeatMakesRunsAnew(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	var broken atomic.Bool
	gate := make(chan struct{})
	b := newBed(t, map[string]Executor{"echo": echo, "count": counting(&ran), "fragile": fragile(&broken), "gate": gated(gate)})
	version := b.register("workflow: again\npriority: 3\nparams: {big: {type: number, default: 1}}\n" +
		"nodes: {a: {handler: count}, b: {handler: fragile, needs: [a]}, c: {handler: echo, needs: [b], inputs: {big: '${{ params.big }}'}}}")
	broken.Store(true)
	failed := b.launch(version, 1, "{}")[0]
	require.Equal(t, progress.Failed, b.wait(failed))
	broken.Store(false)
	going := b.launch(b.register("workflow: going\nnodes: {a: {handler: gate}}"), 1, "{}")[0]
	ran.Store(0)
	wish := store.Repeat{Run: failed, Version: version, Params: []byte("{}"), Kind: "backfill", Actor: "user:test", Priority: 3}
	whole, gone, active := wish, wish, wish
	whole.Whole, whole.Params = true, []byte(`{"big": 9007199254740993}`)
	gone.Run, active.Run, active.Version = 12345, going, 0
	got := b.repeat(wish, gone, active, whole)
	require.ErrorIs(t, got[1].Err, store.ErrNotFound)
	require.ErrorIs(t, got[2].Err, ErrActive)
	require.Equal(t, progress.Succeeded, b.wait(got[0].Run))
	require.Equal(t, progress.Succeeded, b.wait(got[3].Run))
	require.EqualValues(t, 1, ran.Load(), "what ended well is taken over, unless all is wanted")
	require.JSONEq(t, `{"big": 9007199254740993}`, b.output(got[3].Run, "c"))
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.runs WHERE replay_of = $1 AND trigger = 'backfill' AND priority = 4", failed))

	whole.Params = []byte(`{"other": 1}`)
	require.Error(t, b.repeat(whole)[0].Err)
	// A run of which no node failed runs again as a whole.
	wish.Run = got[0].Run
	again := b.repeat(wish)[0]
	require.NoError(t, again.Err)
	require.Equal(t, progress.Succeeded, b.wait(again.Run))
	close(gate)
	b.wait(going)
}

// A run that yields takes no place of others, whatever the policy is.
func TestARunThatYieldsTakesNobodysPlace(t *testing.T) {
	t.Parallel()
	for _, overflow := range []string{"queue", "queue_latest", "skip", "cancel_running"} {
		t.Run(overflow, func(t *testing.T) {
			t.Parallel()
			gate := make(chan struct{})
			b := newBed(t, map[string]Executor{"gate": gated(gate)})
			version := b.register("workflow: w\nconcurrency: {max_runs: 1, overflow: " + overflow + "}\nnodes: {a: {handler: gate}}")
			yielding := store.Trigger{Version: version, Kind: "backfill", Actor: "user:test", ScheduledAt: time.Now(), LogicalDate: "2026-11-30", Params: []byte("{}"), Yields: true}
			try := func() store.Launched {
				var got []store.Launched
				require.NoError(t, b.store.InTx(t.Context(), func(tx pgx.Tx) (err error) {
					got, err = b.engine.Launch(t.Context(), tx, []store.Trigger{yielding})
					return err
				}))
				return got[0]
			}
			first := b.start1(version, "{}").Run
			require.Equal(t, RefusedOverlap, try().Refused)
			require.Equal(t, map[string]int{"running": 1}, b.states(version))
			require.Zero(t, b.count("SELECT count(*) FROM ax.run_intents WHERE kind = 'cancel'"))
			close(gate)
			b.wait(first)
			l := try()
			require.Equal(t, progress.Running, l.State)
			require.Equal(t, 3, b.count("SELECT priority FROM ax.runs WHERE id = $1", l.Run))
			b.wait(l.Run)
		})
	}
}

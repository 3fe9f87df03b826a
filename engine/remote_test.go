package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/outbound"
	"github.com/ax-run/ax/internal/store"
)

// newRemoteBed starts an engine that serves remote workers and runs nothing itself.
func newRemoteBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{T: t, pool: dbtest.New(t)}
	t.Cleanup(func() { checkInvariants(t, b.pool) })
	b.store = store.New(b.pool)
	b.engine = b.startRemote()
	return b
}

func (b *bed) startRemote() *Engine {
	b.Helper()
	e, err := New(Config{Pool: b.pool, Timings: quick, PublicURL: "http://ax.example",
		Remote: &RemoteConfig{Client: outbound.NewClient(outbound.Policy{AllowLoopback: true}, outbound.Options{})},
		Logger: slog.New(slog.NewTextHandler(b.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))})
	require.NoError(b, err)
	require.NoError(b, e.Start(b.Context()))
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(b, e.Stop(ctx))
	})
	return e
}

// far is a remote worker that polls.
type far struct {
	*bed
	RegisteredWorker
	proof Proof
}

// join registers a remote worker.
func (b *bed) join(w RemoteWorker) *far {
	b.Helper()
	w.Protocol = 1
	if w.Capacity == 0 {
		w.Capacity = 10
	}
	got, err := b.engine.RegisterRemote(b.Context(), 1, w)
	require.NoError(b, err)
	require.Equal(b, 1, got.Protocol)
	return &far{bed: b, RegisteredWorker: got, proof: Proof{1, got.Token}}
}

// dispatched is what a worker reads of a dispatch.
type dispatched struct {
	ExecutionID string          `json:"execution_id"`
	Handler     string          `json:"handler"`
	Attempt     int             `json:"attempt"`
	Inputs      json.RawMessage `json:"inputs"`
	ResultURL   string          `json:"result_url"`
}

func (d dispatched) attempt(t require.TestingT) store.Attempt {
	a, err := store.ParseExecutionID(d.ExecutionID)
	require.NoError(t, err)
	a.Number = d.Attempt
	return a
}

// poll asks once.
func (f *far) poll(most int, wait time.Duration) []dispatched {
	f.Helper()
	raw, err := f.engine.Poll(f.Context(), f.Incarnation, "http://ax.example", most, wait)
	require.NoError(f, err)
	return readDispatches(f, raw)
}

func readDispatches(t require.TestingT, raw []json.RawMessage) []dispatched {
	got := make([]dispatched, len(raw))
	for i := range raw {
		require.NoError(t, json.Unmarshal(raw[i], &got[i]))
	}
	return got
}

// take polls until it has n attempts.
func (f *far) take(n int) []dispatched {
	f.Helper()
	var got []dispatched
	f.until(fmt.Sprintf("%d attempts come", n), func() bool {
		got = append(got, f.poll(n-len(got), 100*time.Millisecond)...)
		return len(got) == n
	})
	return got
}

func (f *far) report(d dispatched, r Report) error {
	return f.engine.ReportRemote(f.Context(), f.proof, d.attempt(f), r)
}

func (f *far) beat(running ...dispatched) RemoteBeat {
	f.Helper()
	list := make([]store.Attempt, len(running))
	for i, d := range running {
		list[i] = d.attempt(f)
	}
	got, err := f.engine.BeatRemote(f.Context(), f.Incarnation, list)
	require.NoError(f, err)
	return got
}

// stay keeps a worker alive while the test lasts; it does not say what it runs.
func (f *far) stay() {
	ctx, stop := context.WithCancel(f.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(quick.Beat / 2)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if _, err := f.engine.BeatRemote(ctx, f.Incarnation, nil); errors.Is(err, store.ErrWorkerLost) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	f.Cleanup(func() { stop(); <-done })
}

var good = Report{Status: "succeeded", Output: json.RawMessage(`{"n":1}`)}

// TestAWorkerPollsAndReports carries a run through a worker that polls: inputs come to it, outputs from it, its log is kept, and its report may come twice.
func TestAWorkerPollsAndReports(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	version := b.register("workflow: w\nnodes:\n  a: {handler: x}\n  b: {handler: x, needs: [a], inputs: {got: '${{ nodes.a.output.n }}'}}\n")
	run := b.launch(version, 1, "{}")[0]
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.held WHERE run_id = $1 AND kind = 'worker'", run))
	w := b.join(RemoteWorker{ID: "py", Handlers: []string{"x"}})
	w.stay()
	first := w.take(1)[0]
	require.Equal(t, "x", first.Handler)
	require.Contains(t, first.ResultURL, "http://ax.example/api/v1/namespaces/default/executions/"+run.String()+":a:1/result?token=axe_")
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.held WHERE run_id = $1 AND state = 'running' AND incarnation = $2", run, w.Incarnation))
	require.NoError(t, b.engine.LogRemote(t.Context(), w.proof, first.attempt(t), []store.LogLine{{Text: "half done"}}))
	require.NoError(t, w.report(first, Report{Status: "succeeded", Output: good.Output, Log: "done\n"}))
	require.NoError(t, w.report(first, Report{Status: "succeeded", Output: good.Output}))
	require.Zero(t, b.count("SELECT count(*) FROM ax.refusals"))
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.logs WHERE run_id = $1", run))
	second := w.take(1)[0]
	require.JSONEq(t, `{"got": 1}`, string(second.Inputs))
	require.NoError(t, w.report(second, good))
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND worker = $2 AND actor = 'worker:' || $2 AND outcome = 'succeeded' AND started_at >= queued_at", run, w.Incarnation))
}

// TestWhatIsDueTogetherTravelsTogether queues more than a worker has room for.
func TestWhatIsDueTogetherTravelsTogether(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	w := b.join(RemoteWorker{ID: "py", Handlers: []string{"x"}, Capacity: 7})
	w.stay()
	b.until("it is known", func() bool { return len(b.engine.lanes.now().Open) > 0 })
	runs := b.launch(b.register("workflow: w\nnodes:\n  a: {handler: x}\n"), 10, "{}")
	got := w.poll(100, 10*time.Second)
	require.Len(t, got, 7)
	require.Empty(t, w.poll(100, 50*time.Millisecond), "it has no room")
	require.NoError(t, w.report(got[0], good))
	require.Len(t, w.poll(100, 10*time.Second), 1)
	for _, run := range runs {
		b.cancel(run)
	}
	for _, run := range runs {
		b.wait(run)
	}
}

// TestCancelReachesAWorkerWithItsHeartbeat cancels what a worker has; what it reports then is refused and recorded.
func TestCancelReachesAWorkerWithItsHeartbeat(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	w := b.join(RemoteWorker{ID: "py", Handlers: []string{"x"}})
	run := b.launch(b.register("workflow: w\nnodes:\n  a: {handler: x}\n"), 1, "{}")[0]
	d := w.take(1)[0]
	require.Empty(t, w.beat(d).Cancel)
	b.cancel(run)
	require.Equal(t, progress.Canceled, b.wait(run))
	require.Equal(t, []store.Attempt{d.attempt(t)}, w.beat(d).Cancel)
	require.ErrorIs(t, w.report(d, good), ErrStale)
	require.ErrorIs(t, w.report(d, good), ErrStale)
	_, err := b.engine.HeartbeatRemote(t.Context(), w.proof, d.attempt(t), nil)
	require.ErrorIs(t, err, ErrStale)
	refused, err := b.store.Refusals(t.Context(), d.attempt(t))
	require.NoError(t, err)
	require.Len(t, refused, 2)
	i := slices.IndexFunc(refused, func(r store.Refusal) bool { return r.Kind == "result" })
	require.Equal(t, 2, refused[i].Count)
	require.Equal(t, w.Incarnation, refused[i].Worker)
}

// TestALostWorkersAttemptsGoElsewhere silences a worker: its attempt is another's, under the same execution id, and it may not report it.
func TestALostWorkersAttemptsGoElsewhere(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	mute := b.join(RemoteWorker{ID: "mute", Handlers: []string{"x"}})
	run := b.launch(b.register("workflow: w\nnodes:\n  a: {handler: x}\n"), 1, "{}")[0]
	d := mute.take(1)[0]
	other := b.join(RemoteWorker{ID: "other", Handlers: []string{"x"}})
	other.stay()
	again := other.take(1)[0]
	require.Equal(t, d.ExecutionID, again.ExecutionID)
	require.Greater(t, again.Attempt, 1)
	_, err := b.engine.BeatRemote(t.Context(), mute.Incarnation, nil)
	require.ErrorIs(t, err, store.ErrWorkerLost)
	_, err = b.engine.Poll(t.Context(), mute.Incarnation, "", 1, time.Second)
	require.ErrorIs(t, err, store.ErrWorkerLost)
	require.ErrorIs(t, mute.report(d, good), ErrStale)
	require.ErrorIs(t, mute.report(again, good), ErrStale, "it is another's")
	require.NoError(t, other.report(again, good))
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND outcome = 'lost' AND actor = 'engine'", run))
	require.Equal(t, 2, b.count("SELECT count(*) FROM ax.refusals WHERE kind = 'result' AND worker = $1", mute.Incarnation))
}

// TestAnAnswerThatWasLostIsNoticed lets a worker not know of what it was given.
func TestAnAnswerThatWasLostIsNoticed(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	w := b.join(RemoteWorker{ID: "py", Handlers: []string{"x"}})
	run := b.launch(b.register("workflow: w\nnodes:\n  a: {handler: x}\n"), 1, "{}")[0]
	first := w.take(1)[0]
	w.beat() // it may just be on its way
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.held WHERE incarnation = $1", w.Incarnation))
	w.beat()
	again := w.take(1)[0]
	require.Equal(t, first.ExecutionID, again.ExecutionID)
	require.NoError(t, w.report(again, good))
	require.Equal(t, progress.Succeeded, b.wait(run))
}

// TestANewLifeEndsTheEarlierOne registers a worker twice.
func TestANewLifeEndsTheEarlierOne(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	first := b.join(RemoteWorker{ID: "py", Handlers: []string{"x"}})
	run := b.launch(b.register("workflow: w\nnodes:\n  a: {handler: x}\n"), 1, "{}")[0]
	first.take(1)
	second := b.join(RemoteWorker{ID: "py", Handlers: []string{"x"}})
	second.stay()
	d := second.take(1)[0]
	require.Greater(t, d.Attempt, 1)
	require.NoError(t, second.report(d, good))
	require.Equal(t, progress.Succeeded, b.wait(run))
	b.until("the first is forgotten", func() bool { return b.count("SELECT count(*) FROM ax.workers WHERE name = 'py'") == 1 })
}

// TestAWorkerLeaves drains one worker, and makes another leave at once: what that had is handed back and counts against nothing.
func TestAWorkerLeaves(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	w := b.join(RemoteWorker{ID: "one", Handlers: []string{"x"}})
	version := b.register("workflow: w\nnodes:\n  a: {handler: x}\n")
	run := b.launch(version, 1, "{}")[0]
	d := w.take(1)[0]
	require.NoError(t, b.engine.LeaveRemote(t.Context(), w.Incarnation, false))
	require.NoError(t, w.report(d, good))
	require.Equal(t, progress.Succeeded, b.wait(run))
	b.until("it is forgotten", func() bool { return b.count("SELECT count(*) FROM ax.workers") == 0 })

	w = b.join(RemoteWorker{ID: "two", Handlers: []string{"x"}})
	run = b.launch(version, 1, "{}")[0]
	d = w.take(1)[0]
	require.NoError(t, b.engine.LeaveRemote(t.Context(), w.Incarnation, true))
	require.Zero(t, b.count("SELECT count(*) FROM ax.workers"))
	require.ErrorIs(t, w.report(d, good), ErrStale)
	w = b.join(RemoteWorker{ID: "three", Handlers: []string{"x"}})
	require.NoError(t, w.report(w.take(1)[0], good))
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, 1, b.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND outcome = 'handed_back'", run))
}

// TestOnlyItsOwnTokenProvesAWorker tries others.
func TestOnlyItsOwnTokenProvesAWorker(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	w := b.join(RemoteWorker{ID: "py", Handlers: []string{"x"}})
	run := b.launch(b.register("workflow: w\nnodes:\n  a: {handler: x}\n"), 1, "{}")[0]
	d := w.take(1)[0]
	_, err := b.engine.ProveWorker(t.Context(), w.proof, "py")
	require.NoError(t, err)
	for name, p := range map[string]Proof{"none": {1, ""}, "another's": {1, w.Token + "x"}, "forged": {1, workerToken([]byte("guess"), w.Incarnation)}} {
		_, err := b.engine.ProveWorker(t.Context(), p, "py")
		require.ErrorIs(t, err, ErrUnproven, name)
		require.ErrorIs(t, b.engine.ReportRemote(t.Context(), p, d.attempt(t), good), ErrUnproven, name)
	}
	_, err = b.engine.ProveWorker(t.Context(), w.proof, "other")
	require.ErrorIs(t, err, ErrUnproven)
	_, err = b.engine.RegisterRemote(t.Context(), 1, RemoteWorker{ID: "old", Handlers: []string{"x"}, Capacity: 1})
	require.ErrorIs(t, err, ErrProtocol)

	// The secret is changed: the old one is believed on.
	_, err = b.pool.Exec(t.Context(), "UPDATE ax.namespaces SET signing_secret_old = signing_secret, signing_secret = '\\x01'")
	require.NoError(t, err)
	b.engine.keys.known = make(map[int64]knownSecrets)
	secrets, err := b.engine.keys.secrets(t.Context(), 1)
	require.NoError(t, err)
	own := Proof{1, attemptToken(secrets[1], d.attempt(t))}
	other := d.attempt(t)
	other.Number++
	require.ErrorIs(t, b.engine.ReportRemote(t.Context(), own, other, good), ErrUnproven, "it is one attempt's")
	require.NoError(t, b.engine.ReportRemote(t.Context(), own, d.attempt(t), good))
	require.Equal(t, progress.Succeeded, b.wait(run))
}

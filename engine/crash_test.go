package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
)

// crashWorkflow passes every moment: a fan-in over both paths, a retried failure, a tolerated one, a pool, and a finally node.
const crashWorkflow = `
workflow: crash
nodes:
  a: {handler: write}
  b: {handler: write, needs: [a]}
  c: {handler: write, needs: [a]}
  d: {handler: write, needs: [a, b, c]}
  e: {handler: flaky, needs: [d], retry: {backoff: fixed, delay: 0s}}
  f: {handler: broken, needs: [e], on_failure: skip}
  g: {handler: write, needs: [f], pool: narrow}
  z: {handler: write, finally: true}
`

// TestMain turns this program into the process that dies when the crash test asks for it.
func TestMain(m *testing.M) {
	if at := os.Getenv("AX_CRASH_AT"); at != "" {
		crashChild(moment(at))
		return
	}
	os.Exit(m.Run())
}

// crashChild works until it is killed; at the given moment it kills itself, the how manieth time the environment says.
func crashChild(at moment) {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("AX_CRASH_DB"))
	if err != nil {
		panic(err)
	}
	e, err := New(Config{Pool: pool, Timings: quick, Worker: &WorkerConfig{Name: "mortal", Handlers: crashHandlers(os.Getenv("AX_CRASH_FILE"))}})
	if err != nil {
		panic(err)
	}
	left, err := strconv.Atoi(os.Getenv("AX_CRASH_NTH"))
	if err != nil {
		panic(err)
	}
	hits := make(chan struct{}, 1)
	hits <- struct{}{}
	e.watch = func(m moment) {
		<-hits
		if m == at {
			if left--; left == 0 {
				if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
					panic(err)
				}
				select {}
			}
		}
		hits <- struct{}{}
	}
	if err := e.Start(ctx); err != nil {
		panic(err)
	}
	if os.Getenv("AX_CRASH_LAUNCH") != "" {
		version, err := strconv.ParseInt(os.Getenv("AX_CRASH_LAUNCH"), 10, 64)
		if err != nil {
			panic(err)
		}
		if err := e.store.InTx(ctx, func(tx pgx.Tx) error {
			_, err := e.Launch(ctx, tx, []store.Trigger{{Version: version, Kind: "manual", Actor: "user:test", ScheduledAt: time.Now(), LogicalDate: "2026-11-30"}})
			return err
		}); err != nil {
			panic(err)
		}
	}
	select {}
}

// crashHandlers write a line for every body they run, outside of the database.
func crashHandlers(file string) map[string]Executor {
	note := func(t *Task) {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		if _, err := fmt.Fprintf(f, "%s %d\n", t.Attempt.Node, t.Attempt.Number); err != nil {
			panic(err)
		}
		if err := f.Close(); err != nil {
			panic(err)
		}
	}
	return map[string]Executor{
		"write": ExecutorFunc(func(_ context.Context, t *Task) Outcome {
			note(t)
			return Outcome{Output: json.RawMessage(`{"by": "` + t.Attempt.Node + `"}`)}
		}),
		"flaky": ExecutorFunc(func(_ context.Context, t *Task) Outcome {
			note(t)
			if t.Attempt.Number == 1 {
				return Outcome{Err: &progress.Error{Class: progress.System, Code: "flaky", Message: "once"}}
			}
			return Outcome{}
		}),
		"broken": ExecutorFunc(func(_ context.Context, t *Task) Outcome {
			note(t)
			return Outcome{Err: &progress.Error{Class: progress.Permanent, Code: "broken", Message: "for good"}}
		}),
	}
}

// TestKillAtEveryMoment kills a process at each moment of the flow, in turn at its first and at a later occurrence, starts another, and
// wants the run to end as it would have, with nothing lost, doubled or skipped.
func TestKillAtEveryMoment(t *testing.T) {
	t.Parallel()
	for _, at := range []moment{atLaunch, atFetch, atBody, atMove, atFastHalf, atHalf, atApplied, atCommitted, atTold, atAdmit} {
		for _, nth := range []int{1, 3} {
			if at == atLaunch && nth > 1 || at == atFastHalf && nth > 1 || at == atAdmit && nth > 1 {
				continue // they come once
			}
			t.Run(fmt.Sprintf("%s, %d", at, nth), func(t *testing.T) {
				t.Parallel()
				killAt(t, at, nth)
			})
		}
	}
}

func killAt(t *testing.T, at moment, nth int) {
	url := dbtest.NewURL(t)
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := &bed{T: t, pool: pool, store: store.New(pool)}
	version := b.register(crashWorkflow)
	narrow := b.setPool("narrow", slots(1))
	file := filepath.Join(t.TempDir(), "bodies")

	launch := strconv.FormatInt(version, 10)
	died := b.child(mortal{url: url, file: file, at: at, nth: nth, launch: launch})
	require.Equal(t, -1, died.ProcessState.ExitCode(), "the process was killed at its moment")
	if at == atLaunch {
		require.Zero(t, b.count("SELECT count(*) FROM ax.runs"), "nothing of an uncommitted launch exists")
		return
	}
	began := time.Now()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	next := b.command(ctx, mortal{url: url, file: file, at: "never"})
	require.NoError(t, next.Start())
	b.until("the run ends", func() bool { return b.count("SELECT count(*) FROM ax.runs WHERE finished_at IS NOT NULL") == 1 })
	require.Less(t, time.Since(began), 10*time.Second)
	b.until("nothing is left", func() bool {
		return b.count("SELECT (SELECT count(*) FROM ax_river.river_job) + (SELECT count(*) FROM ax.held)") == 0
	})
	b.free(narrow)
	stop()
	require.Error(t, next.Wait(), "it works until it is killed")
	b.asItWouldHaveBeen(file)
}

// asItWouldHaveBeen checks the one run against what an undisturbed one comes to.
func (b *bed) asItWouldHaveBeen(file string) {
	b.Helper()
	var run store.RunID
	var state progress.State
	var warnings int
	require.NoError(b, b.pool.QueryRow(b.Context(), "SELECT id, state, warnings FROM ax.runs").Scan(&run, &state, &warnings))
	require.Equal(b, progress.Succeeded, state)
	require.Equal(b, 1, warnings)
	require.Equal(b, map[string]string{"a": "succeeded", "b": "succeeded", "c": "succeeded", "d": "succeeded", "e": "succeeded", "f": "failed",
		"g": "succeeded", "z": "succeeded"}, b.nodes(run))
	require.Zero(b, b.count(`SELECT count(*) FROM (SELECT node FROM ax.node_runs WHERE state IN ('succeeded', 'failed')
		GROUP BY node HAVING count(*) > 1) twice`), "no node ends twice")
	require.LessOrEqual(b, b.count("SELECT count(*) FROM ax.node_runs WHERE node = 'e' AND outcome = 'failed'"), 1, "a failure is written once, or lost with its worker")
	require.LessOrEqual(b, b.count("SELECT count(*) FROM ax.node_runs WHERE outcome = 'lost'"), 2, "one kill loses only what ran")
	text, err := os.ReadFile(file)
	require.NoError(b, err)
	for _, node := range []string{"a", "b", "c", "d", "e", "f", "g", "z"} {
		require.Contains(b, "\n"+string(text), "\n"+node+" ", "the body of %s has run", node)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		require.LessOrEqual(b, strings.Count(string(text), line+"\n"), 1, "no attempt's body runs twice: %s", line)
	}
}

// child runs a mortal process to its end.
func (b *bed) child(m mortal) *exec.Cmd {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 30*time.Second)
	defer cancel()
	c := b.command(ctx, m)
	require.Error(b, c.Run())
	require.NoError(b, ctx.Err(), "the process did not reach its moment")
	return c
}

// mortal is a process to be: where it works, and the moment and its how manieth time at which it kills itself.
type mortal struct {
	url, file string
	at        moment
	nth       int
	// launch is the version of a run to start first, or "".
	launch string
}

func (b *bed) command(ctx context.Context, m mortal) *exec.Cmd {
	c := exec.CommandContext(ctx, os.Args[0])
	c.Env = append(os.Environ(), "AX_CRASH_AT="+string(m.at), "AX_CRASH_DB="+m.url, "AX_CRASH_FILE="+m.file,
		"AX_CRASH_NTH="+strconv.Itoa(m.nth), "AX_CRASH_LAUNCH="+m.launch)
	c.Stderr = b.Output()
	return c
}

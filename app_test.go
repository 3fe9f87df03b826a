package ax_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ax-run/ax"
	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
	"github.com/ax-run/ax/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick are timings for tests.
var quick = engine.Timings{Beat: 200 * time.Millisecond, Probe: 400 * time.Millisecond, Look: 50 * time.Millisecond, Grace: 300 * time.Millisecond}

type none = struct{}

func logger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
}

// start runs an App with workflows on a database.
func start(t *testing.T, pool *pgxpool.Pool, c ax.Config) *ax.App {
	t.Helper()
	c.Pool, c.Timings, c.KeepSchema = pool, quick, true
	if c.Logger == nil {
		c.Logger = logger(t)
	}
	app, err := ax.New(c)
	require.NoError(t, err)
	require.NoError(t, app.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, app.Stop(ctx))
	})
	return app
}

// sums is a workflow of two typed nodes: the sum of params, and its double.
func sums() *sdk.Workflow {
	type params struct {
		Left  int64 `json:"left"`
		Right int64 `json:"right" default:"1"`
	}
	type sum struct {
		Total int64  `json:"total"`
		Day   string `json:"day"`
	}
	wf := sdk.NewWorkflow("sums", sdk.Schedule(dag.Schedule{Cron: "0 0 1 1 *", Timezone: "Pacific/Auckland", Params: map[string]any{"left": 0}}))
	added := sdk.Node(wf, "add", func(ctx context.Context, p params) (sum, error) {
		sdk.Logger(ctx).Info("adding", "left", p.Left)
		return sum{p.Left + p.Right, sdk.LogicalDate(ctx)}, nil
	})
	sdk.Node1(wf, "double", func(ctx context.Context, in sum) ([]any, error) {
		p, err := sdk.Params[params](ctx)
		return []any{2 * in.Total, in.Day, p.Left, sdk.AttemptFrom(ctx).Node}, err
	}, added)
	return wf
}

func TestARunExistsWhenTheCallersTransactionCommits(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	app := start(t, pool, ax.Config{Workflows: []*sdk.Workflow{sums()}})
	ctx := t.Context()
	_, err := pool.Exec(ctx, "CREATE TABLE orders (run text)")
	require.NoError(t, err)
	at := time.Date(2026, 11, 30, 11, 30, 0, 0, time.UTC) // the next day already in the schedule's zone
	trigger := ax.Trigger{Workflow: "sums", Params: map[string]int64{"left": 1 << 60}, LogicalTime: at}

	given := errors.New("changed my mind")
	var run string
	write := func(end error) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
			if run, err = app.Trigger(ctx, tx, trigger); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, "INSERT INTO orders VALUES ($1)", run)
			return errors.Join(err, end)
		})
	}
	require.ErrorIs(t, write(given), given)
	_, err = app.Wait(ctx, run)
	require.ErrorIs(t, err, ax.ErrNotFound)

	require.NoError(t, write(nil))
	state, err := app.Wait(ctx, run)
	require.NoError(t, err)
	require.Equal(t, progress.Succeeded, state)
	out, err := app.Output(ctx, run, "double")
	require.NoError(t, err)
	require.Equal(t, `[2305843009213693954,"2026-12-01",1152921504606846976,"double"]`, string(out))
	var runs, orders int
	require.NoError(t, pool.QueryRow(ctx, "SELECT (SELECT count(*) FROM ax.runs), (SELECT count(*) FROM orders)").Scan(&runs, &orders))
	require.Equal(t, []int{1, 1}, []int{runs, orders})
	var log string
	require.NoError(t, pool.QueryRow(ctx, "SELECT string_agg(lines::text, '') FROM ax.logs").Scan(&log))
	require.Contains(t, log, "level=INFO msg=adding left=1152921504606846976")
}

func TestWhatATriggerCannotDo(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	one := sdk.NewWorkflow("one", sdk.MaxRuns(1))
	release := make(chan struct{})
	sdk.Node(one, "hang", func(ctx context.Context, _ none) (none, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return none{}, nil
	})
	c := ax.Config{Pool: pool, Workflows: []*sdk.Workflow{sums(), one}}
	idle, err := ax.New(c)
	require.NoError(t, err)
	_, err = idle.Trigger(t.Context(), nil, ax.Trigger{Workflow: "one"})
	require.ErrorIs(t, err, ax.ErrNotRunning)

	app := start(t, pool, c)
	_, err = app.Trigger(t.Context(), nil, ax.Trigger{Workflow: "two"})
	require.ErrorIs(t, err, ax.ErrNotFound)
	_, err = app.Trigger(t.Context(), nil, ax.Trigger{Workflow: "one", Params: make(chan int)})
	require.ErrorContains(t, err, "encode parameters")
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := app.Trigger(t.Context(), tx, ax.Trigger{Workflow: "sums", Params: map[string]any{"left": "x", "up": 1}})
		var bad *dag.ParamError
		require.ErrorAs(t, err, &bad)
		require.Len(t, bad.Problems, 2)
		for n := 0; err == nil || n == 0; n++ {
			_, err = app.Trigger(t.Context(), tx, ax.Trigger{Workflow: "one"})
			require.LessOrEqual(t, n, 101, "one runs and a hundred wait")
		}
		require.ErrorIs(t, err, ax.ErrTooManyRuns)
		_, err = tx.Exec(t.Context(), "SELECT 1")
		return err // the transaction is usable
	}))
	close(release)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	wf := sdk.NewWorkflow("hanging")
	began, stopped := make(chan struct{}), make(chan struct{})
	sdk.Node(wf, "hang", func(ctx context.Context, _ none) (none, error) {
		close(began)
		<-ctx.Done()
		close(stopped)
		return none{}, ctx.Err()
	})
	app := start(t, pool, ax.Config{Workflows: []*sdk.Workflow{wf}})
	run, err := app.Trigger(t.Context(), nil, ax.Trigger{Workflow: "hanging", Actor: "user:mei"})
	require.NoError(t, err)
	<-began
	require.NoError(t, app.Cancel(t.Context(), nil, run, "enough"))
	state, err := app.Wait(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, progress.Canceled, state)
	<-stopped
	require.NoError(t, app.Cancel(t.Context(), nil, run, "again"), "what has ended stays as it is")
	require.ErrorIs(t, app.Cancel(t.Context(), nil, "0000000000001", ""), ax.ErrNotFound)
	require.ErrorIs(t, app.Cancel(t.Context(), nil, "?", ""), store.ErrBadID)
}

func TestErrorsOfFunctionsDecideWhatComesNext(t *testing.T) {
	t.Parallel()
	var calls sync.Map
	count := func(ctx context.Context) int {
		n, _ := calls.LoadOrStore(sdk.AttemptFrom(ctx).Node, new(atomic.Int32))
		return int(n.(*atomic.Int32).Add(1))
	}
	wf := sdk.NewWorkflow("errors", sdk.Defaults(sdk.MaxAttempts(2), sdk.Fixed(0)))
	fails := func(name string, err error, options ...sdk.NodeOption) sdk.Output[none] {
		return sdk.Node(wf, name, func(ctx context.Context, _ none) (none, error) {
			count(ctx)
			return none{}, err
		}, options...)
	}
	fails("final", sdk.PermanentCode("no_order", errors.New("there is none")), sdk.OnFailure(sdk.SkipNode))
	fails("passing", errors.New("busy"), sdk.OnFailure(sdk.SkipNode))
	skipped := fails("skipped", sdk.Skip("a holiday"))
	fails("behind", nil, sdk.After(skipped))
	sdk.Node(wf, "later", func(ctx context.Context, _ none) (none, error) {
		if count(ctx) == 1 {
			return none{}, sdk.RetryAfter(300*time.Millisecond, errors.New("in a moment"))
		}
		return none{}, nil
	})
	sdk.Node(wf, "panics", func(ctx context.Context, _ none) (none, error) {
		if count(ctx) == 1 {
			panic("a slip")
		}
		return none{}, nil
	})
	pool := dbtest.New(t)
	app := start(t, pool, ax.Config{Workflows: []*sdk.Workflow{wf}})
	run, err := app.Trigger(t.Context(), nil, ax.Trigger{Workflow: "errors"})
	require.NoError(t, err)
	state, err := app.Wait(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, progress.Succeeded, state)

	rows, err := pool.Query(t.Context(), `SELECT concat_ws(' ', node, attempt, state, outcome, error_class, error_code)
		FROM ax.node_runs ORDER BY node, attempt`)
	require.NoError(t, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{
		"behind 1 skipped skipped",
		"final 1 failed failed permanent no_order",
		"later 1 retrying failed system handler_error",
		"later 2 succeeded succeeded",
		"panics 1 queued failed system panic",
		"panics 2 succeeded succeeded",
		"passing 1 queued failed system handler_error",
		"passing 2 failed failed system handler_error",
		"skipped 1 skipped skipped",
	}, got)
	var waited time.Duration
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT b.started_at - a.finished_at FROM ax.node_runs a, ax.node_runs b
		WHERE a.node = 'later' AND b.node = 'later' AND a.attempt = 1 AND b.attempt = 2`).Scan(&waited))
	require.GreaterOrEqual(t, waited, 250*time.Millisecond)
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	url := dbtest.NewEmptyURL(t)
	pool, err := ax.Open(t.Context(), url)
	require.NoError(t, err)
	defer pool.Close()
	wf := sdk.NewWorkflow("often", sdk.Every(time.Second))
	fired := make(chan sdk.Attempt)
	var ended atomic.Bool
	sdk.Node(wf, "tick", func(ctx context.Context, _ none) (none, error) {
		fired <- sdk.AttemptFrom(ctx)
		ended.Store(true)
		return none{}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ax.Run(ctx, pool, wf) }()
	var attempt sdk.Attempt
	select {
	case attempt = <-fired:
	case err := <-done:
		require.NoError(t, err, "it ended by itself")
	}
	require.Equal(t, "often", attempt.Workflow)
	require.NotZero(t, attempt.ScheduledAt)
	cancel()
	go func() {
		for range fired { // what was running when ctx ended may end
		}
	}()
	require.NoError(t, <-done)
	close(fired)
	require.True(t, ended.Load())
	var running int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM ax_river.river_job WHERE state = 'running')
		+ (SELECT count(*) FROM ax.workers)`).Scan(&running))
	require.Zero(t, running, "nothing runs, and the worker has left")
}

func TestPartsShareTheWork(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	var fires atomic.Int32
	wf := func() []*sdk.Workflow {
		w := sdk.NewWorkflow("shared", sdk.Every(time.Second))
		sdk.Node(w, "n", func(context.Context, none) (none, error) { return none{}, nil })
		return []*sdk.Workflow{w}
	}
	plans := start(t, pool, ax.Config{Workflows: wf(), Parts: ax.Plan, Observe: func(o planner.Observed) { fires.Add(int32(o.Count)) }})
	start(t, pool, ax.Config{Workflows: wf(), Parts: ax.Work, Worker: engine.WorkerConfig{Name: "elsewhere", Queues: map[string]int{"default": 3}},
		Observe: func(planner.Observed) { t.Error("a worker does not plan") }})
	require.Eventually(t, func() bool {
		rows, err := plans.Store().Runs(t.Context(), store.RunQuery{Namespace: 1, State: progress.Succeeded, Limit: 10})
		return err == nil && len(rows) > 0 && fires.Load() > 0
	}, 20*time.Second, 20*time.Millisecond)
	var workers []string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT array_agg(DISTINCT worker) FROM ax.node_runs").Scan(&workers))
	require.Len(t, workers, 1)
	require.True(t, strings.HasPrefix(workers[0], "elsewhere-"))
}

func TestNewTellsEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := ax.New(ax.Config{Parts: 8, DefaultTimezone: "Mars/Olympus"})
	require.ErrorContains(t, err, "the Pool is missing")
	require.ErrorContains(t, err, "no Parts 1000")
	require.ErrorContains(t, err, "Mars/Olympus")

	_, err = ax.New(ax.Config{Pool: new(pgxpool.Pool)})
	require.ErrorContains(t, err, "there is nothing to run")

	unsound := sdk.NewWorkflow("un sound")
	sdk.Node(unsound, "a", func(context.Context, none) (none, error) { return none{}, nil }, sdk.HandlerName("shared"))
	undeclared := sdk.NewWorkflow("undeclared")
	sdk.Node[none, none](undeclared, "a", nil)
	sdk.Node(undeclared, "b", func(context.Context, none) (none, error) { return none{}, nil }, sdk.HandlerName("shared"))
	_, err = ax.New(ax.Config{Pool: new(pgxpool.Pool), Workflows: []*sdk.Workflow{unsound, undeclared, sums(), sums(), nil}})
	for _, want := range []string{`"un sound"`, "nodes.a: the node has no function", `two handlers "shared"`, `two workflows "sums"`, "a workflow is nil"} {
		require.ErrorContains(t, err, want)
	}
}

func TestStartWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	pool, err := ax.Open(t.Context(), "postgres://nobody@/x?host=/nowhere&connect_timeout=1")
	require.NoError(t, err)
	defer pool.Close()
	told := make(chan struct{})
	app, err := ax.New(ax.Config{Pool: pool, Workflows: []*sdk.Workflow{sums()}, Logger: slog.New(onWarn{slog.DiscardHandler, sync.OnceFunc(func() { close(told) })})})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-told; cancel() }()
	require.Error(t, app.Start(ctx))
	require.NoError(t, app.Run(ctx), "ctx was the reason")
	_, err = ax.Open(t.Context(), "")
	require.ErrorContains(t, err, "no database is named")
	_, err = ax.Open(t.Context(), "no address")
	require.ErrorContains(t, err, "read the database's address")
}

// onWarn tells of the first line it gets.
type onWarn struct {
	slog.Handler
	tell func()
}

func (o onWarn) Enabled(context.Context, slog.Level) bool { return true }

func (o onWarn) Handle(context.Context, slog.Record) error {
	o.tell()
	return nil
}

func TestOutputOfWhatHasNone(t *testing.T) {
	t.Parallel()
	app := start(t, dbtest.New(t), ax.Config{Workflows: []*sdk.Workflow{sums()}})
	out, err := app.Output(t.Context(), "0000000000001", "double")
	require.NoError(t, err)
	require.Nil(t, out)
	_, err = app.Output(t.Context(), "?", "double")
	require.ErrorIs(t, err, store.ErrBadID)
	_, err = app.Wait(t.Context(), "?")
	require.ErrorIs(t, err, store.ErrBadID)
	var _ json.RawMessage = out
}

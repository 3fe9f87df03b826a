package planner_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// upstreams are a few workflows without schedules and one, down, that waits for them.
func (h *house) upstreams(terms string, codes ...string) map[string]planner.Registered {
	h.Helper()
	all := map[string]planner.Registered{}
	for _, code := range codes {
		all[code] = h.register(code, "")
	}
	all["down"] = h.register("down", "upstream: "+terms+"\n")
	return all
}

// go starts a run by hand for an instant.
func (h *house) run(r planner.Registered, at time.Time) int64 {
	h.Helper()
	l := h.launch(store.Trigger{Version: r.VersionID, Kind: "api", Actor: "user:t", ScheduledAt: at, LogicalDate: at.Format(time.DateOnly), Params: []byte("{}")})
	require.NoError(h, l[0].Err)
	return int64(l[0].Run)
}

// done starts and ends a run.
func (h *house) done(r planner.Registered, at time.Time, s progress.State) int64 {
	h.Helper()
	run := h.run(r, at)
	h.end(run, s)
	h.consume()
	return run
}

func (h *house) consume() {
	h.Helper()
	for n := 1; n > 0; {
		var err error
		n, err = planner.Consume(h.Context(), h.planner)
		require.NoError(h, err)
	}
}

// fired are the logical dates of down's runs, oldest first.
func (h *house) fired() []string {
	h.Helper()
	rows, err := h.store.Pool().Query(h.Context(), `SELECT to_char(r.logical_date, 'YYYY-MM-DD') FROM ax.runs r JOIN ax.workflows w ON w.id = r.workflow_id
		WHERE w.code = 'down' AND r.trigger = 'upstream' AND r.actor = 'planner' ORDER BY r.id`)
	require.NoError(h, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(h, err)
	return got
}

// sets tells down's sets, oldest first: key, state, reason, how many terms are satisfied, what came later.
func (h *house) sets() []string {
	h.Helper()
	rows, err := h.store.Pool().Query(h.Context(), `SELECT concat_ws(' ', CASE WHEN key LIKE 'run:%' THEN 'run' ELSE split_part(key, '#', 1) END, state, reason, jsonb_array_length(satisfied), NULLIF(later, 0))
		FROM ax.upstream_sets s JOIN ax.workflows w ON w.id = s.workflow_id WHERE w.code = 'down' ORDER BY s.created_at, key`)
	require.NoError(h, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(h, err)
	return got
}

var sunday = time.Date(2026, 11, 29, 1, 0, 0, 0, time.UTC)

func TestAllOfTheUpstreamOfADateStartOneRun(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.upstreams("{all: [{workflow: a}, {workflow: b}]}", "a", "b", "c")
	h.done(w["c"], sunday, progress.Succeeded)
	require.Empty(t, h.sets())
	h.done(w["a"], sunday, progress.Succeeded)
	h.done(w["b"], sunday.AddDate(0, 0, 1), progress.Succeeded)
	h.done(w["b"], sunday, progress.Failed)
	require.Empty(t, h.fired())
	require.Equal(t, []string{"2026-11-29 waiting 1", "2026-11-30 waiting 1"}, h.sets())
	last := h.done(w["b"], sunday.Add(5*time.Hour), progress.Succeeded)
	require.Equal(t, []string{"2026-11-29"}, h.fired())
	require.Equal(t, one[time.Time](h, "SELECT scheduled_at FROM ax.runs WHERE id = $1", last), one[time.Time](h, "SELECT scheduled_at FROM ax.runs WHERE trigger = 'upstream'"))
	h.done(w["a"], sunday, progress.Failed)
	h.done(w["a"], sunday, progress.Succeeded)
	require.Equal(t, []string{"2026-11-29 fired 2 2", "2026-11-30 waiting 1"}, h.sets(), "what comes later is recorded and fires nothing")
	require.Len(t, h.fired(), 1)
	require.Zero(t, one[int64](h, "SELECT count(*) FROM ax.completions"))
}

// A satisfied term stays satisfied, whatever becomes of its run: it is run again, or a newer one fails.
func TestASatisfiedTermStaysSo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.upstreams("{all: [{workflow: a}, {workflow: b}]}", "a", "b")
	run := h.done(w["a"], sunday, progress.Succeeded)
	h.exec("UPDATE ax.runs SET state = 'running' WHERE id = $1", run)
	h.done(w["a"], sunday, progress.Failed)
	h.done(w["b"], sunday, progress.Succeeded)
	require.Equal(t, []string{"2026-11-29"}, h.fired())
}

func TestAnyOfTheUpstreamStartsOneRun(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.upstreams("{any: [{workflow: a, on: failure}, {workflow: b}]}", "a", "b")
	h.done(w["a"], sunday, progress.Succeeded)
	require.Equal(t, []string{"2026-11-29 waiting 0"}, h.sets())
	h.done(w["b"], sunday, progress.Succeeded)
	h.done(w["a"], sunday, progress.Failed)
	require.Equal(t, []string{"2026-11-29"}, h.fired())
	require.Equal(t, []string{"2026-11-29 fired 1 1"}, h.sets())
}

func TestTermsMatchByTimeAndByTheLatest(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.upstreams("{all: [{workflow: a, match: scheduled_at}, {workflow: b, match: latest}]}", "a", "b")
	h.done(w["a"], sunday, progress.Succeeded)
	h.done(w["a"], sunday.Add(time.Hour), progress.Succeeded)
	require.Equal(t, []string{"2026-11-29T01:00:00Z waiting 1", "2026-11-29T02:00:00Z waiting 1"}, h.sets())
	h.done(w["b"], sunday.AddDate(0, 0, -9), progress.Succeeded)
	require.Equal(t, []string{"2026-11-29", "2026-11-29"}, h.fired(), "it completes all that wait for it")
	h.done(w["b"], sunday, progress.Succeeded)
	require.Len(t, h.fired(), 2)
	h.done(w["a"], sunday.Add(2*time.Hour), progress.Succeeded)
	require.Len(t, h.fired(), 3)

	h = newHouse(t)
	w = h.upstreams("{all: [{workflow: a, match: latest}, {workflow: b, match: latest, on: done}]}", "a", "b")
	h.done(w["a"], sunday, progress.Succeeded)
	require.Equal(t, []string{"latest waiting 1"}, h.sets())
	h.done(w["b"], sunday.AddDate(0, 0, 1), progress.Failed)
	require.Equal(t, []string{"2026-11-30"}, h.fired())
	h.done(w["a"], sunday, progress.Failed)
	require.Len(t, h.fired(), 1, "the latest of a is no success")
	h.done(w["a"], sunday, progress.Succeeded)
	h.done(w["b"], sunday, progress.Canceled)
	require.Len(t, h.fired(), 3, "each completion fires once all are present")
}

func TestTakeFirstAndEach(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.upstreams("{all: [{workflow: a, take: each}, {workflow: b, take: first}]}", "a", "b")
	h.done(w["b"], sunday, progress.Failed)
	require.Equal(t, []string{"2026-11-29 waiting 0"}, h.sets())
	h.done(w["a"], sunday, progress.Succeeded)
	h.done(w["a"], sunday.Add(time.Hour), progress.Succeeded)
	h.done(w["a"], sunday.Add(2*time.Hour), progress.Failed)
	require.Equal(t, []string{"2026-11-29 waiting 1", "2026-11-29 waiting 1"}, h.sets())
	running := h.run(w["b"], sunday)
	h.done(w["b"], sunday, progress.Succeeded)
	require.Len(t, h.fired(), 2, "b's first success is enough, for each run of a")
	h.end(running, progress.Succeeded)
	h.done(w["a"], sunday.Add(3*time.Hour), progress.Succeeded)
	require.Len(t, h.fired(), 3)
}

// Last, the default, waits until no run of the date goes on and no fire of it is expected any more.
func TestTakeLastWaitsForAllOfTheDate(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.upstreams("{all: [{workflow: a}]}", "a")
	early := h.run(w["a"], sunday)
	h.done(w["a"], sunday, progress.Succeeded)
	require.Empty(t, h.fired(), "an earlier run goes on")
	h.end(early, progress.Failed)
	h.consume()
	require.Equal(t, []string{"2026-11-29"}, h.fired(), "and the newest counts")

	today := time.Now().UTC()
	h.register("a", schedules("{name: x, cron: '0 0 1 1 *'}, {name: y, cron: '59 59 23 * * ?'}"))
	h.done(w["a"], today, progress.Succeeded)
	require.Len(t, h.fired(), 1, "a fire of today is still expected")
	h.exec("UPDATE ax.schedules SET next_fire_at = now() WHERE name = 'y'")
	require.NoError(t, h.store.Pause(t.Context(), w["a"].Workflow, "user:t", ""))
	h.exec("UPDATE ax.schedules SET spec = (jsonb_set(spec::jsonb, '{cron}', to_jsonb('* * * * * ?'::text)))::json, next_fire_at = now() - interval '1 second' WHERE name = 'y'")
	h.fire()
	h.exec("UPDATE ax.schedules SET next_fire_at = now() + interval '48 hours' WHERE name = 'y'")
	h.consume()
	require.Len(t, h.fired(), 2, "it came, and made no run")
}

func TestDoneIncludesWhatDidNotFire(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.upstreams("{all: [{workflow: a, on: done}, {workflow: b}]}", "a", "b")
	w["a"] = h.register("a", schedules("{cron: '* * * * *'}"))
	h.back(w["a"].Workflow, 24*time.Hour)
	require.NoError(t, h.store.Pause(t.Context(), w["a"].Workflow, "user:t", ""))
	h.fire()
	h.consume()
	yesterday := time.Now().UTC().AddDate(0, 0, -1)
	h.done(w["b"], yesterday, progress.Succeeded)
	require.Equal(t, []string{yesterday.Format(time.DateOnly)}, h.fired())
	h.done(w["b"], yesterday.AddDate(0, 0, -7), progress.Succeeded)
	require.Len(t, h.fired(), 1, "nothing of a was expected then")
}

func TestTermsAboutANode(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.upstreams("{all: [{workflow: a, node: a}]}", "a")
	run := h.run(w["a"], sunday)
	require.False(t, one[bool](h, "SELECT clean FROM ax.runs WHERE id = $1", run), "the general path tells of its nodes")
	node := func(run int64, generation int, s progress.State) {
		require.NoError(t, h.store.InTx(t.Context(), func(tx pgx.Tx) error {
			return h.store.Apply(t.Context(), tx, store.Changes{Records: []store.Record{{
				Attempt: store.Attempt{Run: store.RunID(run), Node: "a", Shard: store.WholeNode, Generation: generation, Number: 1}, State: s, Outcome: string(s), Actor: "t", Reason: "t"}}})
		}))
		h.consume()
	}
	node(run, 1, progress.Retrying)
	node(run, 2, progress.Failed)
	require.Equal(t, []string{"2026-11-29 waiting 0"}, h.sets())
	node(run, 3, progress.Succeeded)
	require.Equal(t, []string{"2026-11-29"}, h.fired(), "the run itself goes on")

	h.register("down", "upstream: {all: [{workflow: a, node: a, on: done}]}\n")
	h.done(w["a"], sunday.AddDate(0, 0, 1), progress.Canceled)
	require.Len(t, h.fired(), 2, "a node that its run never came to is done, too")
}

func TestWhatSatisfiesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.upstreams("{all: [{workflow: a}]}", "a")
	for _, kind := range []string{"test", "backfill"} {
		l := h.launch(store.Trigger{Version: w["a"].VersionID, Kind: kind, Actor: "t", ScheduledAt: sunday, LogicalDate: "2026-11-29", Params: []byte("{}")})
		if kind == "test" {
			h.exec("UPDATE ax.runs SET only_nodes = '{a}' WHERE id = $1", l[0].Run)
		}
		h.end(int64(l[0].Run), progress.Succeeded)
		h.consume()
	}
	require.Empty(t, h.fired())
	l := h.launch(store.Trigger{Version: w["a"].VersionID, Kind: "backfill", Actor: "t", ScheduledAt: sunday, LogicalDate: "2026-11-29", Params: []byte("{}")})
	require.NoError(t, h.store.InTx(t.Context(), func(tx pgx.Tx) error { return h.store.WatchRuns(t.Context(), tx, []store.RunID{l[0].Run}) }))
	h.end(int64(l[0].Run), progress.Succeeded)
	h.consume()
	require.Equal(t, []string{"2026-11-29"}, h.fired(), "one that cascades")
}

func TestWhatBecomesOfASet(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.upstreams("{all: [{workflow: a}], window: 1h}", "a")
	down := w["down"].Workflow
	require.NoError(t, h.store.Pause(t.Context(), down, "user:t", ""))
	h.done(w["a"], sunday, progress.Succeeded)
	_, err := planner.Resume(t.Context(), h.store, planner.Resuming{Workflow: down})
	require.NoError(t, err)
	h.launcher.refused = map[int64]string{0: store.SkipOverlap}
	run := h.runUnrefused(w["a"], sunday.AddDate(0, 0, 1))
	h.end(run, progress.Succeeded)
	h.consume()
	h.launcher.refused = nil
	h.done(w["a"], sunday.AddDate(0, 0, 2), progress.Failed)
	require.Equal(t, []string{"2026-11-29 skipped paused 1", "2026-11-30 skipped overlap 1", "2026-12-01 waiting 0"}, h.sets())
	h.exec("UPDATE ax.upstream_sets SET expires_at = now()")
	require.NoError(t, planner.Sweep(t.Context(), h.planner))
	h.done(w["a"], sunday.AddDate(0, 0, 2), progress.Succeeded)
	require.Equal(t, "2026-12-01 expired 0 1", h.sets()[2])
	require.Empty(t, h.fired())
	h.done(w["a"], sunday.AddDate(0, 0, 3), progress.Failed)
	h.register("down", "upstream: {all: [{workflow: a, on: done}]}\n")
	require.Len(t, h.sets(), 3, "an edit begins what waits anew")
	h.done(w["a"], sunday.AddDate(0, 0, 3), progress.Failed)
	require.Len(t, h.fired(), 1)
}

// runUnrefused starts a run whatever the launcher is told to refuse.
func (h *house) runUnrefused(r planner.Registered, at time.Time) int64 {
	h.Helper()
	refused := h.launcher.refused
	h.launcher.refused = nil
	defer func() { h.launcher.refused = refused }()
	return h.run(r, at)
}

// Many planners consume the completions of one key at once, again and again, and make one run.
func TestStressOneRunAKey(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	codes := []string{"a", "b", "c", "d"}
	w := h.upstreams("{all: [{workflow: a}, {workflow: b}, {workflow: c}, {workflow: d}]}", codes...)
	const days = 30
	planners := []*planner.Planner{h.planner, h.newPlanner(), h.newPlanner()}
	stop := h.start(planners...)
	var together sync.WaitGroup
	for _, code := range codes {
		together.Go(func() {
			for d := range days {
				h.end(h.run(w[code], sunday.AddDate(0, 0, d)), progress.Succeeded)
			}
		})
	}
	together.Wait()
	require.Eventually(t, func() bool { return one[int64](h, "SELECT count(*) FROM ax.completions") == 0 }, 30*time.Second, 20*time.Millisecond)
	stop()
	require.Len(t, h.fired(), days)
	require.Equal(t, int64(days), one[int64](h, "SELECT count(DISTINCT logical_date) FROM ax.runs WHERE trigger = 'upstream'"))
	require.Equal(t, int64(days), one[int64](h, "SELECT count(*) FROM ax.upstream_sets WHERE state = 'fired' AND jsonb_array_length(satisfied) = 4"))
}

func TestWiringIsChecked(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	refused := func(code, keys string) dag.Problem {
		t.Helper()
		_, err := planner.Register(t.Context(), h.store, planner.Registration{Namespace: "default", Graph: graph(h, code, keys), Actor: "user:t"})
		var problems dag.Problems
		require.ErrorAs(t, err, &problems)
		return problems[0]
	}
	p := refused("a", "upstream: {all: [{workflow: nowhere}]}\n")
	require.Equal(t, dag.CodeUnknownWorkflow, p.Code)
	require.Equal(t, "upstream.all[0].workflow", p.Path)
	h.register("a", "")
	p = refused("b", "upstream: {any: [{workflow: a}, {workflow: a, node: z}]}\n")
	require.Equal(t, dag.CodeUnknownNode, p.Code)
	require.Equal(t, "upstream.any[1].node", p.Path)

	h.register("b", "upstream: {all: [{workflow: a}]}\n")
	h.register("c", "upstream: {all: [{workflow: b}]}\n")
	p = refused("a", "upstream: {all: [{workflow: c}]}\n")
	require.Equal(t, dag.CodeCycle, p.Code)
	require.Contains(t, p.Message, "a → b → c → a")
	require.Equal(t, "upstream.all[0]", p.Path)

	h.exec("INSERT INTO ax.namespaces (name) VALUES ('other')")
	_, err := planner.Register(t.Context(), h.store, planner.Registration{Namespace: "other", Graph: graph(h, "far", "upstream: {all: [{workflow: c, namespace: default}]}\n"), Actor: "t"})
	require.NoError(t, err, "across namespaces")
	p = refused("a", "upstream: {all: [{workflow: far, namespace: other}]}\n")
	require.Contains(t, p.Message, "a → b → c → other/far → a")
}

// child is a workflow whose one node runs another.
func child(h *house, code, of string) *dag.Graph {
	g, problems := dag.Load(fmt.Appendf(nil, "workflow: %s\nnodes: {n: {workflow: {code: %s}}}\n", code, of), dag.BuildOptions{DefaultTimezone: "UTC"})
	require.NoError(h, problems.Err())
	return g
}

func TestNestingIsChecked(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	try := func(code, of string) error {
		_, err := planner.Register(t.Context(), h.store, planner.Registration{Namespace: "default", Graph: child(h, code, of), Actor: "t"})
		return err
	}
	h.register("w0", "")
	for i := 1; i <= 10; i++ {
		require.NoError(t, try(fmt.Sprintf("w%d", i), fmt.Sprintf("w%d", i-1)))
	}
	require.ErrorContains(t, try("w11", "w10"), "nest 11 deep")
	require.ErrorContains(t, try("w0", "v"), "nest 11 deep", "below as above")
	require.ErrorContains(t, try("w0", "w5"), "w0 → w5 → w4 → w3 → w2 → w1 → w0")

	g, problems := dag.Load([]byte("workflow: d\nupstream: {all: [{workflow: w1}]}\nnodes: {n: {workflow: {code: w3}}}\n"), dag.BuildOptions{})
	require.NoError(t, problems.Err())
	_, err := planner.Register(t.Context(), h.store, planner.Registration{Namespace: "default", Graph: g, Actor: "t"})
	require.ErrorContains(t, err, "d → w3 → w2 → w1 → d", "what it runs leads to what it waits for")
}

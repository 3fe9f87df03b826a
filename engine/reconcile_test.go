package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// ward is a bed whose reconciler is called by hand.
type ward struct {
	*bed
	reconciler *reconciler
	// hung is how many bodies have begun to wait for their context's end.
	hung *atomic.Int32
}

// newWard has the handlers ok, bad (which fails for good), busy (which fails once and is retried in an hour) and hang, whose first attempts end
// only with their context; nobody takes rare.
func newWard(t *testing.T) *ward {
	t.Helper()
	w := &ward{hung: new(atomic.Int32)}
	w.bed = newBed(t, map[string]Executor{"ok": succeed, "bad": failing(progress.Permanent), "busy": ExecutorFunc(func(_ context.Context, t *Task) Outcome {
		if t.Attempt.Number == 1 {
			return Outcome{Err: &progress.Error{Class: progress.System, Code: "busy", Message: "later", RetryAfter: time.Hour}}
		}
		return Outcome{}
	}), "hang": ExecutorFunc(func(ctx context.Context, t *Task) Outcome {
		if t.Attempt.Number == 1 {
			w.hung.Add(1)
			<-ctx.Done()
		}
		return Outcome{}
	})})
	w.harmed = true
	require.NoError(t, w.engine.keeper.loops["reconcile"].Stop(t.Context()))
	w.reconciler = newReconciler(w.engine)
	return w
}

// in is the ward as a subtest has it, with nothing known.
func (w *ward) in(t *testing.T) *ward {
	t.Helper()
	w.hung.Store(0)
	_, err := w.pool.Exec(t.Context(), "DELETE FROM ax.findings")
	require.NoError(t, err)
	return &ward{bed: &bed{T: t, pool: w.pool, store: w.store, engine: w.engine}, reconciler: w.reconciler, hung: w.hung}
}

// run launches a run and waits until something is live of it.
func (w *ward) run(definition string) store.RunID {
	w.Helper()
	run := w.launch(w.register(definition), 1, "{}")[0]
	w.until("it goes on", func() bool {
		return w.state(run).Terminal() || w.state(run) == progress.Queued || w.count(`SELECT (SELECT count(*) FROM ax.held WHERE run_id = $1)
			+ (SELECT count(*) FROM ax_river.river_job WHERE unique_key >= int8send($1) AND unique_key < int8send($1 + 1) AND state = 'running')`, run) > 0
	})
	return run
}

func (w *ward) damage(sql string, args ...any) {
	w.Helper()
	w.until(sql, func() bool {
		tag, err := w.pool.Exec(w.Context(), sql, args...)
		require.NoError(w, err)
		return tag.RowsAffected() > 0
	})
}

// settled are what one pass without any doubt settles, as kind and state.
func (w *ward) settled() (out []string) {
	w.Helper()
	found, err := w.reconciler.pass(w.Context(), 0)
	require.NoError(w, err)
	for _, f := range found {
		out = append(out, fmt.Sprintf("%s %s", f.Kind, f.State))
	}
	slices.Sort(out)
	return out
}

const jobsOf = "unique_key >= int8send($1) AND unique_key < int8send($1 + 1)"

// TestLostAttemptsAreMadeAnew takes attempts away in every way that River or a person could, without a commit of the engine (S18).
func TestLostAttemptsAreMadeAnew(t *testing.T) {
	t.Parallel()
	shared := newWard(t)
	for name, c := range map[string]struct{ node, damage, rows string }{
		"the job is gone":                {"handler: hang", "DELETE FROM ax_river.river_job WHERE " + jobsOf, "1 lost, 2 succeeded"},
		"River says completed":           {"handler: hang", "UPDATE ax_river.river_job SET state = 'completed', finalized_at = now() WHERE " + jobsOf, "1 lost, 2 succeeded"},
		"River says discarded":           {"handler: hang", "UPDATE ax_river.river_job SET state = 'discarded', finalized_at = now() WHERE " + jobsOf, "1 lost, 2 succeeded"},
		"River says cancelled":           {"handler: hang", "UPDATE ax_river.river_job SET state = 'cancelled', finalized_at = now() WHERE " + jobsOf, "1 lost, 2 succeeded"},
		"River would retry":              {"handler: hang", "UPDATE ax_river.river_job SET state = 'retryable' WHERE " + jobsOf, "1 lost, 2 succeeded"},
		"a retry is gone":                {"handler: busy", "DELETE FROM ax.held WHERE run_id = $1", "1 failed, 2 lost, 3 succeeded"},
		"a wait is gone":                 {"wait: {for: 1h}, retry: {max_lost: 0}", "DELETE FROM ax.held WHERE run_id = $1", "1 lost"},
		"no more may be lost":            {"handler: hang, retry: {max_lost: 0}", "DELETE FROM ax_river.river_job WHERE " + jobsOf, "1 lost"},
		"it may have run, and only once": {"handler: hang, idempotent: false", "DELETE FROM ax_river.river_job WHERE " + jobsOf, "1 lost"},
		"a shard's job is gone":          {"handler: hang, shards: 1", "DELETE FROM ax_river.river_job WHERE " + jobsOf, "1 lost, 2 succeeded"},
	} {
		t.Run(name, func(t *testing.T) {
			w := shared.in(t)
			run := w.run("workflow: w\nnodes: {a: {" + c.node + "}}")
			w.damage(c.damage, run)
			require.Equal(t, []string{"lost_attempt repaired"}, w.settled())
			w.wait(run)
			var rows string
			require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT string_agg(attempt || ' ' || outcome, ', ' ORDER BY attempt) FROM ax.node_runs
				WHERE run_id = $1 AND reason <> 'shards'`, run).Scan(&rows))
			require.Equal(t, c.rows, rows)
			require.Empty(t, w.settled())
		})
	}
}

// TestRefusedResultDecidesNothing has the job of a node that must run only once vanish, and then its result come: the attempt counts as lost,
// and nothing that moves the run meanwhile may begin it as if it had never begun (S16, S18).
func TestRefusedResultDecidesNothing(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	run := w.run("workflow: w\nnodes: {a: {handler: hang, idempotent: false}}")
	claim := w.claim(run)
	w.damage("DELETE FROM ax_river.river_job WHERE "+jobsOf, run)
	late := &finished{claim: claim, outcome: Outcome{}}
	require.NoError(t, w.engine.moveGeneral(t.Context(), []*finished{late}))
	require.ErrorIs(t, late.reply.err, ErrStale)
	require.Zero(t, w.count("SELECT count(*) FROM ax_river.river_job"))
	require.Equal(t, []string{"lost_attempt repaired"}, w.settled())
	require.Equal(t, progress.Failed, w.wait(run))
	require.Equal(t, 1, w.count("SELECT count(*) FROM ax.dead_letters WHERE run_id = $1", run))
}

// TestDamageIsRepaired breaks what has one right answer, lets one pass look, and wants everything to be as it should be.
func TestDamageIsRepaired(t *testing.T) {
	t.Parallel()
	shared := newWard(t)
	const job = `INSERT INTO ax_river.river_job (args, kind, max_attempts, queue, unique_key, unique_states, state, attempt, finalized_at, attempted_by)
		SELECT ax.job_args(id, 'a', -1, 1, 1), 'go:nobody', 1, 'nowhere', ax.job_key(id, 'a', -1), B'11110001', '`
	for name, c := range map[string]struct {
		workflow, damage string
		kinds            []string
		ends             progress.State
	}{
		"a job of an ended run":          {"nodes: {a: {handler: ok}}", job + "available', 0, NULL, NULL FROM ax.runs WHERE id = $1", []string{"left_live repaired"}, "succeeded"},
		"a held row of an ended run":     {"nodes: {a: {handler: ok}}", "INSERT INTO ax.held SELECT id, 'a', -1, 1, 1, 'worker', 'waiting', 'q', 'go:rare', 2 FROM ax.runs WHERE id = $1", []string{"left_live repaired"}, "succeeded"},
		"a job after its result":         {"nodes: {a: {handler: ok}, b: {handler: hang, needs: [a]}}", job + "available', 0, NULL, NULL FROM ax.runs WHERE id = $1", []string{"left_live repaired"}, "running"},
		"a completed job":                {"nodes: {a: {handler: ok}, b: {handler: hang, needs: [a]}}", job + "completed', 1, now(), NULL FROM ax.runs WHERE id = $1", []string{"left_job repaired"}, "running"},
		"a run is over":                  {"nodes: {a: {handler: bad}}", "UPDATE ax.runs SET state = 'running', deadline_at = now() + interval '1 hour' WHERE id = $1", []string{"undecided repaired"}, "failed"},
		"a node is undecided":            {"nodes: {a: {handler: bad}, b: {handler: ok, needs: [a]}}", "WITH d AS (DELETE FROM ax.node_runs WHERE run_id = $1 AND node = 'b') UPDATE ax.runs SET state = 'running', deadline_at = now() + interval '1 hour' WHERE id = $1", []string{"undecided repaired"}, "failed"},
		"a split is undecided":           {"nodes: {a: {handler: ok, shards: 2}}", "WITH d AS (DELETE FROM ax.node_runs WHERE run_id = $1 AND shard = -1) UPDATE ax.runs SET state = 'running', deadline_at = now() + interval '1 hour' WHERE id = $1", []string{"undecided repaired"}, "succeeded"},
		"an arrival too many":            {"nodes: {a: {handler: ok}, b: {handler: hang}, c: {handler: ok, needs: [a, b]}}", "UPDATE ax.node_joins SET arrived = 2 WHERE run_id = $1 AND node = 'c'", []string{"wrong_count repaired"}, "running"},
		"a counter is gone":              {"nodes: {a: {handler: ok}, b: {handler: hang}, c: {handler: ok, needs: [a, b]}}", "DELETE FROM ax.node_joins WHERE run_id = $1", []string{"wrong_count repaired"}, "running"},
		"counters of an ended run":       {"nodes: {a: {handler: bad}}", "INSERT INTO ax.node_joins VALUES ($1, 'a', 1)", nil, "failed"},
		"a wish for a run of nobody":     {"nodes: {a: {handler: ok}}", "INSERT INTO ax.run_intents (run_id, kind, actor, created_at) SELECT $1::bigint - $1::bigint + 42, 'act', 'user:test', now() - interval '1 hour'", []string{"left_rows repaired"}, "succeeded"},
		"rows of a run that is gone":     {"nodes: {a: {handler: rare}}", "DELETE FROM ax.runs WHERE id = $1", []string{"left_rows repaired"}, ""},
		"a slot of nobody":               {"nodes: {a: {handler: ok}}", "INSERT INTO ax.slots (namespace_id, pool, run_id, node, shard, generation, attempt, weight) VALUES (1, 'p', $1, 'a', -1, 1, 1, 1)", []string{"stray_slots repaired"}, "succeeded"},
		"held beside its job":            {"nodes: {a: {handler: hang}}", "INSERT INTO ax.held SELECT id, 'a', -1, 1, 1, 'worker', 'waiting', 'q', 'go:rare', 2 FROM ax.runs WHERE id = $1", []string{"live_twice repaired"}, "running"},
		"a child that nothing waits for": {"nodes: {c: {workflow: {code: child}, retry: {max_lost: 0}}}", "DELETE FROM ax.held WHERE run_id = $1", []string{"lost_attempt repaired", "orphan_run repaired"}, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := shared.in(t)
			w.register("workflow: child\nnodes: {a: {handler: rare}}")
			run := w.run("workflow: w\n" + c.workflow)
			if strings.Contains(c.workflow, "{handler: ok}, b: {handler: hang") {
				w.until("a is through", func() bool { return w.nodes(run)["a"] == "succeeded" && w.hung.Load() == 1 })
			}
			if c.ends.Terminal() && !strings.Contains(c.workflow, "child") {
				w.wait(run)
			}
			w.damage(c.damage, run)
			require.Equal(t, c.kinds, w.settled())
			require.Empty(t, w.settled())
			if c.ends.Terminal() {
				require.Equal(t, c.ends, w.wait(run))
			} else if c.ends != "" {
				require.Equal(t, c.ends, w.state(run))
				w.cancel(run)
				w.wait(run)
			}
			w.until("nothing is left", func() bool {
				return w.count(`SELECT (SELECT count(*) FROM ax.held) + (SELECT count(*) FROM ax_river.river_job) + (SELECT count(*) FROM ax.node_joins) + (SELECT count(*) FROM ax.slots)
					+ (SELECT count(*) FROM ax.run_intents) + (SELECT count(*) FROM ax.runs WHERE state IN ('queued', 'running'))`) == 0
			})
		})
	}
}

// TestQueuedRunThatWaitsForNothingBegins frees a place without telling anybody.
func TestQueuedRunThatWaitsForNothingBegins(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	version := w.register("workflow: w\nconcurrency: {max_runs: 1}\nnodes: {a: {handler: hang}}")
	runs := w.launch(version, 2, "{}")
	require.Equal(t, progress.Queued, w.state(runs[1]))
	w.damage("UPDATE ax.workflows SET max_runs = 2 WHERE code = 'w'")
	require.Equal(t, []string{"queued_for_nothing repaired"}, w.settled())
	require.Equal(t, progress.Running, w.state(runs[1]))
	for _, run := range runs {
		w.cancel(run)
		w.wait(run)
	}
}

// TestForgottenWishIsTakenUp has a cancel that the engine's loop does not see.
func TestForgottenWishIsTakenUp(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	run := w.run("workflow: w\nnodes: {a: {handler: hang}}")
	require.NoError(t, w.engine.keeper.loops["intents"].Stop(t.Context()))
	w.damage("INSERT INTO ax.run_intents (run_id, kind, actor) VALUES ($1, 'cancel', 'user:test')", run)
	require.Empty(t, w.settled(), "it is young, and anybody may be about to take it up")
	w.damage("UPDATE ax.run_intents SET created_at = now() - interval '2 minutes'")
	require.Equal(t, []string{"forgotten_wish repaired"}, w.settled())
	require.Equal(t, progress.Canceled, w.wait(run))
}

// TestParentLearnsOfItsChildAgain loses what a child had to tell, and a child.
func TestParentLearnsOfItsChildAgain(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	w.register("workflow: child\nnodes: {a: {handler: rare}}")
	run := w.run("workflow: w\nnodes: {c: {workflow: {code: child}}}")
	signals := w.engine.keeper.loops["signals"]
	require.NoError(t, signals.Stop(t.Context()))
	var child store.RunID
	require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT id FROM ax.runs WHERE parent IS NOT NULL").Scan(&child))
	w.damage("DELETE FROM ax.held WHERE run_id = $1", child)
	w.damage("DELETE FROM ax.runs WHERE id = $1", child)
	require.Equal(t, []string{"untold_parent repaired"}, w.settled())
	require.Equal(t, 1, w.count("SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND outcome = 'lost'", run))
	require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT id FROM ax.runs WHERE parent IS NOT NULL").Scan(&child))
	w.do(child, Act{Mark: &Mark{Node: "a", State: progress.Succeeded}})
	w.damage("DELETE FROM ax.signals")
	require.Equal(t, []string{"untold_parent repaired"}, w.settled())
	require.Empty(t, w.settled(), "it has been told")
	require.NoError(t, signals.Start(t.Context()))
	require.Equal(t, progress.Succeeded, w.wait(run))
}

// TestDamageForAPersonIsReported breaks what nobody can set right by rule: it is told once, and not any more when it is over.
func TestDamageForAPersonIsReported(t *testing.T) {
	t.Parallel()
	shared := newWard(t)
	for name, c := range map[string]struct {
		damage, kind, over string
	}{
		"a job of somebody else": {`INSERT INTO ax_river.river_job (args, kind, max_attempts, queue) SELECT '"nonsense"', 'theirs', 1, 'nowhere' WHERE $1::bigint <> 0`,
			"foreign_job open", "DELETE FROM ax_river.river_job WHERE kind = 'theirs' AND $1::bigint <> 0"},
		"a run without a deadline": {"UPDATE ax.runs SET deadline_at = NULL WHERE id = $1", "no_deadline open", "UPDATE ax.runs SET deadline_at = now() + interval '1 hour' WHERE id = $1"},
		"a node that its run has not": {"INSERT INTO ax.held SELECT id, 'nobody', -1, 1, 1, 'worker', 'waiting', 'q', 'go:rare', 2 FROM ax.runs WHERE id = $1", "unknown_node open",
			"DELETE FROM ax.held WHERE node = 'nobody' AND run_id = $1"},
		"a hold without end":     {"UPDATE ax.held SET kind = 'due' WHERE run_id = $1", "endless_hold open", "UPDATE ax.held SET kind = 'worker' WHERE run_id = $1"},
		"an attempt too far":     {"UPDATE ax.held SET attempt = 3 WHERE run_id = $1", "missing_attempts open", "UPDATE ax.held SET attempt = 1 WHERE run_id = $1"},
		"a version that is gone": {"UPDATE ax.runs SET version_id = version_id + 1000 WHERE id = $1", "unreadable_run open", "UPDATE ax.runs SET version_id = version_id - 1000 WHERE id = $1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := shared.in(t)
			other := w.run("workflow: other\nnodes: {a: {handler: hang}}")
			run := w.run("workflow: w\nnodes: {a: {handler: rare}}")
			w.damage(c.damage, run)
			w.damage("DELETE FROM ax_river.river_job WHERE "+jobsOf, other)
			require.ElementsMatch(t, []string{c.kind, "lost_attempt repaired"}, w.settled(), "what is for a person keeps nobody from the rest")
			require.Equal(t, []string{c.kind}, w.settled(), "it is still there")
			listed, err := w.store.Findings(t.Context(), 10)
			require.NoError(t, err)
			require.Len(t, listed, 2)
			require.Equal(t, c.kind, fmt.Sprintf("%s %s", listed[0].Kind, listed[0].State), "what is open comes first")
			w.damage(c.over, run)
			require.Empty(t, w.settled())
			require.Zero(t, w.count("SELECT count(*) FROM ax.findings WHERE state <> 'repaired'"))
			w.cancel(run)
			w.wait(run)
			w.wait(other)
		})
	}
}

// TestNothingIsDoneAboutWhatIsYoung wants what was just found to be left alone, and forgotten when it was only on its way.
func TestNothingIsDoneAboutWhatIsYoung(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	run := w.run("workflow: w\nnodes: {a: {handler: rare}}")
	w.damage("CREATE TABLE public.aside AS SELECT * FROM ax.held")
	w.damage("DELETE FROM ax.held")
	for range 3 {
		found, err := w.reconciler.pass(t.Context(), time.Hour)
		require.NoError(t, err)
		require.Empty(t, found)
	}
	require.Equal(t, 1, w.count("SELECT count(*) FROM ax.findings WHERE kind = 'lost_attempt' AND state = 'suspected'"))
	listed, err := w.store.Findings(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, listed, "a suspicion is nothing to tell")
	w.damage("INSERT INTO ax.held SELECT * FROM public.aside")
	require.Empty(t, w.settled())
	require.Zero(t, w.count("SELECT count(*) FROM ax.findings"))
	w.cancel(run)
	w.wait(run)
}

// TestOneProcessReconcilesAtATime has two ask for the duty.
func TestOneProcessReconcilesAtATime(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	_, err := w.pool.Exec(t.Context(), "DELETE FROM ax.duties")
	require.NoError(t, err)
	take := func(who string) bool {
		taken, err := w.store.TakeDuty(t.Context(), dutyReconcile, who, time.Hour)
		require.NoError(t, err)
		return taken
	}
	require.True(t, take("one"))
	require.False(t, take("two"), "one has it")
	require.NoError(t, w.store.EndDuty(t.Context(), dutyReconcile, "two", 0))
	require.False(t, take("two"), "only the holder can end it")
	require.NoError(t, w.store.EndDuty(t.Context(), dutyReconcile, "one", time.Hour))
	require.False(t, take("two"), "it is not due")
	require.NoError(t, w.store.EndDuty(t.Context(), dutyReconcile, "one", 0))
	require.True(t, take("two"))
	w.damage("UPDATE ax.duties SET due_at = now()")
	require.True(t, take("one"), "two has died")
}

// suspect looks for what must not be all the time, without any doubt, and returns what it found when it is told to stop. Only what takes a
// commit of its own to be over may be there for a moment.
func (b *bed) suspect() (found func() []store.Finding) {
	c := newReconciler(b.engine)
	ctx, cancel := context.WithCancel(b.Context())
	var all []store.Finding
	done := make(chan error, 1)
	go func() {
		for ; ; <-time.After(10 * time.Millisecond) {
			some, err := c.look(ctx)
			switch {
			case ctx.Err() != nil:
				done <- nil
				return
			case err != nil && !store.Transient(err):
				done <- err
				return
			}
			for _, f := range some {
				if f.Kind != findingQueued {
					all = append(all, f)
				}
			}
		}
	}()
	return func() []store.Finding {
		cancel()
		require.NoError(b, <-done)
		return all
	}
}

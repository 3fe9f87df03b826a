package api_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// night is a workflow on a bed, whose past is written at fixed times, so that what is said of it is the same every day.
type night struct {
	*bed
	code string
	id   int64
	// schedule is that of the first name; 0 for none.
	schedule int64
	version  int64
	serial   int64
}

// everyNight is the schedule of most nights.
const everyNight = `schedules: [{name: nightly, cron: "30 2 * * *", timezone: Europe/Berlin}]`

// The night that most questions are about.
const (
	slotText = "2025-11-10T02:30:00+01:00"
	question = "2025-11-10T02:30"
)

// newNight registers a workflow as if it had been so since 2024, with one node load that needs nothing unless keys say otherwise.
func newNight(b *bed, code, keys string) *night {
	b.Helper()
	if !strings.Contains(keys, "nodes:") {
		keys += "\nnodes: {load: {handler: load}}"
	}
	b.register(code, "workflow: "+code+"\n"+keys)
	n := &night{bed: b, code: code}
	if at, err := strconv.ParseInt(strings.TrimPrefix(code, "report"), 10, 64); err == nil {
		n.serial = at << 4
	}
	namespace, err := b.store.Namespace(b.Context(), "default")
	require.NoError(b, err)
	w, err := b.store.Workflow(b.Context(), namespace, code)
	require.NoError(b, err)
	n.id = w.ID
	v, err := b.store.Version(b.Context(), w.ID, w.Version)
	require.NoError(b, err)
	n.version = v.ID
	rows, err := b.store.Schedules(b.Context(), w.ID)
	require.NoError(b, err)
	if len(rows) > 0 {
		n.schedule = rows[0].ID
	}
	b.exec("UPDATE ax.schedule_specs p SET valid_from = '2024-01-01T10:00:00Z', anchor = '2024-01-01T10:00:00Z' FROM ax.schedules s WHERE s.id = p.schedule_id AND s.workflow_id = $1", n.id)
	b.exec("UPDATE ax.schedules SET next_fire_at = '2150-01-01T01:30:00Z' WHERE workflow_id = $1", n.id)
	return n
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return at
}

// fire writes a row of the ledger for the night's slot; recorded is when.
func (n *night) fire(recorded string, f store.Fire) {
	n.Helper()
	if f.At.IsZero() {
		f.At = instant(n, slotText)
	}
	f.Schedule, f.Count = n.schedule, max(f.Count, 1)
	require.NoError(n, n.store.InTx(n.Context(), func(tx pgx.Tx) error { return n.store.WriteFires(n.Context(), tx, []store.Fire{f}, nil) }))
	n.exec("UPDATE ax.fires SET created_at = $3 WHERE schedule_id = $1 AND scheduled_at = $2 AND kind = COALESCE(NULLIF($4, ''), 'fire')", n.schedule, f.At, instant(n, recorded), f.Kind)
}

// skip writes that the slot was skipped.
func (n *night) skip(recorded, reason string) {
	n.Helper()
	n.fire(recorded, store.Fire{Result: store.SkippedFire, Reason: reason})
}

// run makes a run of the slot that was created at a time; an ended one took eleven minutes. Its id is told by that time.
func (n *night) run(created string, state progress.State) store.RunID {
	n.Helper()
	n.serial++
	at := instant(n, created)
	id := store.RunID(at.UnixMilli()<<20 | n.serial)
	run := store.NewRun{ID: id, Namespace: 1, Workflow: n.id, Version: n.version, State: progress.Running, Priority: 2, Trigger: "schedule", Actor: "planner",
		Schedule: n.schedule, ScheduledAt: instant(n, slotText), LogicalDate: "2025-11-10", Params: []byte("{}"), Timeout: time.Hour, Limited: true}
	require.NoError(n, n.store.InTx(n.Context(), func(tx pgx.Tx) error { return n.store.InsertRuns(n.Context(), tx, []store.NewRun{run}, nil) }))
	n.exec("UPDATE ax.runs SET state = $2, created_at = $3, started_at = $3, deadline_at = NULL, finished_at = CASE WHEN $4 THEN $3::timestamptz + interval '11 minutes' END WHERE id = $1",
		id, string(state), at, state.Terminal())
	if state == progress.Succeeded {
		n.exec(`INSERT INTO ax.node_runs (run_id, node, shard, generation, attempt, state, outcome, worker, actor, reason, started_at, finished_at)
			VALUES ($1, 'load', -1, 1, 1, 'succeeded', 'succeeded', 'w1', 'worker:w1', 'result', $2, $2::timestamptz + interval '11 minutes')`, id, at)
	}
	if state == progress.Queued || state == progress.Skipped {
		n.exec("UPDATE ax.runs SET started_at = NULL WHERE id = $1", id)
	}
	return id
}

// fired makes the slot's run, which fired in time.
func (n *night) fired(state progress.State) store.RunID {
	n.Helper()
	id := n.run("2025-11-10T02:30:00+01:00", state)
	n.fire("2025-11-10T02:30:00+01:00", store.Fire{Result: store.Fired, Run: id})
	return id
}

// ended writes an attempt of a node that ended at a minute after half past two; it ran for a minute.
func (n *night) ended(id store.RunID, node string, attempt, minute int, r store.Record) {
	n.Helper()
	r.Attempt = attemptOf(id, node, attempt)
	if r.Outcome == "" {
		r.Outcome = string(r.State)
	}
	r.Actor = "engine"
	if r.Reason == "" {
		r.Reason = "result"
	}
	n.apply(store.Changes{Records: []store.Record{r}})
	end := instant(n, slotText).Add(time.Duration(minute) * time.Minute)
	n.exec("UPDATE ax.node_runs SET finished_at = $4, started_at = CASE WHEN worker IS NOT NULL THEN $4::timestamptz - interval '1 minute' END, queued_at = NULL WHERE run_id = $1 AND node = $2 AND attempt = $3",
		id, node, attempt, end)
}

// held holds an attempt of a node back, as it has been since a minute after half past two.
func (n *night) held(id store.RunID, node string, attempt int, mode store.Mode, demand store.Demand) {
	n.Helper()
	b := begin(id, node, attempt, mode, time.Hour)
	b.Demand = demand
	b.Place.Queue = "q" + n.queue("default")
	n.apply(store.Changes{Begins: []store.Begin{b}})
	n.exec("UPDATE ax.held SET since = $2, due_at = CASE WHEN due_at IS NOT NULL THEN '2150-01-01T01:45:00Z'::timestamptz END WHERE run_id = $1", id, instant(n, slotText).Add(time.Minute))
}

// queue is the id of a queue.
func (n *night) queue(name string) (id string) {
	n.Helper()
	require.NoError(n, n.pool.QueryRow(n.Context(), "SELECT id::text FROM ax.queues WHERE name = $1", name).Scan(&id))
	return id
}

// worker registers a worker process of the queue default that takes a kind.
func (n *night) worker(name, kind string) {
	n.Helper()
	require.NoError(n, n.store.RegisterWorker(n.Context(), store.Worker{Incarnation: name, Name: name, Namespace: 1, Queues: []string{"q" + n.queue("default")},
		Kinds: []string{kind}, Capacity: 1, Lease: time.Hour}))
}

func sysErr(message string) *progress.Error {
	return &progress.Error{Class: progress.System, Code: "exit_1", Message: message}
}

// ask asks about the workflow and a time.
func (n *night) ask(at string) api.Why {
	n.Helper()
	return n.asking(url.Values{"workflow": {n.code}, "at": {at}})
}

func (b *bed) asking(query url.Values) api.Why {
	b.Helper()
	w := as[api.Why](b.get(ns + "/why?" + query.Encode()).is(http.StatusOK))
	require.Len(b, w.Steps, 6)
	for i, name := range []string{"schedule", "fired", "run", "node", "worker", "log"} {
		require.Equal(b, name, w.Steps[i].Step)
		require.Equal(b, w.Steps[i].State == "not_reached", w.Steps[i].Message == "", "%+v", w.Steps[i])
	}
	return w
}

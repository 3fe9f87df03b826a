package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

var _ engine.Metrics = (*api.Metrics)(nil)

func TestHealth(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	require.Equal(t, "ok\n", b.get("/healthz").is(http.StatusOK).text)
	require.Equal(t, "ready\n", b.get("/readyz").is(http.StatusOK).text)
	b.get("/readyz").is(http.StatusOK)
}

func TestNotReadyBeforeMigration(t *testing.T) {
	t.Parallel()
	b := bedOn(t, dbtest.NewEmptyURL(t))
	require.Contains(t, b.get("/readyz").problem(http.StatusServiceUnavailable).Detail, "ax migrate")
	b.get("/healthz").is(http.StatusOK)
}

func bedOn(t *testing.T, url string) *bed {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := &bed{T: t, pool: pool, store: store.New(pool)}
	b.serve(api.Config{Store: b.store, Launcher: &launcher{store: b.store}})
	return b
}

func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	b := bedOn(t, "postgres://nobody@/nothing?host=/nowhere&connect_timeout=1")
	for _, path := range []string{ns + "/workflows", ns + "/runs", ns + "/runs/0000000000000/nodes", "/readyz"} {
		r := b.get(path)
		require.Contains(t, r.problem(http.StatusServiceUnavailable).Detail, "database")
		require.NotEmpty(t, r.header.Get("Retry-After"))
	}
	b.put(ns+"/workflows/small", small).problem(http.StatusServiceUnavailable)
	b.post(ns+"/workflows/small/runs", `{}`).problem(http.StatusServiceUnavailable)
	require.Contains(t, b.get("/metrics").is(http.StatusOK).text, "go_goroutines")
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.runID(b.trigger("small", `{}`).ID)
	b.apply(store.Changes{Begins: []store.Begin{begin(run, "clean", 1, store.ModeWorker, 0), begin(run, "report", 1, store.ModeDue, time.Hour)}})
	require.NoError(t, b.store.RegisterWorker(t.Context(), store.Worker{Incarnation: "i", Name: "w", Namespace: 1, Queues: []string{"q1"}, Kinds: []string{"http"},
		Capacity: 1, Lease: time.Hour}))
	m := b.api.Metrics
	m.Fired(planner.Observed{Result: store.Fired, Count: 1, Delay: time.Millisecond})
	m.Fired(planner.Observed{Result: store.SkippedFire, Count: 3})
	m.RunEnded(progress.Failed)
	m.NodeRunStarted(time.Second)
	m.NodeRunEnded(progress.Succeeded, time.Second)
	m.Transition(7, time.Millisecond)
	m.ClockSkew(250 * time.Millisecond)
	m.Found("left_job", true)
	m.Found("no_deadline", false)
	found := []store.Finding{{Kind: "no_deadline", Subject: "r", Detail: "it is running and has no deadline", State: store.FindingOpen}, {Kind: "left_job", Subject: "r"}}
	_, err := b.store.Suspect(t.Context(), found, time.Hour)
	require.NoError(t, err)
	require.NoError(t, b.store.SettleFindings(t.Context(), found[:1]))
	text := b.get("/metrics").is(http.StatusOK).text
	for _, want := range []string{
		`ax_fires_total{result="fired"} 1`, `ax_fires_total{result="skipped"} 3`, "ax_fire_delay_seconds_count 1", `ax_runs_total{state="failed"} 1`,
		`ax_node_runs_total{state="succeeded"} 1`, "ax_node_start_delay_seconds_count 1", "ax_node_duration_seconds_count 1",
		"ax_transition_batch_size_sum 7", "ax_transition_seconds_count 1", "ax_clock_skew_seconds 0.25",
		`ax_queue_depth{queue="default"} 1`, `ax_waiting{reason="no_matching_worker"} 1`, `ax_waiting{reason="retry_backoff"} 1`,
		`ax_waiting{reason="queued_max_active"} 0`, `ax_workers{state="online"} 1`, "ax_dead_letters 0", `ax_db_connections{state="max"}`,
		`ax_findings{kind="no_deadline"} 1`, `ax_findings_total{kind="left_job",state="repaired"} 1`, `ax_findings_total{kind="no_deadline",state="open"} 1`,
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, `ax_findings{kind="left_job"}`, "a suspicion is none")
}

func TestUnknownRoutes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	require.Contains(t, b.get("/nothing").problem(http.StatusNotFound).Detail, "/docs")
	b.get("/api/v1/namespaces/default/nothing").problem(http.StatusNotFound)
	r := b.do(http.MethodDelete, ns+"/runs", "", "")
	r.problem(http.StatusMethodNotAllowed)
	require.Equal(t, "GET", r.header.Get("Allow"))
	require.Equal(t, "GET, PUT", b.do(http.MethodPatch, ns+"/workflows/x", "", "").is(http.StatusMethodNotAllowed).header.Get("Allow"))
	b.do("BREW", "/healthz", "", "").problem(http.StatusMethodNotAllowed)
}

func TestPagesOfTheAPIItself(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	document := b.get("/openapi.json").is(http.StatusOK)
	require.Contains(t, document.text, `"openapi": "3.1.0"`)
	docs := b.get("/docs").is(http.StatusOK)
	require.Equal(t, docs.text, b.get("/").is(http.StatusOK).text, "the root leads to the page")
	require.NotContains(t, docs.text, "https://", "everything is served from here")
	require.Contains(t, b.get("/api/v1/schemas/workflow.json").is(http.StatusOK).text, "$schema")
}

func TestForeignPagesAreRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	ask := func(change func(*http.Request)) reply {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+ns+"/workflows/x/pause", strings.NewReader("{}"))
		require.NoError(t, err)
		change(r)
		return b.send(r)
	}
	ask(func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }).problem(http.StatusForbidden)
	ask(func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }).problem(http.StatusForbidden)
	ask(func(r *http.Request) { r.Host = "evil.example" }).problem(http.StatusMisdirectedRequest)
	for _, host := range []string{"localhost:8080", "ax.localhost", "[::1]:80", "10.1.2.3", "LOCALHOST."} {
		ask(func(r *http.Request) { r.Host = host }).problem(http.StatusNotFound)
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/healthz", nil)
	require.NoError(t, err)
	r.Header.Set("X-Request-Id", "mine-1")
	require.Equal(t, "mine-1", b.send(r).header.Get("X-Request-Id"))
	r.Header.Set("X-Request-Id", "<script>")
	require.Len(t, b.send(r).header.Get("X-Request-Id"), 16)
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"127.0.0.1:8080": true, "localhost:1": true, "[::1]:1": true, "127.9.9.9:0": true,
		":8080": false, "0.0.0.0:1": false, "[::]:1": false, "example.org:1": false, "10.0.0.1:1": false, "localhost": false,
	} {
		require.Equal(t, want, api.Loopback(address), address)
	}
}

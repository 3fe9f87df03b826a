package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/dbtest"
)

// A server without workers holds nodes back and says why; a worker that comes takes them.
func TestServerAndWorker(t *testing.T) {
	t.Parallel()
	database := "AX_DATABASE_URL=" + dbtest.NewEmptyURL(t)
	server := start(t, []string{database}, readyLine, "server", "--listen", "127.0.0.1:0", "--log-format", "json")
	sh := at(server.url)
	sh.ax("apply", write(t, stepsYAML)).good(t)
	sh.ax("trigger", "test.steps", "--wait", "--timeout", "100ms").fails(t, exitStillRuns, "has not ended")
	id := sh.run(t).ID
	require.Contains(t, sh.ax("run", id).good(t), "no live worker takes command nodes on queue default")

	worker := start(t, []string{database}, "ax works", "worker", "--name", "one", "--queues", "default=2", "--allow-commands")
	sh.ax("run", id, "--wait", "--timeout", "60s").good(t)
	worker.signal(syscall.SIGTERM)
	require.Equal(t, exitDone, worker.wait(), worker.said())
	server.signal(syscall.SIGTERM)
	require.Equal(t, exitDone, server.wait(), server.said())
	require.Contains(t, server.said(), `"msg":"request"`)
}

// A server whose database is away says so, answers that it lives, and can be stopped.
func TestServerWithoutItsDatabase(t *testing.T) {
	t.Parallel()
	server := start(t, nil, "msg=listening url=", "server", "--database-url", "postgres://nobody@127.0.0.1:1/none", "--listen", "127.0.0.1:0")
	require.Eventually(t, func() bool { return strings.Contains(server.said(), "the database cannot be reached") }, patience, 10*time.Millisecond)
	for path, status := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
		answer, err := http.Get(server.url + path)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, status, answer.StatusCode, path)
	}
	at(server.url).ax("runs").fails(t, exitUnreachable, "waits for its database")
	server.signal(syscall.SIGTERM)
	require.Equal(t, exitDone, server.wait(), server.said())
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	sh := shell{env: map[string]string{"AX_DATABASE_URL": dbtest.NewEmptyURL(t)}}
	require.Contains(t, sh.ax("migrate", "--status").good(t), " 0 applied now, ")
	require.Contains(t, sh.ax("migrate").good(t), "applied now")
	require.Contains(t, sh.ax("migrate").good(t), " 0 applied now, 0 pending")
}

func TestBenchWritesItsFigures(t *testing.T) {
	t.Parallel()
	url := dbtest.NewURL(t)
	sh := shell{env: map[string]string{"AX_DATABASE_URL": url}}
	var figures map[string]map[string]float64
	d := sh.ax("bench", "latency", "--repeat", "1", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(d.good(t)), &figures))
	require.Positive(t, figures["hop_ms"]["p99"])
	require.Contains(t, d.err, "measuring chain 1 of")
	for _, call := range [][]string{{"fires", "--schedules", "60", "--rate", "30", "--seconds", "1"}, {"herd", "--schedules", "40"}} {
		var fired map[string]any
		require.NoError(t, json.Unmarshal([]byte(sh.ax(append([]string{"bench", "-o", "json"}, call...)...).good(t)), &fired))
		require.Equal(t, []any{0.0, 0.0}, []any{fired["lost"], fired["duplicates"]})
		require.Contains(t, []any{nil, 30.0}, fired["fires"])
		require.Contains(t, []any{nil, 0.0}, fired["late_over_1s"])
	}
	var remote map[string]float64
	require.NoError(t, json.Unmarshal([]byte(sh.ax("bench", "remote", "--scale", "0.02", "--repeat", "1", "-o", "json").good(t)), &remote))
	require.Len(t, remote, 3)
	for way, rate := range remote {
		require.Positive(t, rate, way)
	}
	sh.ax("bench", "fires", "--schedules", "10", "--rate", "11").fails(t, exitUsage, "--rate must be")

	server := start(t, []string{"AX_DATABASE_URL=" + url}, readyLine, "server", "--listen", "127.0.0.1:0")
	at(server.url).ax("apply", "testdata/good.yaml").good(t)
	sh.ax("bench", "latency").fails(t, exitUsage, "the database holds workflows")
}

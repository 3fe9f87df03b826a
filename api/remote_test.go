package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
)

// newRemoteBed serves the API of an engine that serves remote workers.
func newRemoteBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{T: t, pool: dbtest.New(t)}
	b.store = store.New(b.pool)
	e, err := engine.New(engine.Config{Pool: b.pool, Remote: &engine.RemoteConfig{}})
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, e.Stop(ctx))
	})
	b.serve(api.Config{Store: b.store, Launcher: e, Operator: e, Remotes: e})
	return b
}

// proven sends a request with a worker's token.
func (b *bed) proven(token, method, path, body string) reply {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.url+path, bytes.NewReader([]byte(body)))
	require.NoError(b, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	return b.send(r)
}

type dispatch struct {
	Version     int    `json:"version"`
	ExecutionID string `json:"execution_id"`
	Node        string `json:"node"`
	Handler     string `json:"handler"`
	Attempt     int    `json:"attempt"`
	ResultURL   string `json:"result_url"`
	Heartbeat   string `json:"heartbeat_url"`
}

// poll asks until one attempt comes.
func (b *bed) poll(token, worker string) dispatch {
	b.Helper()
	var got []dispatch
	require.Eventually(b, func() bool {
		got = loose[[]dispatch](b.proven(token, http.MethodPost, ns+"/workers/"+worker+"/poll", `{"max": 1, "wait_seconds": 1}`).is(http.StatusOK))
		return len(got) == 1
	}, 20*time.Second, time.Millisecond)
	return got[0]
}

// TestTheWorkerProtocolOverHTTP is a worker's life as one that is written in another language sees it.
func TestTheWorkerProtocolOverHTTP(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	b.register("w", "workflow: w\nnodes:\n  a: {handler: orders.load}\n  b: {handler: orders.load, needs: [a]}\n")
	got := as[api.RegisteredBody](b.post(ns+"/workers", `{"id": "py-1", "app": "loader 1.0", "handlers": ["orders.load"], "capacity": 4, "protocol": 3, "future": [1]}`).is(http.StatusCreated))
	require.Equal(t, 1, got.Protocol, "a newer one is served as version 1")
	require.InDelta(t, 10, got.HeartbeatSeconds, 0)
	w := as[api.WorkerDetail](b.get(ns + "/workers/py-1").is(http.StatusOK))
	require.Equal(t, []string{"orders.load"}, w.Handlers)
	require.True(t, w.Remote)

	run := b.trigger("w", "{}")
	d := b.poll(got.WorkerToken, "py-1")
	require.Equal(t, 1, d.Version)
	require.True(t, strings.HasPrefix(d.ResultURL, b.url+ns+"/executions/"), d.ResultURL)
	heartbeat := fmt.Sprintf(`{"running": [{"execution_id": %q, "attempt": 1}, {"execution_id": "nonsense", "attempt": 1}]}`, d.ExecutionID)
	beat := as[api.HeartbeatAnswer](b.proven(got.WorkerToken, http.MethodPut, ns+"/workers/py-1/heartbeat", heartbeat).is(http.StatusOK))
	require.Equal(t, []api.AttemptRef{{ExecutionID: "nonsense", Attempt: 1}}, beat.Cancel)
	require.WithinDuration(t, time.Now(), beat.ServerTime, time.Minute)
	path := ns + "/executions/" + d.ExecutionID
	b.proven(got.WorkerToken, http.MethodPost, path+"/heartbeat", `{"attempt": 1, "progress": {"rows": 5}}`).is(http.StatusOK)
	require.JSONEq(t, `{"rows": 5}`, string(as[api.WorkerDetail](b.get(ns + "/workers/py-1")).Attempts[0].Progress))
	b.proven(got.WorkerToken, http.MethodPost, path+"/logs", `{"attempt": 1, "lines": [{"text": "loading", "stream": "stdout"}]}`).is(http.StatusOK)
	stale := b.proven(got.WorkerToken, http.MethodPost, path+"/result", `{"attempt": 2, "status": "succeeded"}`).problem(http.StatusConflict)
	require.Equal(t, "stale_attempt", stale.Errors[0].Code)
	b.proven("axw_x", http.MethodPost, path+"/result", `{"attempt": 1, "status": "succeeded"}`).problem(http.StatusUnauthorized)
	b.post(strings.TrimPrefix(d.ResultURL, b.url), `{"attempt": 1, "status": "succeeded", "output": {"n": 12345678901234567890}, "log": "loaded"}`).is(http.StatusOK)

	d = b.poll(got.WorkerToken, "py-1")
	require.Equal(t, "b", d.Node)
	b.proven(got.WorkerToken, http.MethodPost, ns+"/executions/"+d.ExecutionID+"/result", `{"attempt": 1, "status": "failed", "error": {"class": "permanent", "code": "no_rows", "message": "nothing to load"}}`).
		is(http.StatusOK)
	nodes := b.nodes(run.ID)
	require.Equal(t, `{"n":12345678901234567890}`, string(nodes["a"].Output))
	require.Equal(t, "no_rows", nodes["b"].Error.Code)
	detail := as[api.NodeRunDetail](b.get(ns + "/node-runs/" + run.ID + ":a").is(http.StatusOK))
	require.Equal(t, "result", detail.Refused[0].Kind)
	require.Equal(t, 2, detail.Refused[0].Attempt)
	require.Contains(t, b.get(ns+"/node-runs/"+run.ID+":a/logs").text, "loading")

	newer := as[api.RegisteredBody](b.post(ns+"/workers", `{"id": "py-1", "handlers": ["orders.load"], "capacity": 4, "protocol": 1}`).is(http.StatusCreated))
	b.proven("axw_x", http.MethodDelete, ns+"/workers/py-1", "").problem(http.StatusUnauthorized)
	require.Less(t, b.proven(got.WorkerToken, http.MethodDelete, ns+"/workers/py-1", "").status, 500, "it ends its own life")
	b.proven(newer.WorkerToken, http.MethodPut, ns+"/workers/py-1/heartbeat", `{}`).is(http.StatusOK)
	b.proven(newer.WorkerToken, http.MethodDelete, ns+"/workers/py-1", "").is(http.StatusNoContent)
	b.proven(newer.WorkerToken, http.MethodPut, ns+"/workers/py-1/heartbeat", `{}`).problem(http.StatusGone)
	b.do(http.MethodDelete, ns+"/workers/py-1", "", "").problem(http.StatusNotFound)
	b.proven(got.WorkerToken, http.MethodPut, ns+"/workers/py-1/heartbeat", `{}`).problem(http.StatusGone)
	b.proven(got.WorkerToken, http.MethodPost, ns+"/workers/py-1/poll", `{}`).problem(http.StatusGone)
}

// TestAnHTTPNodesRequestIsSignedWithTheNamespacesKey shows the key as the engine uses it.
func TestAnHTTPNodesRequestIsSignedWithTheNamespacesKey(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	key := as[api.SigningKey](b.get(ns + "/signing-key").is(http.StatusOK)).Key
	secrets, err := b.store.SigningSecrets(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, engine.NamespaceKey(secrets[0]), key)
	require.Len(t, key, 64)
}

// TestBadWordsOfWorkersAreNoFaultsOfOurs sends what no worker should.
func TestBadWordsOfWorkersAreNoFaultsOfOurs(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	for _, body := range []string{
		`{"id": "", "handlers": ["a"], "capacity": 1, "protocol": 1}`, `{"id": "w", "handlers": [], "capacity": 1, "protocol": 1}`,
		`{"id": "w", "handlers": ["a b"], "capacity": 1, "protocol": 1}`, `{"id": "w", "handlers": ["a"], "capacity": 0, "protocol": 1}`,
		`{"id": "w", "handlers": ["a"], "capacity": 1, "protocol": 0}`, `{"id": "w", "handlers": ["a"], "capacity": 1, "protocol": 1, "address": "ftp://x"}`,
		`{"id": "w", "handlers": ["a"], "capacity": 1, "protocol": 1, "labels": {"a b": "c"}}`, `{"id": "w", "handlers": ["a"], "capacity": 1, "protocol": 1, "queues": [""]}`,
	} {
		b.post(ns+"/workers", body).problem(http.StatusUnprocessableEntity)
	}
	got := as[api.RegisteredBody](b.post(ns+"/workers", `{"id": "w", "handlers": ["a"], "capacity": 1, "protocol": 1}`).is(http.StatusCreated))
	for _, id := range nasty {
		for _, verb := range []string{"result", "heartbeat", "logs"} {
			for _, body := range append([]string{`{"attempt": 1, "status": "succeeded", "lines": []}`, `{"attempt": 99999999999}`}, nastyBodies...) {
				r := b.proven(got.WorkerToken, http.MethodPost, ns+"/executions/"+id+"/"+verb, body)
				require.Less(t, r.status, 500, "%s %s %.100s: %s", id, verb, body, r.text)
				require.GreaterOrEqual(t, r.status, 300)
			}
		}
	}
	for _, body := range nastyBodies {
		require.Less(t, b.proven(got.WorkerToken, http.MethodPut, ns+"/workers/w/heartbeat", body).status, 500)
	}
}

// loose reads an answer of which only some fields matter.
func loose[T any](r reply) T {
	r.t.Helper()
	var v T
	require.NoError(r.t, json.Unmarshal([]byte(r.text), &v), r.text)
	return v
}

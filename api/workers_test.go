package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/internal/store"
)

// TestWorkersAreListedWithTheirState makes workers of each state.
func TestWorkersAreListedWithTheirState(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, name := range []string{"busy", "gone", "quiet", "tired"} {
		require.NoError(t, b.store.RegisterWorker(t.Context(), store.Worker{Incarnation: name + "-1", Name: name, Namespace: 1, App: "etl 1.2", Host: "box",
			Labels: map[string]string{"gpu": "yes"}, Queues: []string{"q1"}, Kinds: []string{"go:a", "http"}, Capacity: 7, Suspect: time.Hour, Lease: 2 * time.Hour}))
	}
	b.exec("INSERT INTO ax.queues (namespace_id, name) VALUES (1, 'default') ON CONFLICT DO NOTHING")
	b.exec("UPDATE ax.workers SET queues = ARRAY(SELECT 'q' || id FROM ax.queues)")
	b.exec("UPDATE ax.workers SET beat_at = now() - interval '90 minutes' WHERE name = 'quiet'")
	b.exec("UPDATE ax.workers SET beat_at = '-infinity' WHERE name = 'gone'")
	drained := as[api.WorkerDetail](b.post(ns+"/workers/tired/drain", "").is(http.StatusOK))
	require.Equal(t, "draining", drained.State)
	require.Equal(t, "user:local", drained.Drained.By)

	page := as[api.Page[api.Worker]](b.get(ns + "/workers").is(http.StatusOK))
	states := make(map[string]string)
	for _, w := range page.Items {
		states[w.ID] = w.State
	}
	require.Equal(t, map[string]string{"busy": "online", "gone": "lost", "quiet": "suspect", "tired": "draining"}, states)
	only := as[api.Page[api.Worker]](b.get(ns + "/workers?state=suspect&limit=1").is(http.StatusOK))
	require.Len(t, only.Items, 1)
	require.Empty(t, only.NextCursor)
	busy := as[api.WorkerDetail](b.get(ns + "/workers/busy").is(http.StatusOK))
	require.Equal(t, []string{"a"}, busy.Handlers)
	require.Equal(t, []string{"http"}, busy.Kinds)
	require.Equal(t, []string{"default"}, busy.Queues)
	require.Equal(t, map[string]string{"gpu": "yes"}, busy.Labels)
	require.NotNil(t, busy.HeartbeatAt)
	require.Nil(t, as[api.WorkerDetail](b.get(ns+"/workers/gone")).HeartbeatAt)

	first := as[api.Page[api.Worker]](b.get(ns + "/workers?limit=3").is(http.StatusOK))
	require.Len(t, as[api.Page[api.Worker]](b.get(ns+"/workers?limit=3&cursor="+first.NextCursor)).Items, 1)
	b.get(ns + "/workers/none").problem(http.StatusNotFound)
	b.post(ns+"/workers/none/drain", "").problem(http.StatusNotFound)
	require.Contains(t, b.get("/metrics").text, `ax_workers{state="suspect"} 1`)
}

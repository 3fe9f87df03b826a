package engine

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// pushed is a worker that is pushed to.
type pushed struct {
	*httptest.Server
	key  atomic.Pointer[string]
	mu   sync.Mutex
	got  []dispatched
	keys []string
}

// newPushed serves a worker; answer says what is answered.
func newPushed(t *testing.T, answer func(w http.ResponseWriter, d dispatched)) *pushed {
	p := &pushed{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			return // a probe
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		var d dispatched
		at, mac, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Ax-Signature"), "t="), ",v1=")
		if json.Unmarshal(body, &d) != nil || mac != hex.EncodeToString(signature(*p.key.Load(), at, body)) || r.Header.Get("Ax-Protocol") != "1" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		p.mu.Lock()
		p.got, p.keys = append(p.got, d), append(p.keys, r.Header.Get("Idempotency-Key"))
		p.mu.Unlock()
		answer(w, d)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *pushed) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.got)
}

// TestAPushedWorkerAnswersAtOnceOrLater pushes to a worker that answers, and to one that says 202 and reports to result_url's token.
func TestAPushedWorkerAnswersAtOnceOrLater(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	later := make(chan dispatched, 1)
	p := newPushed(t, func(w http.ResponseWriter, d dispatched) {
		switch d.Handler {
		case "now":
			_, err := io.WriteString(w, `{"status": "succeeded", "output": 7, "log": "done here\n"}`)
			if err != nil {
				panic(err)
			}
		case "broken":
			w.WriteHeader(http.StatusTeapot)
		default:
			w.WriteHeader(http.StatusAccepted)
			later <- d
		}
	})
	w := b.join(RemoteWorker{ID: "push", Address: p.URL, Handlers: []string{"now", "later", "broken"}})
	p.key.Store(&w.Token)
	w.stay()
	version := b.register("workflow: w\nnodes:\n  a: {handler: now}\n  b: {handler: later, needs: [a]}\n  c: {handler: broken, needs: [b], on_failure: skip}\n")
	run := b.launch(version, 1, "{}")[0]
	d := <-later
	require.Equal(t, "b", d.attempt(t).Node)
	_, secret, _ := strings.Cut(d.ResultURL, "?token=")
	deadline, err := b.engine.HeartbeatRemote(t.Context(), Proof{1, secret}, d.attempt(t), []byte(`{"percent": 40}`))
	require.NoError(t, err)
	require.True(t, deadline.After(time.Now()))
	attempts, err := b.store.WorkerAttempts(t.Context(), w.Incarnation, 10)
	require.NoError(t, err)
	require.Len(t, attempts, 1)
	require.JSONEq(t, `{"percent": 40}`, string(attempts[0].Progress))
	require.NoError(t, b.engine.ReportRemote(t.Context(), Proof{1, secret}, d.attempt(t), good))
	require.Equal(t, progress.Succeeded, b.wait(run))
	require.Equal(t, "http_418", b.text("SELECT error_code FROM ax.node_runs WHERE run_id = $1 AND node = 'c'", run))
	require.Equal(t, "7", b.text("SELECT output::text FROM ax.node_runs WHERE run_id = $1 AND node = 'a'", run))
	require.Contains(t, b.text("SELECT string_agg(lines::text, '') FROM ax.logs WHERE run_id = $1 AND node = 'a'", run), "done here")
	require.Equal(t, run.String()+":a:1", p.keys[0])
}

func (b *bed) text(sql string, args ...any) (text string) {
	b.Helper()
	require.NoError(b, b.pool.QueryRow(b.Context(), sql, args...).Scan(&text))
	return text
}

// TestPushesAreSpreadByFreeCapacity queues more than two workers have room for together.
func TestPushesAreSpreadByFreeCapacity(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	accept := func(w http.ResponseWriter, _ dispatched) { w.WriteHeader(http.StatusAccepted) }
	workers := [2]*pushed{}
	for i := range workers {
		workers[i] = newPushed(t, accept)
	}
	room := [2]int{2, 6}
	lives := [2]*far{}
	for i, p := range workers {
		lives[i] = b.join(RemoteWorker{ID: fmt.Sprint("push", i), Address: p.URL, Handlers: []string{"x"}, Capacity: room[i]})
		p.key.Store(&lives[i].Token)
		lives[i].stay()
	}
	runs := b.launch(b.register("workflow: w\nnodes:\n  a: {handler: x}\n"), 12, "{}")
	b.until("both are full", func() bool { return workers[0].count() == 2 && workers[1].count() == 6 })
	for _, run := range runs {
		b.cancel(run)
	}
	for _, run := range runs {
		b.wait(run)
	}
}

// TestASilentWorkerIsProbed silences a worker that can be reached: it gets nothing new and keeps what it has. When it cannot be reached any more
// it is lost.
func TestASilentWorkerIsProbed(t *testing.T) {
	t.Parallel()
	b := newRemoteBed(t)
	p := newPushed(t, func(w http.ResponseWriter, _ dispatched) { w.WriteHeader(http.StatusAccepted) })
	w := b.join(RemoteWorker{ID: "push", Address: p.URL, Handlers: []string{"x"}})
	p.key.Store(&w.Token)
	w.beat()
	run := b.launch(b.register("workflow: w\nnodes:\n  a: {handler: x}\n"), 1, "{}")[0]
	b.until("it came", func() bool { return p.count() == 1 })
	b.until("it was probed", func() bool {
		return b.count("SELECT count(*) FROM ax.workers WHERE incarnation = $1 AND probed_at IS NOT NULL", w.Incarnation) == 1
	})
	row, err := b.store.WorkerLife(t.Context(), w.Incarnation)
	require.NoError(t, err)
	require.Equal(t, store.WorkerSuspect, row.State)
	require.Equal(t, 1, row.Running)
	p.Close()
	other := b.join(RemoteWorker{ID: "other", Handlers: []string{"x"}})
	other.stay()
	require.NoError(t, other.report(other.take(1)[0], good))
	require.Equal(t, progress.Succeeded, b.wait(run))
}

package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

// keyed triggers small with an Idempotency-Key.
func (b *bed) keyed(key, body string) reply {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.url+ns+"/workflows/small/runs", strings.NewReader(body))
	require.NoError(b, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	return b.send(r)
}

func (b *bed) runs() int {
	b.Helper()
	return len(as[api.Page[api.Run]](b.get(ns + "/runs")).Items)
}

func TestACallWithAKeyIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	first := b.keyed("k-1", `{"params": {"day": "x"}}`).is(http.StatusCreated)
	require.Empty(t, first.header.Get("Idempotency-Replayed"))
	for range 3 {
		again := b.keyed("k-1", `{"params": {"day": "x"}}`).is(http.StatusCreated)
		require.Equal(t, first.text, again.text)
		require.Equal(t, first.header.Get("Location"), again.header.Get("Location"))
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	}
	require.Equal(t, 1, b.runs())
	require.Contains(t, b.keyed("k-1", `{"params": {"day": "y"}}`).problem(http.StatusConflict).Detail, "was used for another call")
	b.keyed("k 2", `{}`).problem(http.StatusUnprocessableEntity)
	b.keyed("k-2", `{}`).is(http.StatusCreated)
	require.Equal(t, 2, b.runs())
}

func TestConcurrentCallsWithAKeyMakeOneRun(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	replies := make([]reply, 10)
	var calls sync.WaitGroup
	for i := range replies {
		calls.Go(func() { replies[i] = b.keyed("same", `{}`) })
	}
	calls.Wait()
	for _, r := range replies {
		require.Contains(t, []int{http.StatusCreated, http.StatusConflict}, r.status, r.text)
	}
	require.Equal(t, 1, b.runs())
}

func TestACallThatDidNothingLeavesItsKeyFree(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.keyed("k", `{}`).problem(http.StatusNotFound)
	b.register("small", small)
	b.keyed("k", `{}`).is(http.StatusCreated)
}

// A server that dies after the commit and before the answer leaves the key's row without one.
func TestAnAnswerThatDiedWithItsServerIsFound(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	made := as[api.RunDetail](b.keyed("k", `{}`).is(http.StatusCreated))
	b.exec("UPDATE ax.idempotency_keys SET status = NULL, answer = NULL")
	found := as[api.RunDetail](b.keyed("k", `{}`).is(http.StatusCreated))
	require.Equal(t, made.ID, found.ID)
	b.exec("UPDATE ax.idempotency_keys SET location = NULL")
	require.Contains(t, b.keyed("k", `{}`).problem(http.StatusConflict).Detail, "is being carried out")
	b.exec("UPDATE ax.idempotency_keys SET created_at = now() - interval '1 hour'")
	require.Contains(t, b.keyed("k", `{}`).problem(http.StatusConflict).Detail, "the server died")
	b.exec("UPDATE ax.idempotency_keys SET created_at = now() - interval '25 hours'")
	b.keyed("k", `{}`).is(http.StatusCreated)
	require.Equal(t, 2, b.runs())
}

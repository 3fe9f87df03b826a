package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// with calls with one more header.
func (b *bed) with(name, value, method, path, body string) reply {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.url+path, strings.NewReader(body))
	require.NoError(b, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(name, value)
	return b.send(r)
}

const holidays = ns + "/calendars/holidays"

func TestWhatIsShownHasATag(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.post(ns+"/workflows/none/runs", `{}`).problem(http.StatusNotFound)
	b.do(http.MethodPut, holidays, "application/json", `{"dates": ["2026-12-25"]}`).is(http.StatusOK)
	tag := b.get(holidays).is(http.StatusOK).header.Get("ETag")
	require.Regexp(t, `^"[\w-]{16}"$`, tag)
	again := b.with("If-None-Match", tag, http.MethodGet, holidays, "")
	require.Equal(t, http.StatusNotModified, again.status)
	require.Empty(t, again.text)
	b.with("If-None-Match", `"other"`, http.MethodGet, holidays, "").is(http.StatusOK)
	require.Empty(t, b.get(ns+"/calendars/none").header.Get("ETag"))
}

func TestAWriteChangesOnlyWhatIsAsItWasSeen(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	put := func(tag, date string) int {
		return b.with("If-Match", tag, http.MethodPut, holidays, `{"dates": ["`+date+`"]}`).status
	}
	require.Equal(t, http.StatusPreconditionFailed, put("*", "2026-12-24"), "there is nothing yet")
	b.do(http.MethodPut, holidays, "application/json", `{"dates": ["2026-12-25"]}`).is(http.StatusOK)
	tag := b.get(holidays).header.Get("ETag")
	statuses := make([]int, 8)
	var calls sync.WaitGroup
	for i := range statuses {
		calls.Go(func() { statuses[i] = put(tag, "2026-12-0"+string(rune('1'+i))) })
	}
	calls.Wait()
	won := 0
	for _, s := range statuses {
		require.Contains(t, []int{http.StatusOK, http.StatusPreconditionFailed}, s)
		if s == http.StatusOK {
			won++
		}
	}
	require.Equal(t, 1, won, "one of those who saw the same")
	b.with("If-Match", tag, http.MethodDelete, holidays, "").problem(http.StatusPreconditionFailed)
	b.with("If-Match", b.get(holidays).header.Get("ETag"), http.MethodDelete, holidays, "").is(http.StatusNoContent)
	b.with("If-Match", "*", http.MethodPost, ns+"/dead-letters/dismiss", `{"ids": ["x"], "reason": "r"}`).problem(http.StatusUnprocessableEntity)
	b.register("small", small)
	b.with("If-Match", `"old"`, http.MethodPost, ns+"/workflows/small/pause", `{"reason": "r"}`).problem(http.StatusPreconditionFailed)
	b.with("If-Match", b.get(ns+"/workflows/small").header.Get("ETag"), http.MethodPost, ns+"/workflows/small/pause", `{"reason": "r"}`).is(http.StatusOK)
}

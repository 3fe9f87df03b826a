package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

func (l *live) letters(query string) []api.DeadLetter {
	l.Helper()
	return as[api.Page[api.DeadLetter]](l.get(ns + "/dead-letters" + query).is(http.StatusOK)).Items
}

func TestDeadLettersAreListedAndReplayed(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.register("brittle", brittle)
	l.register("split", "workflow: split\nnodes: {s: {handler: fragile, shards: 3}, c: {handler: ok, needs: [s]}}")
	var runs []string
	for range 3 {
		runs = append(runs, l.failing("brittle").ID)
	}
	split := l.failing("split").ID
	all := l.letters("")
	require.Len(t, all, 6)
	first := l.letters("?workflow=brittle&code=E1")[2]
	require.Equal(t, runs[0]+":b:1", first.ID)
	require.Equal(t, &api.NodeError{Class: "permanent", Code: "E1", Message: "it is broken"}, first.Error)
	require.JSONEq(t, `{"day": "today"}`, string(first.Params))
	require.Equal(t, 1, first.Attempts)
	require.Empty(t, l.letters("?code=E2"))
	require.Empty(t, l.letters("?to=2020-01-01T00:00:00Z"))
	l.get(ns + "/dead-letters?workflow=none").problem(http.StatusNotFound)
	l.get(ns + "/dead-letters?cursor=x").problem(http.StatusUnprocessableEntity)

	var paged []string
	cursor := ""
	for {
		page := as[api.Page[api.DeadLetter]](l.get(ns + "/dead-letters?limit=2&cursor=" + cursor).is(http.StatusOK))
		for _, d := range page.Items {
			paged = append(paged, d.ID)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	require.Len(t, paged, 6)
	require.Equal(t, all[0].ID, paged[0])

	l.broken.Store(false)
	path := ns + "/dead-letters/replay"
	plan := as[api.Plan](l.post(path+"?dry_run=true", `{"filter": {}}`).is(http.StatusOK))
	require.Equal(t, map[string]int{"rerun": 6}, plan.Counts)
	one := as[api.LettersDone](l.post(path, fmt.Sprintf(`{"ids": [%q]}`, first.ID)).is(http.StatusOK))
	require.Equal(t, []api.LetterResult{{ID: first.ID, Run: runs[0], Result: "rerun"}}, one.Items)
	l.until(runs[0], "succeeded")
	p := l.post(path, `{"filter": {}, "plan": "`+plan.Token+`"}`).problem(http.StatusConflict)
	require.Equal(t, "plan_changed", p.Errors[0].Code)
	require.Contains(t, p.Errors[1].Message, runs[0]+":b:1 is not part of it any more")
	l.post(path, fmt.Sprintf(`{"ids": [%q]}`, first.ID)).problem(http.StatusConflict)

	rest := as[api.LettersDone](l.post(path, `{"filter": {}}`).is(http.StatusOK))
	require.Equal(t, 5, rest.Done)
	for _, run := range append(runs[1:], split) {
		l.until(run, "succeeded")
	}
	require.Empty(t, l.letters(""))
	answered := l.letters("?resolved=true&workflow=split")[0]
	require.Equal(t, []string{"rerun", "user:local"}, []string{answered.Resolution, answered.ResolvedBy})
}

func TestDeadLettersAreDismissed(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.register("brittle", brittle)
	run := l.failing("brittle").ID
	path := ns + "/dead-letters/dismiss"
	id := run + ":b:1"
	for body, location := range map[string]string{
		`{}`:                              "body.reason",
		`{"reason": " \t", "filter": {}}`: "body.reason",
		`{"reason": "x", "ids": []}`:      "body.ids",
		`{"reason": "x"}`:                 "body",
		`{"reason": "x", "ids": ["y"]}`:   "body.ids[0]",
		`{"reason": "x", "ids": ["` + id + `"], "filter": {}}`: "body",
	} {
		require.Equal(t, location, l.post(path, body).problem(http.StatusUnprocessableEntity).Errors[0].Location, body)
	}
	l.post(path, `{"reason": "x", "filter": {"workflow": "none"}}`).problem(http.StatusNotFound)
	done := as[api.LettersDone](l.post(path, `{"reason": "known", "ids": ["`+id+`"]}`).is(http.StatusOK))
	require.Equal(t, []api.LetterResult{{ID: id, Run: run, Result: "dismissed"}}, done.Items)
	require.Empty(t, l.letters(""))
	closed := l.letters("?resolved=true")[0]
	require.Equal(t, []string{"dismissed", "user:local", "known"}, []string{closed.Resolution, closed.ResolvedBy, closed.Note})
	require.Zero(t, as[api.LettersDone](l.post(path, `{"reason": "known", "filter": {}}`).is(http.StatusOK)).Done)
}

// TestOneDeadLetterIsAnsweredOnce lets many people answer the same dead letters at once, by their ids and by a filter: one of them does (S31).
func TestOneDeadLetterIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.register("brittle", brittle)
	l.register("split", "workflow: split\nnodes: {s: {handler: fragile, shards: 3}, c: {handler: ok, needs: [s]}}")
	path := ns + "/dead-letters/"
	for _, verb := range []string{"replay", "dismiss"} {
		run := l.failing("brittle").ID
		body := fmt.Sprintf(`{"ids": ["%s:b:1"], "reason": "known"}`, run)
		require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusConflict: 5}, l.together(6, path+verb, body, nil))
		again := l.until(run, "failed")
		require.Equal(t, map[string]int{"replay": 2, "dismiss": 1}[verb], again.Generation)
	}
	l.post(path+"dismiss", `{"filter": {}, "reason": "known"}`).is(http.StatusOK)
	split := l.failing("split").ID
	l.broken.Store(false) // so that there are no new ones
	var done atomic.Int32
	l.together(4, path+"replay", `{"filter": {"workflow": "split"}}`, func(text string) {
		var got api.LettersDone
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Error(err)
		}
		done.Add(int32(got.Done))
		for _, i := range got.Items {
			if i.Result == "failed" && i.Error != "there is no open dead letter "+i.ID {
				t.Error(i.Error)
			}
		}
	})
	require.EqualValues(t, 3, done.Load())
	require.Equal(t, 2, l.until(split, "succeeded").Generation)
}

// together sends the same request many times at once, and counts the answers by their status.
func (l *live) together(n int, path, body string, read func(text string)) map[int]int {
	l.Helper()
	var mu sync.Mutex
	counts := make(map[int]int)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			got, err := http.Post(l.url+path, "application/json", strings.NewReader(body))
			if err != nil {
				l.Error(err)
				return
			}
			text, err := io.ReadAll(got.Body)
			if err = errors.Join(err, got.Body.Close()); err != nil {
				l.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			counts[got.StatusCode]++
			if read != nil {
				read(string(text))
			}
		})
	}
	all.Wait()
	return counts
}

package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

func (b *bed) log(a store.Attempt, seq int, lines ...string) {
	b.Helper()
	chunk := store.LogChunk{Attempt: a, Seq: seq}
	for _, l := range lines {
		chunk.Lines = append(chunk.Lines, store.LogLine{Time: time.Now(), Stream: "stdout", Text: l})
	}
	require.NoError(b, b.store.AppendLogs(b.Context(), []store.LogChunk{chunk}))
}

func TestLogsArePagedAcrossAttempts(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.trigger("small", `{}`)
	path := ns + "/node-runs/" + run.ID + ":extract/logs"
	require.Empty(t, as[api.Page[api.LogLine]](b.get(path).is(http.StatusOK)).Items)

	var want []string
	for attempt := 1; attempt <= 2; attempt++ {
		for seq := 1; seq <= 70; seq++ {
			lines := []string{fmt.Sprintf("%d/%d/a", attempt, seq), fmt.Sprintf("%d/%d/b\x00<\u2028>", attempt, seq)}
			b.log(attemptOf(b.runID(run.ID), "extract", attempt), seq, lines...)
			want = append(want, lines...)
		}
	}
	b.log(attemptOf(b.runID(run.ID), "clean", 1), 1, "another node's")
	for _, limit := range []int{3, 200, 500} {
		var got []string
		cursor := ""
		for {
			p := as[api.Page[api.LogLine]](b.get(fmt.Sprintf("%s?limit=%d&cursor=%s", path, limit, cursor)).is(http.StatusOK))
			for _, l := range p.Items {
				got = append(got, l.Text)
				require.Equal(t, l.Text[:1], fmt.Sprint(l.Attempt))
			}
			if cursor = p.NextCursor; cursor == "" {
				break
			}
		}
		require.Equal(t, want, got)
	}
	require.Empty(t, as[api.Page[api.LogLine]](b.get(ns+"/node-runs/"+run.ID+":report/logs").is(http.StatusOK)).Items)
	b.get(path + "?cursor=!").problem(http.StatusUnprocessableEntity)
	b.get(ns + "/node-runs/" + run.ID + ":none/logs?follow=true").problem(http.StatusNotFound)
}

// event is one event of a stream.
type event struct{ name, id, data string }

// events reads a stream until it ends, after an event if one is named.
func (b *bed) events(path string, last ...string) <-chan event {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, b.url+path, nil)
	require.NoError(b, err)
	r.Header["Last-Event-Id"] = last
	got, err := http.DefaultClient.Do(r)
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, got.StatusCode)
	require.Equal(b, "text/event-stream", got.Header.Get("Content-Type"))
	out := make(chan event, 100)
	go func() {
		defer close(out)
		defer func() { _ = got.Body.Close() }()
		var e event
		for lines := bufio.NewScanner(got.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "event":
				e.name = value
			case "id":
				e.id = value
			case "data":
				e.data = value
			case "":
				if e.name != "" {
					out <- e
				}
				e = event{}
			}
		}
	}()
	return out
}

func (b *bed) next(events <-chan event, name string) event {
	b.Helper()
	select {
	case e, ok := <-events:
		require.True(b, ok, "the stream ended")
		require.Equal(b, name, e.name, e.data)
		return e
	case <-time.After(20 * time.Second):
		require.Fail(b, "no event came")
	}
	return event{}
}

func TestFollowedLogEndsWithItsNodeRun(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.trigger("small", `{}`)
	attempt := attemptOf(b.runID(run.ID), "extract", 1)
	path := ns + "/node-runs/" + run.ID + ":extract/logs?follow=true"
	b.log(attempt, 1, "one")
	events := b.events(path)
	require.JSONEq(t, `{"state": "queued"}`, b.next(events, "state").data)
	var line api.LogLine
	first := b.next(events, "line")
	require.NoError(t, json.Unmarshal([]byte(first.data), &line))
	require.Equal(t, "one", line.Text)
	require.NotEmpty(t, first.id)

	b.take(b.runID(run.ID), "extract")
	require.JSONEq(t, `{"state": "running"}`, b.next(events, "state").data)
	b.log(attempt, 2, "two", "three")
	require.Contains(t, b.next(events, "line").data, `"text":"two"`)
	require.Contains(t, b.next(events, "line").data, `"text":"three"`)
	b.log(attempt, 3, "four")
	b.apply(store.Changes{Records: []store.Record{record(attempt, progress.Succeeded)}})
	if e := <-events; e.name == "line" { // the last line comes before or with the news of the end
		require.Contains(t, e.data, `"text":"four"`)
		b.next(events, "state")
	} else {
		require.Equal(t, "state", e.name)
		b.next(events, "line")
	}
	require.JSONEq(t, `{"state": "succeeded"}`, b.next(events, "end").data)
	_, open := <-events
	require.False(t, open)

	for _, rest := range []<-chan event{b.events(path + "&cursor=" + first.id), b.events(path, first.id)} {
		b.next(rest, "state")
		require.Contains(t, b.next(rest, "line").data, `"text":"two"`)
	}
}

func TestFollowersDoNotKeepTheServerFromShuttingDown(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.trigger("small", `{}`)
	events := b.events(ns + "/node-runs/" + run.ID + ":extract/logs?follow=true")
	b.next(events, "state")
	// The bed's cleanup shuts the server down, and fails when that takes too long.
}

// TestRemoteLogsAreBounded adds to the log of an attempt that is full: it says that it is cut, once, and keeps nothing more.
func TestRemoteLogsAreBounded(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.trigger("small", `{}`)
	of := attemptOf(b.runID(run.ID), "extract", 1)
	many := make([]store.LogLine, 2500)
	for i := range many {
		many[i] = store.LogLine{Time: time.Now(), Stream: "log", Text: "x"}
	}
	require.NoError(t, b.store.AppendRemoteLog(t.Context(), of, many))
	rows := 0
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT count(*) FROM ax.logs WHERE run_id = $1", of.Run).Scan(&rows))
	require.Equal(t, 3, rows)
	b.exec("UPDATE ax.logs SET seq = 10000 WHERE run_id = $1 AND seq = 3", of.Run)
	for range 2 {
		require.NoError(t, b.store.AppendRemoteLog(t.Context(), of, many[:1]))
		lines, err := b.store.Logs(t.Context(), of, store.LogMark{}, 5000)
		require.NoError(t, err)
		require.Len(t, lines, 2501)
		require.Contains(t, lines[2500].Text, "the log is cut here")
	}
}

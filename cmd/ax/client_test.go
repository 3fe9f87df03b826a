package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

// stage is a server that answers what a test says.
type stage struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

const stagePrefix = "/api/v1/namespaces/default/"

func newStage(t *testing.T, answers map[string]http.HandlerFunc) *stage {
	s := &stage{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Method + " " + strings.TrimPrefix(r.URL.Path, stagePrefix)
		s.mu.Lock()
		s.asked = append(s.asked, key)
		s.mu.Unlock()
		if answer, ok := answers[key]; ok {
			answer(w, r)
			return
		}
		refuse(http.StatusNotFound, "there is no "+key)(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func answer(v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		text, err := json.Marshal(v)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			panic(err)
		}
	}
}

func refuse(status int, detail string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		answer(api.Problem{Title: http.StatusText(status), Detail: detail, RequestID: "R1", Errors: []api.ProblemDetail{
			{Location: "body.nodes.a", Message: "is odd", Hint: "make it even"},
		}})(w, r)
	}
}

func TestListsAreReadToTheLimit(t *testing.T) {
	s := newStage(t, map[string]http.HandlerFunc{"GET runs": func(w http.ResponseWriter, r *http.Request) {
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		if err != nil || limit > maxPage {
			panic("bad limit")
		}
		begin := len(r.URL.Query().Get("cursor"))
		page := api.Page[api.Run]{NextCursor: strings.Repeat("x", begin+limit)}
		for i := range limit {
			page.Items = append(page.Items, api.Run{ID: strconv.Itoa(begin + i)})
		}
		answer(page)(w, r)
	}})
	out := at(s.URL).ax("runs", "-n", "1203", "-o", "json").good(t)
	var page api.Page[api.Run]
	require.NoError(t, json.Unmarshal([]byte(out), &page))
	require.Len(t, page.Items, 1203)
	require.Equal(t, "1202", page.Items[1202].ID)
	require.Len(t, s.asked, 3)
}

func TestQueriesOfRuns(t *testing.T) {
	var query string
	s := newStage(t, map[string]http.HandlerFunc{"GET runs": func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.RawQuery
		answer(api.Page[api.Run]{Items: []api.Run{}})(w, r)
	}})
	at(s.URL).ax("runs", "w", "--state", "failed", "--from", "-2h", "--to", "2026-11-30T08:30:00+08:00", "--logical-date", "2026-11-30", "-n", "7").good(t)
	require.Equal(t, "from=2026-11-30T07%3A00%3A00Z&limit=7&logical_date=2026-11-30&state=failed&to=2026-11-30T08%3A30%3A00%2B08%3A00&workflow=w", query)
}

func TestAnswersThatAreErrors(t *testing.T) {
	for status, code := range map[int]int{404: exitNotFound, 401: exitForbidden, 422: exitUsage, 409: exitFailed, 503: exitUnreachable, 500: exitFailed} {
		s := newStage(t, map[string]http.HandlerFunc{"GET runs/x": refuse(status, "it is so")})
		d := at(s.URL).ax("run", "x")
		d.fails(t, code, "ax: it is so\n  body.nodes.a: is odd (make it even)")
		require.Equal(t, status >= 500, strings.Contains(d.err, "(request R1)"), d.err)
	}
}

func TestServersThatAreNone(t *testing.T) {
	for says, handler := range map[string]http.HandlerFunc{
		"answered 502 Bad Gateway: is it an ax server?": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"cannot be read, is it an ax server":            func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
	} {
		s := httptest.NewServer(handler)
		d := at(s.URL).ax("runs")
		s.Close()
		require.NotEqual(t, exitDone, d.code)
		require.Contains(t, d.err, says)
	}
}

func TestRequestsSayWhoAsks(t *testing.T) {
	s := newStage(t, nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.URL.EscapedPath() != "/api/v1/namespaces/a%20b/runs/x%2Fy" {
			panic(r.URL.EscapedPath())
		}
		refuse(http.StatusForbidden, "no")(w, r)
	})
	at(s.URL).ax("run", "x/y", "--token", "secret", "--namespace", "a b").fails(t, exitForbidden, "no")
}

// stream writes events and ends the connection.
func stream(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if _, err := io.WriteString(w, strings.Join(events, "")); err != nil {
			panic(err)
		}
	}
}

func lineEvent(id int, text string) string {
	data, err := json.Marshal(api.LogLine{Attempt: 1, Text: text})
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("event: line\nid: c%d\ndata: %s\n\n", id, data)
}

// A stream that breaks is taken up where it ended: no line is lost, none is there twice.
func TestFollowGoesOnWhereItBroke(t *testing.T) {
	cursors := make(chan string, 3)
	s := newStage(t, map[string]http.HandlerFunc{"GET node-runs/r:n": answer(api.NodeRunDetail{}), "GET node-runs/r:n/logs": func(w http.ResponseWriter, r *http.Request) {
		cursor := r.URL.Query().Get("cursor")
		cursors <- cursor
		switch cursor {
		case "":
			stream("event: state\ndata: {\"state\":\"running\"}\n\n", lineEvent(1, "one"), lineEvent(2, "two"), "event: line\nid: c3\nda")(w, r)
		case "c2":
			stream(": alive\n\n", lineEvent(3, "three\twith \x1b[2J"), "event: end\ndata: {\"state\":\"succeeded\"}\n\n")(w, r)
		}
	}})
	require.Equal(t, "one\ntwo\nthree\twith \x1b[2J\n", at(s.URL).ax("logs", "r", "n", "-f").good(t))
	require.Equal(t, []string{"", "c2"}, []string{<-cursors, <-cursors})
}

func TestLogsOfNodes(t *testing.T) {
	lines := api.Page[api.LogLine]{Items: []api.LogLine{
		{Attempt: 1, Time: testNow, Stream: "stdout", Text: "one"}, {Attempt: 2, Time: testNow, Stream: "stderr", Text: "two"},
	}}
	s := newStage(t, map[string]http.HandlerFunc{
		"GET runs/r/nodes":          answer(api.Page[api.NodeRun]{Items: []api.NodeRun{{ID: "r:a:1", Node: "a", Attempts: 2}, {ID: "r:b", Node: "b"}}}),
		"GET node-runs/r:a":         answer(api.NodeRunDetail{}),
		"GET node-runs/r:gone":      refuse(http.StatusNotFound, "no node"),
		"GET node-runs/r:a/logs":    answer(lines),
		"GET node-runs/r:a:1/logs":  answer(lines),
		"GET runs/r":                answer(api.RunDetail{Run: api.Run{ID: "r", State: "succeeded"}}),
		"GET node-runs/r:gone/logs": refuse(http.StatusNotFound, "no node"),
		"GET runs/broken":           answer(api.RunDetail{Run: api.Run{State: "running"}}),
		"GET runs/broken/nodes":     answer(api.Page[api.NodeRun]{Items: []api.NodeRun{{ID: "r:gone", Node: "gone", Attempts: 1}}}),
	})
	sh := at(s.URL)
	require.Equal(t, "attempt 1:\none\nattempt 2:\ntwo\n", sh.ax("logs", "r", "a").good(t))
	require.Equal(t, "attempt 1:\none\nattempt 2:\ntwo\n", sh.ax("logs", "r:a").good(t))
	require.Equal(t, "two\n", sh.ax("logs", "r", "a", "--attempt", "2").good(t))
	require.Equal(t, "a | attempt 1:\na | one\na | attempt 2:\na | two\n", sh.ax("logs", "r").good(t))
	require.Equal(t, sh.ax("logs", "r").out, sh.ax("logs", "r", "-f").good(t), "a run that has ended is shown in order")
	require.Equal(t, "attempt 1:\n09:00:00.000 one\nattempt 2:\n09:00:00.000 two\n", sh.ax("logs", "r", "a", "--timestamps").good(t))
	require.Equal(t, `{"node":"a","attempt":1,"time":"2026-11-30T09:00:00Z","stream":"stdout","text":"one"}`,
		strings.Split(sh.ax("logs", "r", "-o", "json").good(t), "\n")[0])
	require.Contains(t, sh.ax("logs", "r", "-o", "yaml").good(t), `- {"node":"a","attempt":2,`)
	sh.ax("logs", "r", "gone").fails(t, exitNotFound, "no node")
	sh.ax("logs", "broken", "-f").fails(t, exitNotFound, "no node")
}

// The log of a split node is those of its shards.
func TestLogsOfShards(t *testing.T) {
	split := api.NodeRun{ID: "r:s:1", Node: "s", State: "failed", Attempts: 1, Shards: &api.Shards{Total: 3}}
	shard := func(i, attempts int) api.NodeRun {
		return api.NodeRun{ID: fmt.Sprintf("r:s:1:%d", i), Node: "s", Attempts: attempts, Shard: &i}
	}
	s := newStage(t, map[string]http.HandlerFunc{
		"GET runs/r":                 answer(api.RunDetail{Run: api.Run{ID: "r", State: "running"}}),
		"GET runs/r/nodes":           answer(api.Page[api.NodeRun]{Items: []api.NodeRun{split}}),
		"GET node-runs/r:s":          answer(api.NodeRunDetail{NodeRun: split}),
		"GET node-runs/r:s:1/shards": answer(api.Page[api.NodeRun]{Items: []api.NodeRun{shard(0, 1), shard(1, 1), shard(2, 0)}}),
		"GET node-runs/r:s:1:0/logs": answer(api.Page[api.LogLine]{Items: []api.LogLine{{Attempt: 1, Text: "one"}}}),
		"GET node-runs/r:s:1:1/logs": answer(api.Page[api.LogLine]{Items: []api.LogLine{{Attempt: 1, Text: "two"}}}),
	})
	for _, args := range [][]string{{"logs", "r"}, {"logs", "r", "s"}, {"logs", "r", "s", "-f"}} {
		require.Equal(t, "s[0] | one\ns[1] | two\n", at(s.URL).ax(args...).good(t))
	}
}

func TestLogLinesCannotSteerATerminal(t *testing.T) {
	var out bytes.Buffer
	c := shell{}.call(&out, nil)
	c.colour, c.output = true, outputTable
	p := &logPrinter{call: c}
	require.NoError(t, p.print("", api.LogLine{Text: "a\tb\x1b[2Jc"}))
	require.Equal(t, "a    b[2Jc\n", out.String())
}

// TestLogsAreShownAsTheyCome wants the first page of a log to be written before the second one is there.
func TestLogsAreShownAsTheyCome(t *testing.T) {
	t.Parallel()
	second := refuse(http.StatusNotFound, "it is gone")
	s := newStage(t, map[string]http.HandlerFunc{"GET node-runs/r:n": answer(api.NodeRunDetail{}), "GET node-runs/r:n/logs": func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("cursor") != "" {
			second(w, r)
			return
		}
		answer(api.Page[api.LogLine]{Items: []api.LogLine{{Attempt: 1, Text: "one"}}, NextCursor: "x"})(w, r)
	}})
	sh := at(s.URL)
	require.Equal(t, "one\n", sh.ax("logs", "r", "n").out)
	second = answer(api.Page[api.LogLine]{Items: []api.LogLine{{Attempt: 2, Text: "again"}}})
	require.Equal(t, "one\nattempt 2:\nagain\n", sh.ax("logs", "r", "n").good(t))
}

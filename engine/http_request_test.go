package engine

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
)

// seen is what a server got.
type seen struct {
	method, body, host string
	header             http.Header
}

func record(t *testing.T, into *seen) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read request: %v", err)
		}
		*into = seen{r.Method, string(body), r.Host, r.Header}
		w.Header().Set("Ax-Protocol", r.Header.Get("Answer-Protocol"))
		_, _ = io.WriteString(w, `{"status":"succeeded"}`)
	}
}

func TestHTTPSendsWhatTheNodeSays(t *testing.T) {
	const document = "the dispatch document"
	for name, c := range map[string]struct {
		node                dag.HTTP
		work                string
		method, body, ctype string
	}{
		"by default":            {dag.HTTP{}, ``, "POST", document, "application/json"},
		"worker protocol":       {dag.HTTP{Protocol: "ax", Method: "PUT", Body: 1}, ``, "POST", document, "application/json"},
		"a body":                {dag.HTTP{Body: map[string]any{"id": json.Number("12345678901234567890"), "s": "<&>"}}, ``, "POST", `{"id":12345678901234567890,"s":"<&>"}`, "application/json"},
		"an evaluated body":     {dag.HTTP{Method: "PUT", Body: "${{ x }}"}, `{"url":"URL","headers":{},"body":{"id":12345678901234567890}}`, "PUT", `{"id":12345678901234567890}`, "application/json"},
		"a body that is null":   {dag.HTTP{Body: "${{ x }}"}, `{"url":"URL","body":null}`, "POST", `null`, "application/json"},
		"no body but templates": {dag.HTTP{URL: "${{ x }}"}, `{"url":"URL","headers":null,"body":null}`, "POST", document, "application/json"},
		"a form":                {dag.HTTP{Body: "a=b&c=d", Headers: map[string]string{"content-type": "application/x-www-form-urlencoded"}}, ``, "POST", `a=b&c=d`, "application/x-www-form-urlencoded"},
		"JSON of another name":  {dag.HTTP{Body: "a", Headers: map[string]string{"Content-Type": "application/vnd.x+json"}}, ``, "POST", `"a"`, "application/vnd.x+json"},
		"GET":                   {dag.HTTP{Method: "GET"}, ``, "GET", ``, ""},
		"DELETE with a body":    {dag.HTTP{Method: "DELETE", Body: true}, ``, "DELETE", `true`, "application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			var got seen
			server := serve(t, record(t, &got))
			if c.work == "" {
				c.node.URL = server.URL
			}
			b := newBench(&dag.Node{Work: dag.Work{HTTP: &c.node}})
			if c.work != "" {
				b.Work = json.RawMessage(strings.ReplaceAll(c.work, "URL", server.URL))
			}
			out, _ := b.execute(t, t.Context(), NewHTTP(HTTPConfig{Client: local(t)}))
			require.Nil(t, out.Err)
			require.Equal(t, c.method, got.method)
			require.Equal(t, c.ctype, got.header.Get("Content-Type"))
			require.Equal(t, []string{b.Attempt.ExecutionID()}, got.header["Idempotency-Key"])
			if c.body == document {
				require.Contains(t, got.body, `{"version":1,"execution_id":"`)
				return
			}
			require.Equal(t, c.body, got.body)
		})
	}
}

func TestHTTPDispatchDocument(t *testing.T) {
	var got seen
	node := &dag.HTTP{URL: serve(t, record(t, &got)).URL, Protocol: "ax"}
	b := newBench(&dag.Node{Work: dag.Work{HTTP: node}})
	b.Deadline = time.Date(2026, 11, 30, 12, 0, 0, 0, time.FixedZone("CST", 8*3600))
	b.Attempt.Shard, b.Shards = 3, 4
	address := "https://ax/" + b.Attempt.ExecutionID()
	b.ResultURL, b.HeartbeatURL = address+"/result", address+"/heartbeat"
	out, _ := b.execute(t, t.Context(), NewHTTP(HTTPConfig{Client: local(t)}))
	require.Nil(t, out.Err)

	var sent map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(got.body), &sent))
	var serverTime time.Time
	require.NoError(t, json.Unmarshal(sent["server_time"], &serverTime))
	require.WithinDuration(t, time.Now(), serverTime, time.Minute)
	delete(sent, "server_time")
	id := b.Attempt.ExecutionID()
	want := map[string]string{
		"version": `1`, "execution_id": `"` + id + `"`, "run_id": `"` + b.Attempt.Run.String() + `"`, "workflow": `"report.daily_sales"`, "node": `"clean"`,
		"attempt": `2`, "shard": `{"index":3,"total":4}`, "scheduled_at": `"2026-11-29T18:30:00Z"`, "logical_date": `"2026-11-30"`,
		"deadline": `"2026-11-30T04:00:00Z"`, "params": `{"big":12345678901234567890123,"f":0.10}`, "inputs": `{"day":"2026-11-30"}`,
		"result_url": `"https://ax/` + id + `/result"`, "heartbeat_url": `"https://ax/` + id + `/heartbeat"`,
	}
	require.Len(t, sent, len(want))
	for field, value := range want {
		require.Equal(t, value, string(sent[field]), field)
	}
}

func TestHTTPHeaders(t *testing.T) {
	var got seen
	node := &dag.HTTP{URL: serve(t, record(t, &got)).URL, Headers: map[string]string{
		"Host": "erp.example", "X-Count": "${{ 5 }}", "Idempotency-Key": "mine", "Answer-Protocol": "1",
	}}
	b := newBench(&dag.Node{Work: dag.Work{HTTP: node}})
	b.Work = json.RawMessage(`{"headers":{"X-Count":5}}`)
	b.Sign = func(body []byte) string { return "over " + string(body[:12]) }
	out, _ := b.execute(t, t.Context(), NewHTTP(HTTPConfig{Client: local(t)}))
	require.Nil(t, out.Err)
	require.Equal(t, "erp.example", got.host)
	require.Equal(t, "5", got.header.Get("X-Count"))
	require.Equal(t, b.Attempt.ExecutionID(), got.header.Get("Idempotency-Key"))
	require.Equal(t, `over {"version":1`, got.header.Get("Ax-Signature"))
}

func TestHTTPRefusesWhatCannotBeSent(t *testing.T) {
	for name, c := range map[string]struct{ work, code string }{
		"line break in a header":  {`{"headers":{"X-A":"a\r\nX-B: b"}}`, codeBadCall},
		"unparsable address":      {`{"url":"http://a b/%zz"}`, codeBadURL},
		"no address":              {`{"url":""}`, codeBadURL},
		"no host":                 {`{"url":"http://"}`, codeBadURL},
		"headers of another kind": {`{"headers":[1]}`, codeBadCall},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(&dag.Node{Work: dag.Work{HTTP: &dag.HTTP{URL: "http://127.0.0.1:1"}}})
			b.Work = json.RawMessage(c.work)
			out, _ := b.execute(t, t.Context(), NewHTTP(HTTPConfig{Client: local(t)}))
			requireError(t, out, progress.Permanent, c.code)
		})
	}
}

func TestHTTPFollowsOnlyRedirectsThatKeepTheRequest(t *testing.T) {
	for _, c := range []struct {
		method string
		status int
		code   string
	}{
		{"POST", 307, ""}, {"POST", 308, ""}, {"GET", 302, ""}, {"GET", 301, ""},
		{"POST", 301, "http_301"}, {"POST", 302, "http_302"}, {"POST", 303, "http_303"}, {"PUT", 302, "http_302"},
	} {
		var got seen
		other := serve(t, record(t, &got))
		node := dag.HTTP{Method: c.method, Headers: map[string]string{"X-Own": "value-one"}, Body: "x"}
		out, _ := call(t, node, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(c.status)
		})
		if c.code != "" {
			require.Contains(t, requireError(t, out, progress.Permanent, c.code), "write the final address")
			require.Empty(t, got.method)
			continue
		}
		require.Nil(t, out.Err)
		require.Equal(t, c.method, got.method)
		require.NotEmpty(t, got.header.Get("Idempotency-Key"))
		require.Empty(t, got.header.Get("X-Own"), "another host got a header that was not meant for it")
		require.Empty(t, got.header.Get("Referer"))
	}
}

// Go's transport repeats a request with an Idempotency-Key by itself when a kept connection breaks. That would be a second start of a
// node that must not be repeated.
func TestHTTPIsNotRepeatedUnderTheEngine(t *testing.T) {
	for idempotent, want := range map[bool]int64{true: 3, false: 2} {
		var calls atomic.Int64
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1) != 2 {
				return
			}
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				err = conn.Close()
			}
			if err != nil {
				t.Errorf("break the connection: %v", err)
			}
		})
		x := NewHTTP(HTTPConfig{Client: local(t)})
		for range 2 {
			newBench(&dag.Node{Work: dag.Work{HTTP: &dag.HTTP{URL: server.URL}}, Policy: dag.Policy{Idempotent: &idempotent}}).execute(t, t.Context(), x)
		}
		require.Equal(t, want, calls.Load(), "idempotent: %v", idempotent)
	}
}

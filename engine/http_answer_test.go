package engine

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/outbound"
)

// local is a client that reaches test servers.
func local(t *testing.T) *http.Client {
	client := outbound.NewClient(outbound.Policy{AllowLoopback: true}, outbound.Options{})
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// call carries out an HTTP node against a handler.
func call(t *testing.T, node dag.HTTP, handler http.HandlerFunc) (Outcome, string) {
	t.Helper()
	node.URL = serve(t, handler).URL + "/clean"
	return newBench(&dag.Node{Work: dag.Work{HTTP: &node}}).execute(t, t.Context(), NewHTTP(HTTPConfig{Client: local(t)}))
}

func answers(status int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if name, value, found := strings.Cut(header, ": "); found {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const byHeader = "Ax-Protocol: 1"

func TestHTTPAnswersThatSucceed(t *testing.T) {
	for name, c := range map[string]struct {
		protocol     string
		status       int
		header, body string
		output       string
	}{
		"plain JSON":               {"", 200, "Content-Type: application/json", ` {"id":12345678901234567890,"f":0.10} `, `{"id":12345678901234567890,"f":0.10}`},
		"plain JSON by any name":   {"", 201, "", `[1]`, `[1]`},
		"plain null":               {"", 200, "", `null`, ``},
		"plain nothing":            {"", 204, "", ``, ``},
		"plain text":               {"", 200, "", `done`, ``},
		"plain 202 is an end":      {"", 202, "", `{"queued":true}`, `{"queued":true}`},
		"plain looks like ours":    {"", 200, "", `{"status":"failed"}`, `{"status":"failed"}`},
		"plain in spite of header": {"plain", 200, byHeader, `{"status":"failed"}`, `{"status":"failed"}`},
		"ax by header":             {"", 200, byHeader, `{"status":"succeeded","output":{"n":1e400},"more":1}`, `{"n":1e400}`},
		"ax by node":               {"ax", 200, "", `{"status":"succeeded","output":5}`, `5`},
		"ax without output":        {"ax", 200, "", `{"status":"succeeded"}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := call(t, dag.HTTP{Protocol: c.protocol}, answers(c.status, c.header, c.body))
			require.Nil(t, out.Err)
			require.Nil(t, out.Accepted)
			require.Equal(t, c.output, string(out.Output))
		})
	}
}

func TestHTTPAnswersThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		protocol     string
		status       int
		header, body string
		class        progress.Class
		code         string
		after        time.Duration
	}{
		"not found":                 {"", 404, "", "", progress.Permanent, "http_404", 0},
		"conflict":                  {"", 409, "Retry-After: 5", "", progress.Permanent, "http_409", 0},
		"request timeout":           {"", 408, "", "", progress.System, "http_408", 0},
		"too many":                  {"", 429, "Retry-After: 7", "", progress.System, "http_429", 7 * time.Second},
		"unavailable":               {"ax", 503, "Retry-After: 120", "", progress.System, "http_503", 2 * time.Minute},
		"server error":              {"", 500, byHeader, `{"status":"succeeded"}`, progress.System, "http_500", 0},
		"not modified":              {"", 304, "", "", progress.Permanent, "http_304", 0},
		"ax permanent":              {"ax", 200, "", `{"status":"failed","error":{"class":"permanent","code":"bad_day","message":"no such day"}}`, progress.Permanent, "bad_day", 0},
		"ax system":                 {"", 200, byHeader, `{"status":"failed","error":{"class":"system","code":"db","message":"gone"}}`, progress.System, "db", 0},
		"ax failed, no reason":      {"ax", 200, "Retry-After: 3", `{"status":"failed"}`, progress.System, "failed", 3 * time.Second},
		"ax failed, foreign class":  {"ax", 200, "", `{"status":"failed","error":{"class":"lost","code":"x"}}`, progress.System, "x", 0},
		"ax without JSON":           {"ax", 200, "", `<html>`, progress.Permanent, codeInvalidOutput, 0},
		"ax without a body":         {"ax", 204, "", ``, progress.Permanent, codeInvalidOutput, 0},
		"ax of an unknown status":   {"ax", 200, "", `{"status":"odd"}`, progress.Permanent, codeInvalidOutput, 0},
		"ax with NaN":               {"ax", 200, "", `{"status":"succeeded","output":NaN}`, progress.Permanent, codeInvalidOutput, 0},
		"a NUL character":           {"", 200, "", `"a\u0000b"`, progress.Permanent, codeInvalidOutput, 0},
		"bytes that are no text":    {"", 200, "", "\"\xff\"", progress.Permanent, codeInvalidOutput, 0},
		"ax bytes that are no text": {"ax", 200, "", "{\"status\":\"succeeded\",\"output\":\"\xff\"}", progress.Permanent, codeInvalidOutput, 0},
		"an output over the limit":  {"", 200, "", `"` + strings.Repeat("x", maxOutput) + `"`, progress.Permanent, codeInvalidOutput, 0},
		"a body far over the limit": {"", 200, "", strings.Repeat("x", 3*maxOutput), progress.Permanent, codeInvalidOutput, 0},
		"an error over the limit":   {"", 500, "", strings.Repeat("x", 3*maxOutput), progress.System, "http_500", 0},
		"ten thousand levels":       {"", 200, "", strings.Repeat("[", 9000) + strings.Repeat("]", 9000), progress.Permanent, codeInvalidOutput, 0},
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := call(t, dag.HTTP{Protocol: c.protocol}, answers(c.status, c.header, c.body))
			message := requireError(t, out, c.class, c.code)
			require.NotEmpty(t, message)
			require.Less(t, len(message), 1000)
			require.Equal(t, c.after, out.Err.RetryAfter)
		})
	}
}

func TestHTTPAcceptedGoesOnElsewhere(t *testing.T) {
	out, _ := call(t, dag.HTTP{Protocol: "ax"}, answers(202, "", ""))
	require.Nil(t, out.Err)
	require.Contains(t, out.Accepted.Worker, "127.0.0.1:")
	require.Greater(t, out.Accepted.Left, 50*time.Second)
	require.LessOrEqual(t, out.Accepted.Left, time.Minute)
}

func TestHTTPSkippedAndLog(t *testing.T) {
	out, log := call(t, dag.HTTP{}, answers(200, byHeader, `{"status":"skipped","error":{"message":"nothing new"},"log":"one\r\n\ntwo"}`))
	require.True(t, out.Skipped)
	require.Equal(t, "nothing new", out.Reason)
	require.Contains(t, log, "log: one\nlog: \nlog: two\n")
}

func TestHTTPLogsTheBeginningOfOtherBodies(t *testing.T) {
	for _, status := range []int{200, 404} {
		_, log := call(t, dag.HTTP{}, answers(status, "", strings.Repeat("日", 600)))
		require.Contains(t, log, strings.Repeat("日", 500)+" … (100 characters cut)")
		require.NotContains(t, log, strings.Repeat("日", 501))
	}
}

func TestHTTPBodyThatEndsEarlyMayBeTriedAgain(t *testing.T) {
	out, _ := call(t, dag.HTTP{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"half":`)
	})
	requireError(t, out, progress.System, codeNetwork)
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "30": 30 * time.Second, " 30 ": 30 * time.Second, "-1": 0, "soon": 0, "1.5": 0,
		"99999999":                       maxRetryAfter,
		"18446744073709551615":           maxRetryAfter,
		"Mon, 30 Nov 2026 12:00:20 GMT":  20 * time.Second,
		"Mon, 30 Nov 2026 11:00:00 GMT":  0,
		"Monday, 30-Nov-26 12:00:20 GMT": 20 * time.Second,
		"Thu, 30 Nov 2096 12:00:00 GMT":  maxRetryAfter,
	} {
		require.Equal(t, want, retryAfter(value, now), "%q", value)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := retryAfter(rapid.String().Draw(t, "value"), now)
		require.True(t, d >= 0 && d <= maxRetryAfter, d)
	})
}

package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/outbound"
)

// names resolves host names to what they map to.
type names map[string]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if n[host] == "" {
		return nil, errors.New("no such host")
	}
	return []netip.Addr{netip.MustParseAddr(n[host])}, nil
}

// echoes answers with all that the request says of itself, as servers do in their errors.
func echoes(status int, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		whole := fmt.Sprintf("%s %q %s %s %v", r.URL, r.URL.Query(), user, password, r.Header)
		w.Header().Set("Content-Type", "text/plain")
		if kind == "ax" {
			w.Header().Set("Ax-Protocol", "1")
			whole = mustJSON(map[string]any{"status": "failed", "log": whole + "\n" + whole, "error": map[string]string{"code": whole, "message": whole}})
		}
		if kind == "json" {
			whole = mustJSON(map[string]any{"url": r.URL.String(), "query": r.URL.Query(), "headers": r.Header, "password": password, "n": json.Number("1234567890")})
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, whole)
	}
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// breaks answers with bytes of its own.
func breaks(format string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = fmt.Fprintf(conn, format, r.URL.RawQuery+" "+r.Header.Get("Authorization"))
		_ = conn.Close()
	}
}

// Each canary is a secret that comes back from the target in some way; none may be seen in the outcome or the log.
func TestR014SecretsOfARequestAreNotShown(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"success":                   answers(200, "", `{"ok":true}`),
		"success that echoes text":  echoes(200, "text"),
		"success that echoes JSON":  echoes(200, "json"),
		"500 that echoes":           echoes(500, "text"),
		"404 that echoes":           echoes(404, "json"),
		"worker that echoes":        echoes(200, "ax"),
		"status line that echoes":   breaks("HTTP/1.1 500 %s\r\nContent-Length: 0\r\n\r\n"),
		"500 that ends in a secret": breaks("HTTP/1.1 500 No\r\nContent-Length: 999\r\n\r\nBearer CANARY%.0s"),
		"broken answer that echoes": breaks("%s\r\n\r\n"),
		"broken header that echoes": breaks("HTTP/1.1 200 OK\r\n%s\r\n\r\n"),
		"redirect that echoes":      breaks("HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\x01%s\r\n\r\n"),
		"redirect to a closed port": breaks("HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/?%s\r\n\r\n"),
		"endless body":              func(w http.ResponseWriter, r *http.Request) { endless(w, r.Header.Get("Authorization")) },
		"timeout":                   hang,
		"no such host":              nil,
		"forbidden":                 nil,
	} {
		for variant, authorization := range map[string]string{"header": "Bearer CANARY3\"<é>", "user info": ""} {
			t.Run(name+" by "+variant, func(t *testing.T) {
				host := map[string]string{"no such host": "nowhere.example", "forbidden": "169.254.169.254"}[name]
				if handler != nil {
					host = strings.TrimPrefix(serve(t, handler).URL, "http://")
				}
				node := &dag.HTTP{URL: "http://user:CANARY1@" + host + "/path?token=CANARY2%20x&plain=CANARY4&CANARY5#CANARY6",
					Headers: map[string]string{"X-Api-Key": "CANARY7", "Cookie": "session=CANARY8; theme=dark"}}
				if authorization != "" {
					node.Headers["Authorization"] = authorization
				}
				requireNoCanary(t, node)
			})
		}
	}
}

func requireNoCanary(t *testing.T, node *dag.HTTP) {
	t.Helper()
	client := outbound.NewClient(outbound.Policy{AllowLoopback: true}, outbound.Options{Resolver: names{}})
	t.Cleanup(client.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	out, log := newBench(&dag.Node{Work: dag.Work{HTTP: node}}).execute(t, ctx, NewHTTP(HTTPConfig{Client: client, MaxBody: 64 << 10}))
	shown := log + out.Reason
	if out.Err != nil {
		shown += out.Err.Code + out.Err.Message
	}
	if strings.Contains(log, "answered") {
		require.Contains(t, log, "/path?token=…&plain=…&… answered")
	}
	// A query value is in the output only if the target puts it there and its name does not say that it is secret.
	shown += strings.ReplaceAll(string(out.Output), "CANARY4", "")
	require.NotContains(t, shown, "CANARY")
	require.NotContains(t, shown, base64.StdEncoding.EncodeToString([]byte("user:CANARY1")))
	if out.Output != nil {
		require.True(t, json.Valid(out.Output))
	}
}

// hang answers when the caller is gone, which is only seen once the request is read.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func endless(w io.Writer, text string) {
	for {
		if _, err := io.WriteString(w, text+" "+strings.Repeat("x", 1000)); err != nil {
			return
		}
	}
}

func TestMaskKeepsOutputsJSON(t *testing.T) {
	m := newMask(nil, map[string]text{"X-Token": "123456", "Authorization": "Basic dXNlcjpw", "X-Region": "northeast"})
	got, found := m.output(json.RawMessage(`{"n":91234560,"s":"123456 dXNlcjpw","region":"northeast","kind":"Basic"}`))
	require.True(t, found)
	require.JSONEq(t, `{"n":91234560,"s":"123456 ***","region":"northeast","kind":"Basic"}`, string(got))
	got, found = m.output(json.RawMessage(`{"s":"123456"}`))
	require.True(t, found)
	require.JSONEq(t, `{"s":"***"}`, string(got))
	_, found = m.output(json.RawMessage(`{"s":"nothing"}`))
	require.False(t, found)
}

func TestR011HTTPNodesReachNoForbiddenTarget(t *testing.T) {
	var connections atomic.Int64
	victim := serve(t, func(http.ResponseWriter, *http.Request) { connections.Add(1) })
	_, port, err := net.SplitHostPort(victim.Listener.Addr().String())
	require.NoError(t, err)
	client := outbound.NewClient(outbound.Policy{Allow: []string{"friend.example"}},
		outbound.Options{Resolver: names{"evil.example": "127.0.0.1", "friend.example": "127.0.0.1"}})
	t.Cleanup(client.CloseIdleConnections)
	friend := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", victim.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	_, friendPort, err := net.SplitHostPort(friend.Listener.Addr().String())
	require.NoError(t, err)

	for target, code := range map[string]string{
		"http://169.254.169.254/":                   codeForbidden,
		"http://127.0.0.1:" + port:                  codeForbidden,
		"http://localhost:" + port:                  codeForbidden,
		"http://[::1]:" + port:                      codeForbidden,
		"http://10.0.0.1/":                          codeForbidden,
		"http://0x7f000001:" + port:                 codeForbidden,
		"http://2130706433:" + port:                 codeForbidden,
		"http://[::ffff:127.0.0.1]:" + port:         codeForbidden,
		"http://evil.example:" + port:               codeForbidden,
		"http://friend.example:" + friendPort + "/": codeForbidden, // redirects to the victim
		"file:///etc/passwd":                        codeBadURL,
		"gopher://127.0.0.1:" + port:                codeBadURL,
	} {
		t.Run(target, func(t *testing.T) {
			out, log := newBench(&dag.Node{Work: dag.Work{HTTP: &dag.HTTP{URL: target}}}).execute(t, t.Context(), NewHTTP(HTTPConfig{Client: client}))
			message := requireError(t, out, progress.Permanent, code)
			if code == codeForbidden && !strings.Contains(target, "0x") && !strings.Contains(target, "2130706433") {
				require.Contains(t, message, "--allow-http-targets")
			}
			require.Empty(t, log)
		})
	}
	require.Zero(t, connections.Load())

	out, _ := newBench(&dag.Node{Work: dag.Work{HTTP: &dag.HTTP{URL: victim.URL}}}).execute(t, t.Context(), NewHTTP(HTTPConfig{}))
	requireError(t, out, progress.Permanent, codeForbidden)
	require.Zero(t, connections.Load(), "the zero configuration reaches loopback")
}

func TestHTTPStopsWithItsContext(t *testing.T) {
	server := serve(t, hang)
	b := newBench(&dag.Node{Work: dag.Work{HTTP: &dag.HTTP{URL: server.URL}}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	out, _ := b.execute(t, ctx, NewHTTP(HTTPConfig{Client: local(t)}))
	requireError(t, out, progress.Timeout, codeTimeout)

	canceled, stop := context.WithCancelCause(t.Context())
	stop(errFenced)
	out, _ = b.execute(t, canceled, NewHTTP(HTTPConfig{Client: local(t)}))
	require.Contains(t, requireError(t, out, progress.System, "interrupted"), "not current")
}

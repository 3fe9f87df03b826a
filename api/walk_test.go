package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// operations reads what the committed document says there is.
func operations(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	var document struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &document))
	all := map[string][]string{}
	for path, methods := range document.Paths {
		for method, o := range methods {
			queries := []string{}
			for _, p := range o.Parameters {
				if p.In == "query" {
					queries = append(queries, p.Name)
				}
			}
			all[strings.ToUpper(method)+" "+path] = queries
		}
	}
	require.GreaterOrEqual(t, len(all), 16)
	return all
}

// Values that are bad nearly everywhere.
var nasty = []string{
	"", "x", "%00", "%ff", "%2e%2e%2f", "99999999999999999999999", "-1", "0", "1e400", "%F0%9F%92%A9", "7zzzzzzzzzzzz", "7zzzzzzzzzzzz:a:2147483648:-5",
	"0000000000000:%00", "9999-99-99", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "true", "%27%3B--", strings.Repeat("a", 3000),
	// Cursors of the right shape with marks that no list gave out.
	"eyJrIjoiYXBpLnJ1bk1hcmsiLCJtIjotMX0", "eyJrIjoic3RvcmUuRmlyZU1hcmsiLCJtIjp7IkF0IjoiOTk5OS0xMi0zMVQyMzo1OTo1OVoiLCJTY2hlZHVsZSI6LTksIktpbmQiOiJcdTAwMDAifX0",
	"eyJrIjoic3RvcmUuTG9nTWFyayIsIm0iOnsiQXR0ZW1wdCI6OTk5OTk5OTk5OTksIlNlcSI6LTEsIkxpbmUiOi05fX0", "eyJrIjoiYXBpLm5vZGVNYXJrIiwibSI6LTV9",
}

var nastyBodies = []string{
	"", "null", "{", "[]", "\"x\"", "1e400", "{\"a\": 1}", "\xff\xfe", "\x00", `{"reason": "\u0000"}`, `{"params": null, "logical_time": null}`,
	`{"params": {"day": "\ud800"}}`, `{"params": {"day": "` + strings.Repeat("x", 2<<20) + `"}}`, strings.Repeat("[", 100_000),
	`{"logical_time": "0000-01-01T00:00:00Z"}`, `{"params": {"big": 1` + strings.Repeat("0", 400) + `}}`, `{"params": {"big": 1, "big": "x"}}`,
	"workflow: &a [*a]", "workflow: \"\\x00\"", "workflow: small\nnodes: {a: {handler: \"\\0\"}}", "? {a: b}\n: c",
}

// No input makes the server fail (I11), whatever the operation.
func TestNoOperationFailsOnBadInput(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.trigger("small", `{}`).ID
	good := map[string]string{"namespace": "default", "workflow": "small", "run": run, "id": run + ":extract", "version": "1", "name": "holidays"}
	for operation, queries := range operations(t) {
		method, template, _ := strings.Cut(operation, " ")
		for _, path := range spoilt(template, good) {
			b.survives(method, path, "application/json", "{}")
		}
		path := fill(template, good)
		for _, q := range queries {
			for _, v := range nasty {
				if q != "follow" || v != "true" {
					b.survives(method, path+"?"+q+"="+v, "application/json", "{}")
				}
			}
		}
		if method == http.MethodGet {
			continue
		}
		for _, body := range nastyBodies {
			for _, contentType := range []string{"application/json", "application/yaml", "", ";+", "text/plain; charset=\xff"} {
				b.survives(method, path, contentType, body)
			}
		}
	}
}

func (b *bed) survives(method, path, contentType, body string) {
	b.Helper()
	target, err := url.Parse(b.url + path)
	if err != nil {
		return
	}
	r, err := http.NewRequestWithContext(b.Context(), method, target.String(), bytes.NewReader([]byte(body)))
	require.NoError(b, err)
	if contentType != "" && !strings.Contains(contentType, "\xff") {
		r.Header.Set("Content-Type", contentType)
	}
	got := b.send(r)
	require.Less(b, got.status, 500, "%s %s %.100q: %s", method, path, body, got.text)
	if got.status >= 400 {
		got.problem(got.status)
	}
}

// A client that breaks off or garbles its body is told so, if it still listens; it is no failure of the server.
func TestBrokenBodiesAreTheClientsFault(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	target, err := url.Parse(b.url)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", target.Host)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	_, err = io.WriteString(conn, "POST "+ns+"/workflows/x/pause HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n\r\n")
	require.NoError(t, err)
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, got.Body.Close()) }()
	require.Equal(t, http.StatusBadRequest, got.StatusCode)
}

func fill(template string, values map[string]string) string {
	for name, v := range values {
		template = strings.ReplaceAll(template, "{"+name+"}", v)
	}
	return template
}

// spoilt are paths with each parameter in turn replaced by each bad value.
func spoilt(template string, good map[string]string) (paths []string) {
	for name := range good {
		if !strings.Contains(template, "{"+name+"}") {
			continue
		}
		for _, v := range nasty {
			paths = append(paths, fill(strings.ReplaceAll(template, "{"+name+"}", v), good))
		}
	}
	return paths
}

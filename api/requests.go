package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

const requestIDHeader = "X-Request-Id"

var plainID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// logged gives each request an id, its own or a new one, and writes a line when it is done.
func (a *API) logged(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestIDHeader)
		if !plainID.MatchString(id) {
			id = rand.Text()[:16]
		}
		w.Header().Set(requestIDHeader, id)
		began := time.Now()
		seen := &recorder{ResponseWriter: w, status: http.StatusOK}
		inner.ServeHTTP(seen, r.WithContext(context.WithValue(r.Context(), requestKey{}, id)))
		level := slog.LevelInfo
		if quiet(r.URL.Path) {
			level = slog.LevelDebug
		}
		a.log.LogAttrs(r.Context(), level, "request", slog.String("request_id", id), slog.String("method", r.Method),
			slog.String("path", r.URL.Path), slog.Int("status", seen.status), slog.Duration("took", time.Since(began)))
	})
}

// quiet paths are asked for by machines all the time.
func quiet(path string) bool { return path == "/healthz" || path == "/readyz" || path == "/metrics" }

// recorder remembers the status. It unwraps, so that streams can flush and set deadlines.
type recorder struct {
	http.ResponseWriter
	status int
	began  bool
	// copied takes the beginning of the answer too, or all of it; nil for none.
	copied *bytes.Buffer
	whole  bool
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if !r.began {
		r.status, r.began = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	r.began = true
	if r.copied != nil && (r.whole || r.copied.Len() <= maxAudited) {
		r.copied.Write(b)
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap returns the writer beneath, for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// recovered answers a panic like any other failure of ours, when nothing was answered yet.
func (a *API) recovered(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			failure := recover()
			if failure == nil {
				return
			}
			if failure == http.ErrAbortHandler {
				panic(failure)
			}
			a.log.ErrorContext(r.Context(), "a request panicked", slog.Any("panic", failure), slog.String("stack", string(debug.Stack())),
				requestAttr(r.Context()))
			if seen, ok := w.(*recorder); ok && !seen.began {
				a.refuse(w, r, internalError())
			}
		}()
		inner.ServeHTTP(w, r)
	})
}

// refuse answers with a problem outside of huma.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, p *Problem) {
	p.RequestID = requestID(r.Context())
	if err := p.write(w); err != nil {
		a.log.DebugContext(r.Context(), "the client went before the answer", slog.Any("error", err))
	}
}

type requestKey struct{}

// requestID is the id of the request that a context belongs to, for its answer and the log.
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// requestAttr is the request's id as an attribute of a log line.
func requestAttr(ctx context.Context) slog.Attr { return slog.String("request_id", requestID(ctx)) }

// answer writes a problem from a middleware of huma's, by way of whatever holds the answer back.
func (a *API) answer(ctx huma.Context, p *Problem) {
	p.RequestID = requestID(ctx.Context())
	for name, values := range p.GetHeaders() {
		for _, v := range values {
			ctx.SetHeader(name, v)
		}
	}
	ctx.SetHeader("Content-Type", p.ContentType(""))
	ctx.SetStatus(p.Status)
	if err := json.NewEncoder(ctx.BodyWriter()).Encode(p); err != nil {
		a.log.DebugContext(ctx.Context(), "the client went before the answer", slog.Any("error", err))
	}
}

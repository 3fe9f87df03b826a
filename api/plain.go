package api

import (
	_ "embed"
	"net/http"
	"net/url"
	"strings"

	"github.com/ax-run/ax/dag"
)

//go:generate go test . -run TestOpenAPIIsCommitted -update

// The OpenAPI document as it is committed; a test holds it to the code.
//
//go:embed openapi.json
var committedOpenAPI []byte

//go:embed docs.html
var docsPage []byte

// plainRoutes are the routes that are not operations on resources.
func (a *API) plainRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", a.healthz)
	mux.HandleFunc("GET /readyz", a.readyz)
	mux.Handle("GET /metrics", a.Metrics.handler())
	mux.HandleFunc("GET /openapi.json", a.static("application/openapi+json", committedOpenAPI))
	mux.HandleFunc("GET /docs", a.static("text/html; charset=utf-8", docsPage))
	mux.HandleFunc("GET "+prefix+"/schemas/workflow.json", a.static("application/schema+json", dag.Schema()))
	mux.Handle("GET /{$}", http.RedirectHandler("/docs", http.StatusFound))
	mux.HandleFunc("/", a.unknownRoute(mux))
}

func (a *API) static(contentType string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'")
		if _, err := w.Write(content); err != nil {
			a.log.DebugContext(r.Context(), "the client went before the answer", "error", err)
		}
	}
}

// unknownRoute answers what nothing else does: 405 where the path has other methods, else 404.
func (a *API) unknownRoute(mux *http.ServeMux) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete} {
			probe := &http.Request{Method: method, Host: r.Host, URL: &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath}}
			if _, pattern := mux.Handler(probe); pattern != "/" && pattern != "" {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) > 0 {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			a.refuse(w, r, methodNotAllowed(r.Method))
			return
		}
		a.refuse(w, r, notFound("there is nothing at %.200q; /docs lists what there is", r.URL.Path))
	}
}

package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guarded is the way of a request from the outside in: it gets an id, a line in the log, a net for
// panics, and is refused when a browser carries it here for a foreign site.
func (a *API) guarded(inner http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.refuse(w, r, foreignOrigin()) }))
	return a.logged(a.recovered(a.hosts(origins.Handler(inner))))
}

// hosts refuses names that are not ours: a foreign name may resolve to this machine only so that a browser takes its page for ours. Who has
// to bring a token needs no such guard.
func (a *API) hosts(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.answersFor(r.Host) && !quiet(r.URL.Path) && r.Header.Get("Authorization") == "" {
			a.refuse(w, r, foreignHost(r.Host))
			return
		}
		inner.ServeHTTP(w, r)
	})
}

func (a *API) answersFor(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.Contains(a.AllowHosts, host)
}

package api

import (
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Server returns an http.Server with the limits that keep slow and idle clients from holding it, and which ends its
// streams when it shuts down. The caller listens.
func (a *API) Server() *http.Server {
	server := &http.Server{
		Handler:           a,
		ReadHeaderTimeout: 10 * time.Second,
		// Streams lift the deadlines for themselves.
		ReadTimeout:    time.Minute,
		WriteTimeout:   time.Minute,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
		ErrorLog:       slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	server.RegisterOnShutdown(a.close)
	return server
}

// Loopback reports whether an address to listen on can be reached from this machine only. Without tokens no other may be served.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/internal/service"
)

// listen claims the address that the API is served at, so that one that is taken is told before anything is started.
func listen(address string) (net.Listener, error) {
	if !api.Loopback(address) {
		return nil, failure(exitUsage, "--listen %s could be reached from other machines, where anybody could use it, for ax has no tokens yet: "+
			"listen on 127.0.0.1:PORT, and let a proxy that signs people in forward to it", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, failure(exitFailed, "cannot listen on %s: %w; choose another address with --listen", address, err)
	}
	return listener, nil
}

// front serves the API on a listener. Until it is opened it answers only whether the process lives and is ready.
type front struct {
	listener net.Listener
	server   *http.Server
	api      http.Handler
	log      *slog.Logger
	open     atomic.Bool
	done     chan struct{}
}

func newFront(listener net.Listener, a *api.API, log *slog.Logger) *front {
	f := &front{listener: listener, server: a.Server(), api: a, log: log, done: make(chan struct{})}
	f.server.Handler = f
	return f
}

func (f *front) url() string { return listenerURL(f.listener) }

// listenerURL is where what listens is found on this machine.
func listenerURL(l net.Listener) string { return "http://" + l.Addr().String() }

// ServeHTTP keeps requests from an engine that does not run yet.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/metrics":
	default:
		if !f.open.Load() {
			f.refuse(w)
			return
		}
	}
	f.api.ServeHTTP(w, r)
}

func (f *front) refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	status := http.StatusServiceUnavailable
	p := api.Problem{Status: status, Title: http.StatusText(status), Detail: "the server is starting, or waits for its database; try again"}
	if err := json.NewEncoder(w).Encode(p); err != nil {
		f.log.Debug("the client went before the answer", slog.Any("error", err))
	}
}

// service begins to serve, closed, and ends at once whatever is left of it.
func (f *front) service() service.Service {
	return service.Funcs{
		OnStart: func(context.Context) error {
			go func() {
				defer close(f.done)
				if err := f.server.Serve(f.listener); !errors.Is(err, http.ErrServerClosed) {
					f.log.Error("serving ended", slog.Any("error", err))
				}
			}()
			return nil
		},
		OnStop: func(context.Context) error {
			err := f.server.Close()
			<-f.done
			return err
		},
	}
}

// door opens the API when all beneath it works, and lets requests end before that stops.
func (f *front) door() service.Service {
	return service.Funcs{
		OnStart: func(context.Context) error { f.open.Store(true); return nil },
		OnStop:  f.server.Shutdown,
	}
}

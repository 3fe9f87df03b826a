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
	"github.com/ax-run/ax/internal/store"
)

// listen claims the address that the API is served at, so that one that is taken is told before anything is started.
func listen(address string) (net.Listener, error) {
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
	rows     *store.Store
	// bootstrap is a token to be let in with, where there is none yet.
	bootstrap string
	log       *slog.Logger
	open      atomic.Bool
	done      chan struct{}
}

func newFront(listener net.Listener, a *api.API) *front {
	f := &front{listener: listener, server: a.Server(), api: a, rows: a.Store, log: a.Log, done: make(chan struct{})}
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
		OnStart: func(ctx context.Context) error {
			if err := f.guard(ctx); err != nil {
				return err
			}
			f.open.Store(true)
			return nil
		},
		OnStop: f.server.Shutdown,
	}
}

// guard makes the first token, if one was brought, and refuses to open to other machines while there is none.
func (f *front) guard(ctx context.Context) error {
	any, err := f.rows.AnyToken(ctx)
	if err != nil || any {
		return err
	}
	if f.bootstrap != "" {
		_, err := api.KeepToken(ctx, f.rows, api.TokenBody{Name: "bootstrap", Role: api.Admin}, f.bootstrap, "environment")
		if err != nil {
			return failure(exitUsage, "AX_BOOTSTRAP_TOKEN cannot be a token: %w", err)
		}
		return nil
	}
	if address := f.listener.Addr().String(); !api.Loopback(address) {
		return failure(exitUsage, "%s can be reached from other machines, where anybody could use ax, for there is no token yet: make one with "+
			"`ax tokens create NAME --role admin --database-url URL`, or bring one in AX_BOOTSTRAP_TOKEN, or listen on 127.0.0.1:PORT", address)
	}
	return nil
}

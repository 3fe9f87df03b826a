// Package api is the HTTP face of ax: it turns requests into the store's verbs and rows into JSON. It
// holds no rules. One file for each resource; errors get their status in problems.go alone.
package api

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// Launcher creates runs in the caller's transaction; the engine does it.
type Launcher interface {
	Launch(ctx context.Context, tx pgx.Tx, triggers []store.Trigger) ([]store.Launched, error)
}

// Config says what the API stands on.
type Config struct {
	Store    *store.Store
	Launcher Launcher
	// Operator does what people do to runs by hand.
	Operator Operator
	// Remotes serves remote workers; nil serves none.
	Remotes Remotes
	// PublicURL is where workers reach this API, without a slash at its end; empty: under the address that they ask at.
	PublicURL string
	// Metrics are served at /metrics; nil makes new ones.
	Metrics *Metrics
	// DefaultTimezone is the zone of schedules that name none, and of logical dates where there is no schedule (S6); empty means
	// dag.DefaultTimezone.
	DefaultTimezone string
	// Version is the program's own.
	Version string
	// AllowHosts are the names under which browsers may reach the server, beside localhost and bare addresses. It keeps
	// a foreign name that resolves to this machine from reading it through a browser.
	AllowHosts []string
	// Log takes one line a request, and what failed. Nil discards.
	Log *slog.Logger
}

// API is the HTTP face of ax, as an http.Handler.
type API struct {
	Config
	log     *slog.Logger
	huma    huma.API
	handler http.Handler
	mux     *http.ServeMux
	graphs  *graphs
	tokens  tokenCache
	// foretelling holds a token while a forecast is simulated.
	foretelling chan struct{}
	ready       readiness
	// closing ends the streams that would keep the server from shutting down.
	closing context.Context
	close   context.CancelFunc
}

const prefix = "/api/v1"

// ns is the path beneath which everything of a namespace lies.
const ns = prefix + "/namespaces/{namespace}"

// New makes the API. The caller serves it, best by Server.
func New(cfg Config) *API {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics(cfg.Store, cfg.Log)
	}
	if cfg.DefaultTimezone == "" {
		cfg.DefaultTimezone = dag.DefaultTimezone
	}
	a := &API{Config: cfg, log: cfg.Log, graphs: newGraphs(cfg.Store), foretelling: make(chan struct{}, 1)}
	a.closing, a.close = context.WithCancel(context.Background())
	a.mux = http.NewServeMux()
	a.huma = humago.New(a.mux, a.humaConfig())
	a.huma.UseMiddleware(a.signIn, a.readBody, a.audited, a.once, a.tagged)
	a.routes()
	a.plainRoutes(a.mux)
	a.handler = a.guarded(a.mux)
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

func (a *API) humaConfig() huma.Config {
	cfg := huma.DefaultConfig("ax", a.Version)
	cfg.Info.Description = "Workflows on Postgres: definitions, runs, nodes, schedules and logs. What is shown of one thing has an ETag, which If-None-Match (304) and, " +
		"for what changes that thing, If-Match (412 when it is not as it was seen) go by."
	cfg.CreateHooks = nil // huma's own would add $schema to every answer
	cfg.DocsPath, cfg.SchemasPath = "", ""
	cfg.OpenAPIPath = "" // served by plainRoutes, as it is committed
	cfg.Formats = map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat}
	cfg.RejectUnknownQueryParameters = true
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: "A token that `ax tokens create` made. While there is none, the server listens on loopback only and lets everybody in."}}
	cfg.Security = []map[string][]string{{"token": {}}, {}}
	cfg.Transformers = []huma.Transformer{finishProblem}
	return cfg
}

// routes registers every operation of the OpenAPI document.
func (a *API) routes() {
	a.namespaceRoutes()
	a.tokenRoutes()
	a.auditRoutes()
	a.workflowRoutes()
	a.versionRoutes()
	a.diffRoute()
	a.runRoutes()
	a.actRoutes()
	a.markRoutes()
	a.letterRoutes()
	a.nodeRoutes()
	a.fireRoutes()
	a.calendarRoutes()
	a.poolRoutes()
	a.queueRoutes()
	a.upstreamRoutes()
	a.workerRoutes()
	a.backfillRoutes()
	if a.Remotes == nil {
		a.Remotes = noRemotes{}
	}
	a.remoteRoutes()
	a.whyRoutes()
	a.forecastRoutes()
}

// requestTime bounds what a request may take of the database, streams excepted.
const requestTime = 30 * time.Second

// handle registers an operation. Its errors become problems; its doc is one sentence.
func handle[I, O any](a *API, op huma.Operation, doc string, do func(context.Context, *I) (*O, error)) {
	handleFor(a, requestTime, op, doc, do)
}

// handleFor is handle for an operation that may take longer than others.
func handleFor[I, O any](a *API, most time.Duration, op huma.Operation, doc string, do func(context.Context, *I) (*O, error)) {
	op.Summary = doc
	op.MaxBodyBytes = -1 // readBody holds the limit
	describeKey(&op)
	a.describeErrors(&op)
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		out, err := do(ctx, in)
		if err != nil {
			return nil, a.problemOf(ctx, err)
		}
		return out, nil
	})
}

func op(method, path, id, tag string) huma.Operation {
	return huma.Operation{Method: method, Path: path, OperationID: id, Tags: []string{tag}}
}

// told adds to what an operation says of itself to this package.
func told(o huma.Operation, key string, value any) huma.Operation {
	o.Metadata = maps.Clone(o.Metadata)
	if o.Metadata == nil {
		o.Metadata = make(map[string]any)
	}
	o.Metadata[key] = value
	return o
}

// body is an answer that is nothing but its JSON.
type body[T any] struct{ Body T }

func answerOf[T any](v T, err error) (*body[T], error) {
	if err != nil {
		return nil, err
	}
	return &body[T]{v}, nil
}

// namespace finds the namespace that a request is about.
func (a *API) namespace(ctx context.Context, name string) (int64, error) {
	id, err := a.Store.Namespace(ctx, name)
	if err != nil {
		return 0, fmt.Errorf("find namespace: %w", err)
	}
	return id, nil
}

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ns = "/api/v1/namespaces/default"

// small is a workflow of three nodes, with a schedule that fires seldom.
const small = `
workflow: small
title: A small one
owner: data-team
tags: [test]
params:
  day: {type: string, default: today}
  big: {type: number, default: 1}
schedules:
  - {name: yearly, cron: "0 2 1 1 *", timezone: Asia/Shanghai}
nodes:
  extract: {handler: extract}
  clean: {needs: [extract], command: [./clean]}
  report: {needs: [clean], handler: report}
`

// bed is an API on a database of its own.
type bed struct {
	*testing.T
	pool     *pgxpool.Pool
	store    *store.Store
	launcher *launcher
	api      *api.API
	url      string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{T: t, pool: dbtest.New(t)}
	b.store = store.New(b.pool)
	b.launcher = &launcher{store: b.store}
	b.serve(api.Config{Store: b.store, Launcher: b.launcher, Operator: idle{}, Version: "test"})
	return b
}

func (b *bed) serve(cfg api.Config) {
	b.Helper()
	b.api = api.New(cfg)
	server := httptest.NewUnstartedServer(nil)
	server.Config = b.api.Server()
	server.Start()
	b.url = server.URL
	b.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(b, server.Config.Shutdown(ctx))
		server.Close()
	})
}

// reply is an answer that was read.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	text   string
}

func (b *bed) do(method, path, contentType, body string) reply {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.url+path, bytes.NewReader([]byte(body)))
	require.NoError(b, err)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return b.send(r)
}

func (b *bed) send(r *http.Request) reply {
	b.Helper()
	got, err := http.DefaultClient.Do(r)
	require.NoError(b, err)
	defer func() { require.NoError(b, got.Body.Close()) }()
	text, err := io.ReadAll(got.Body)
	require.NoError(b, err)
	return reply{t: b.T, status: got.StatusCode, header: got.Header, text: string(text)}
}

func (b *bed) get(path string) reply { b.Helper(); return b.do(http.MethodGet, path, "", "") }

func (b *bed) post(path, body string) reply {
	b.Helper()
	return b.do(http.MethodPost, path, "application/json", body)
}

func (b *bed) put(path, body string) reply {
	b.Helper()
	return b.do(http.MethodPut, path, "application/yaml", body)
}

// is requires a status.
func (r reply) is(status int) reply {
	r.t.Helper()
	require.Equal(r.t, status, r.status, r.text)
	return r
}

// problem requires a problem document of a status.
func (r reply) problem(status int) api.Problem {
	r.t.Helper()
	r.is(status)
	require.Equal(r.t, "application/problem+json", r.header.Get("Content-Type"))
	p := as[api.Problem](r)
	require.Equal(r.t, status, p.Status)
	require.Equal(r.t, http.StatusText(status), p.Title)
	require.NotEmpty(r.t, p.Detail)
	require.Equal(r.t, r.header.Get("X-Request-Id"), p.RequestID)
	return p
}

// as reads an answer; what the type does not have is an error.
func as[T any](r reply) T {
	r.t.Helper()
	var v T
	d := json.NewDecoder(bytes.NewReader([]byte(r.text)))
	d.DisallowUnknownFields()
	require.NoError(r.t, d.Decode(&v), r.text)
	return v
}

// register registers a definition under the code that it names.
func (b *bed) register(code, definition string) api.Registered {
	b.Helper()
	r := b.put(ns+"/workflows/"+code, definition)
	require.Less(b, r.status, 300, r.text)
	return as[api.Registered](r)
}

// trigger starts a run.
func (b *bed) trigger(code, body string) api.RunDetail {
	b.Helper()
	return as[api.RunDetail](b.post(ns+"/workflows/"+code+"/runs", body).is(http.StatusCreated))
}

// idle is an operator for whom there is never anything to do.
type idle struct{}

func (idle) Do(context.Context, store.RunID, engine.Act) error { return engine.ErrPointless }
func (idle) Preview(context.Context, store.RunID, engine.Act) (engine.Preview, error) {
	return engine.Preview{}, engine.ErrPointless
}
func (idle) Replay(context.Context, store.RunID, engine.Replay) (store.Launched, error) {
	return store.Launched{}, engine.ErrPointless
}
func (idle) PreviewReplay(context.Context, store.RunID, engine.Replay) (engine.Preview, error) {
	return engine.Preview{}, engine.ErrPointless
}
func (idle) Decide(context.Context, store.Attempt, engine.Decision) error { return store.ErrNotFound }

// launcher creates runs by the store's verbs: the roots are queued as jobs.
type launcher struct {
	store   *store.Store
	refused string
	state   progress.State
	limited bool
}

// Launch implements api.Launcher.
func (l *launcher) Launch(ctx context.Context, tx pgx.Tx, triggers []store.Trigger) ([]store.Launched, error) {
	out := make([]store.Launched, len(triggers))
	for i, t := range triggers {
		v, err := l.store.VersionSource(ctx, t.Version)
		if err != nil {
			return nil, err
		}
		g, err := dag.Rebuild(v.Definition)
		if err != nil {
			return nil, err
		}
		params, err := g.Definition().ResolveParams(t.Params)
		if err != nil || l.refused != "" {
			out[i].Err, out[i].Refused = err, l.refused
			continue
		}
		ids, _, err := l.store.NextRuns(ctx, tx, 1, nil)
		if err != nil {
			return nil, err
		}
		run := store.NewRun{ID: ids[0], Namespace: v.Namespace, Workflow: v.Workflow, Version: t.Version, State: progress.Running, Priority: 2,
			Trigger: t.Kind, Actor: t.Actor, ScheduledAt: t.ScheduledAt, LogicalDate: t.LogicalDate, Params: params, Timeout: time.Hour, Limited: l.limited}
		var begins []store.Begin
		if l.state != "" {
			run.State = l.state
		} else {
			for _, at := range progress.Roots(g) {
				begins = append(begins, begin(ids[0], g.At(at).Name, 1, store.ModeJob, 0))
			}
		}
		out[i] = store.Launched{Run: run.ID, State: run.State}
		if err := l.store.InsertRuns(ctx, tx, []store.NewRun{run}, begins); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func begin(run store.RunID, node string, attempt int, mode store.Mode, delay time.Duration) store.Begin {
	return store.Begin{Attempt: attemptOf(run, node, attempt), Place: store.Place{Kind: "go:" + node, Queue: "q1", Priority: 2}, Mode: mode, Delay: delay}
}

func attemptOf(run store.RunID, node string, attempt int) store.Attempt {
	return store.Attempt{Run: run, Node: node, Shard: store.WholeNode, Generation: 1, Number: attempt}
}

func (b *bed) runID(text string) store.RunID {
	b.Helper()
	id, err := store.ParseRunID(text)
	require.NoError(b, err)
	return id
}

// take makes a queued node run as a worker's fetch does.
func (b *bed) take(run store.RunID, node string) {
	b.Helper()
	tag, err := b.pool.Exec(b.Context(), `UPDATE ax_river.river_job SET state = 'running', attempt = attempt + 1, attempted_at = now(), attempted_by = '{w1}'
		WHERE unique_key = ax.job_key($1, $2, -1)`, run, node)
	require.NoError(b, err)
	require.EqualValues(b, 1, tag.RowsAffected())
}

// apply writes changes as the engine's general path does; live rows of records are taken by their own times.
func (b *bed) apply(c store.Changes) {
	b.Helper()
	require.NoError(b, b.store.InTx(b.Context(), func(tx pgx.Tx) error {
		for i := range c.Records {
			r := &c.Records[i]
			err := tx.QueryRow(b.Context(), "SELECT id, created_at, attempted_at FROM ax_river.river_job WHERE unique_key = ax.job_key($1, $2, -1)",
				r.Attempt.Run, r.Attempt.Node).Scan(&r.JobID, &r.QueuedAt, &r.StartedAt)
			if err != nil && err != pgx.ErrNoRows {
				return err
			}
			c.Drops = append(c.Drops, r.Attempt)
		}
		return b.store.Apply(b.Context(), tx, c)
	}))
}

func record(a store.Attempt, s progress.State) store.Record {
	return store.Record{Attempt: a, State: s, Outcome: string(s), Worker: "w1", Actor: "worker:w1", Reason: "result"}
}

func (b *bed) exec(sql string, args ...any) {
	b.Helper()
	_, err := b.pool.Exec(b.Context(), sql, args...)
	require.NoError(b, err)
}

func codes(p api.Problem) []string {
	var out []string
	for _, e := range p.Errors {
		out = append(out, fmt.Sprintf("%s %s", e.Location, e.Code))
	}
	return out
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ax-run/ax/api"
)

// client speaks the HTTP API, in the API's own types. Errors that the server answers are *api.Problem, a server that does
// not answer is *unreachable.
type client struct {
	server, token, namespace string
	http                     *http.Client
}

// answerTime bounds a request; streams have none.
const answerTime = 2 * time.Minute

func newClient(server, token, namespace string) *client {
	return &client{server: server, token: token, namespace: namespace, http: &http.Client{}}
}

func (c *client) workflows(ctx context.Context, limit int) (api.Page[api.Workflow], error) {
	return pages[api.Workflow](ctx, c, c.path("workflows"), nil, limit)
}

func (c *client) workflow(ctx context.Context, code string) (w api.WorkflowDetail, err error) {
	return w, c.get(ctx, c.path("workflows", code), nil, &w)
}

// register stores a definition; with dryRun it is only checked against what the server has.
func (c *client) register(ctx context.Context, code string, definition []byte, query url.Values) (r api.Registered, err error) {
	in := request{method: http.MethodPut, path: c.path("workflows", code), query: query, body: definition, contentType: "application/yaml"}
	return r, c.do(ctx, in, &r)
}

func (c *client) trigger(ctx context.Context, code string, body api.TriggerBody) (r api.RunDetail, err error) {
	return r, c.post(ctx, c.path("workflows", code, "runs"), body, &r)
}

func (c *client) pauseWorkflow(ctx context.Context, code, reason string) (w api.WorkflowDetail, err error) {
	return w, c.post(ctx, c.path("workflows", code, "pause"), api.ReasonBody{Reason: reason}, &w)
}

func (c *client) resumeWorkflow(ctx context.Context, code string, body api.ResumeBody) (w api.ResumedWorkflow, err error) {
	return w, c.post(ctx, c.path("workflows", code, "resume"), body, &w)
}

func (c *client) fires(ctx context.Context, code string, query url.Values, limit int) (api.FirePage, error) {
	var last api.FirePage
	all, err := eachPage(query, limit, func(ask url.Values) (api.Page[api.Fire], error) {
		last = api.FirePage{}
		err := c.get(ctx, c.path("workflows", code, "fires"), ask, &last)
		return last.Page, err
	})
	return api.FirePage{Page: all, PrunedUntil: last.PrunedUntil}, err
}

func (c *client) runs(ctx context.Context, query url.Values, limit int) (api.Page[api.Run], error) {
	return pages[api.Run](ctx, c, c.path("runs"), query, limit)
}

func (c *client) run(ctx context.Context, id string) (r api.RunDetail, err error) {
	return r, c.get(ctx, c.path("runs", id), nil, &r)
}

func (c *client) cancel(ctx context.Context, id, reason string) (r api.RunDetail, err error) {
	return r, c.post(ctx, c.path("runs", id, "cancel"), api.ReasonBody{Reason: reason}, &r)
}

func (c *client) nodes(ctx context.Context, run string) ([]api.NodeRun, error) {
	page, err := pages[api.NodeRun](ctx, c, c.path("runs", run, "nodes"), nil, noLimit)
	return page.Items, err
}

func (c *client) nodeRun(ctx context.Context, id string) (n api.NodeRunDetail, err error) {
	return n, c.get(ctx, c.path("node-runs", id), nil, &n)
}

// shards lists what a split node run was split into.
func (c *client) shards(ctx context.Context, nodeRun string) ([]api.NodeRun, error) {
	page, err := pages[api.NodeRun](ctx, c, c.path("node-runs", nodeRun, "shards"), nil, noLimit)
	return page.Items, err
}

// logs hands on the log of a node run, page by page as it comes.
func (c *client) logs(ctx context.Context, nodeRun string, take func([]api.LogLine) error) error {
	ask := url.Values{"limit": {strconv.Itoa(maxPage)}}
	for {
		var page api.Page[api.LogLine]
		if err := c.get(ctx, c.path("node-runs", nodeRun, "logs"), ask, &page); err != nil {
			return err
		}
		if err := take(page.Items); err != nil || page.NextCursor == "" {
			return err
		}
		ask.Set("cursor", page.NextCursor)
	}
}

const (
	noLimit = -1
	maxPage = 500 // as many items as the API gives at once
)

// pages reads a list to its end or limit. Its cursor is where the rest begins.
func pages[T any](ctx context.Context, c *client, path string, query url.Values, limit int) (api.Page[T], error) {
	return eachPage(query, limit, func(ask url.Values) (page api.Page[T], err error) {
		return page, c.get(ctx, path, ask, &page)
	})
}

func eachPage[T any](query url.Values, limit int, get func(url.Values) (api.Page[T], error)) (api.Page[T], error) {
	all := api.Page[T]{Items: []T{}}
	ask := url.Values{}
	for name, values := range query {
		ask[name] = values
	}
	for {
		size := maxPage
		if limit != noLimit {
			size = min(limit-len(all.Items), maxPage)
		}
		ask.Set("limit", strconv.Itoa(size))
		page, err := get(ask)
		if err != nil {
			return all, err
		}
		all.Items, all.NextCursor = append(all.Items, page.Items...), page.NextCursor
		if page.NextCursor == "" || len(all.Items) == limit {
			return all, nil
		}
		ask.Set("cursor", page.NextCursor)
	}
}

// path is one inside the namespace.
func (c *client) path(parts ...string) string {
	path := "/api/v1/namespaces/" + url.PathEscape(c.namespace)
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// request is what is asked of the server.
type request struct {
	method, path string
	query        url.Values
	body         []byte
	contentType  string
}

func (c *client) get(ctx context.Context, path string, query url.Values, into any) error {
	return c.do(ctx, request{method: http.MethodGet, path: path, query: query}, into)
}

func (c *client) post(ctx context.Context, path string, body, into any) error {
	return c.write(ctx, http.MethodPost, path, body, into)
}

// write sends JSON.
func (c *client) write(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	return c.do(ctx, request{method: method, path: path, body: text, contentType: "application/json"}, into)
}

// remove deletes what is at a path; the answer has no body.
func (c *client) remove(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	answer, err := c.send(ctx, request{method: http.MethodDelete, path: path})
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// do sends a request and reads its answer.
func (c *client) do(ctx context.Context, in request, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	answer, err := c.send(ctx, in)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return c.away(ctx, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the answer of %s cannot be read, is it an ax server: %w", c.server, err)
	}
	return nil
}

// send returns a good answer, whose body the caller closes.
func (c *client) send(ctx context.Context, in request) (*http.Response, error) {
	target := c.server + in.path
	if len(in.query) > 0 {
		target += "?" + in.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, in.method, target, bytes.NewReader(in.body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if in.contentType != "" {
		r.Header.Set("Content-Type", in.contentType)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.away(ctx, err)
	}
	if answer.StatusCode < http.StatusBadRequest {
		return answer, nil
	}
	return nil, c.problem(answer)
}

// problem reads an answer that is an error.
func (c *client) problem(answer *http.Response) error {
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	p := &api.Problem{}
	if json.Unmarshal(text, p) != nil || p.Detail == "" {
		p = &api.Problem{Detail: fmt.Sprintf("%s answered %s: is it an ax server?", c.server, answer.Status)}
	}
	p.Status = answer.StatusCode
	return p
}

// away says that the server did not answer, unless the caller gave up.
func (c *client) away(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &unreachable{what: c.server, err: err, hint: "start one with `ax dev`, or name another with --server"}
}

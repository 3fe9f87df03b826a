package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/outbound"
)

// The codes of errors of HTTP nodes, besides http_404 and its kin.
const (
	codeForbidden = "forbidden_target"
	codeBadURL    = "invalid_url"
	codeBadCall   = "invalid_request"
	codeNetwork   = "network_error"
)

// defaultMaxBody leaves room for an output and a log of the largest size.
const defaultMaxBody = 2 * maxOutput

// protocolAx is the worker protocol, named by a node or by its answer's header.
const (
	protocolAx      = "ax"
	protocolPlain   = "plain"
	protocolHeader  = "Ax-Protocol"
	signatureHeader = "Ax-Signature"
)

// HTTPConfig says how HTTP nodes are called; the zero value is good.
type HTTPConfig struct {
	// Client makes the requests and decides where they may go. Nil: public addresses only.
	Client *http.Client
	// MaxBody is how many bytes of an answer are read; a larger one is an invalid output. Zero: 2 MiB.
	MaxBody int64
}

// NewHTTP makes the executor of HTTP nodes: webhooks and workers that speak the worker protocol (contract §3).
func NewHTTP(config HTTPConfig) Executor {
	if config.Client == nil {
		config.Client = outbound.NewClient(outbound.Policy{}, outbound.Options{})
	}
	if config.MaxBody == 0 {
		config.MaxBody = defaultMaxBody
	}
	config.Client = truthful(config.Client)
	return &httpExecutor{config}
}

type httpExecutor struct{ HTTPConfig }

// httpWork is dag.HTTP as it is sent: the body's numbers are exact.
type httpWork struct {
	URL      text            `json:"url"`
	Method   string          `json:"method"`
	Headers  map[string]text `json:"headers"`
	Body     json.RawMessage `json:"body"`
	Protocol string          `json:"protocol"`
}

// httpCall is one request and all that its answer needs.
type httpCall struct {
	task *Task
	work httpWork
	req  *http.Request
	mask *mask
	// name is the request as people may see it.
	name string
}

// Execute implements Executor.
func (h *httpExecutor) Execute(ctx context.Context, t *Task) Outcome {
	c, failed := h.prepare(ctx, t)
	if failed != nil {
		return Outcome{Err: failed}
	}
	resp, err := h.Client.Do(c.req)
	if err != nil {
		return Outcome{Err: c.unreachable(ctx, err)}
	}
	body, err := outbound.ReadLimited(resp.Body, h.MaxBody)
	a := &httpAnswer{httpCall: c, status: resp.StatusCode, header: resp.Header, body: body, err: errors.Join(err, resp.Body.Close())}
	return a.outcome(ctx)
}

// prepare makes the request; what is wrong with it is the author's, and final.
func (h *httpExecutor) prepare(ctx context.Context, t *Task) (*httpCall, *progress.Error) {
	c := &httpCall{task: t}
	if err := decodeWork(t.Node.HTTP, t.Work, &c.work); err != nil {
		return nil, permanent(codeBadCall, "%v", err)
	}
	if t.Node.HTTP.Body == nil {
		c.work.Body = nil
	}
	if c.work.Method == "" || c.work.Protocol == protocolAx {
		c.work.Method = http.MethodPost
	}
	u, err := url.Parse(string(c.work.URL))
	if err != nil {
		return nil, permanent(codeBadURL, "the node's url cannot be parsed; look at what its expressions give")
	}
	c.mask = newMask(u, c.work.Headers)
	c.name = c.mask.text(c.work.Method + " " + outbound.Redact(u.String()))
	body, err := c.body()
	if err != nil {
		return nil, permanent(codeBadCall, "%s: %v", c.name, err)
	}
	if c.req, err = http.NewRequestWithContext(ctx, c.work.Method, u.String(), bytes.NewReader(body)); err != nil {
		return nil, permanent(codeBadCall, "%s: the request cannot be made", c.name)
	}
	if err := c.setHeaders(); err != nil {
		return nil, permanent(codeBadCall, "%s: %v", c.name, err)
	}
	if t.Sign != nil {
		c.req.Header.Set(signatureHeader, t.Sign(body))
	}
	return c, nil
}

// unreachable is the error of a request that got no answer.
func (c *httpCall) unreachable(ctx context.Context, err error) *progress.Error {
	if ctx.Err() != nil {
		failed := interrupted(ctx)
		failed.Message = c.name + ": " + failed.Message
		return failed
	}
	var failed *url.Error // quotes the whole URL
	if errors.As(err, &failed) {
		err = failed.Err
	}
	said := c.mask.text(err.Error())
	var forbidden *outbound.ForbiddenError
	var invalid *outbound.InvalidURLError
	switch {
	case errors.As(err, &forbidden):
		return permanent(codeForbidden, "%s: %s", c.name, said)
	case errors.As(err, &invalid):
		return permanent(codeBadURL, "%s: %s", c.name, said)
	}
	return system(codeNetwork, "%s: %s", c.name, said)
}

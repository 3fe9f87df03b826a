package engine

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/ax-run/ax/internal/outbound"
	"github.com/ax-run/ax/internal/store"
)

// push sends an attempt to its worker's address and, unless the worker answers that it will report later, ends it with what is answered.
func (r *remotes) push(w *store.RemoteLane, c store.Claimed) {
	t, failed := r.engine.remoteTask(r.base, c.Attempt, r.engine.config.PublicURL)
	if failed != nil {
		r.engine.report(r.base, &finished{claim: store.Claim{Attempt: c.Attempt}, outcome: *failed, actor: "engine"})
		return
	}
	ctx, cancel := context.WithDeadline(r.base, t.Deadline)
	defer cancel()
	began := time.Now()
	out := r.send(ctx, w, t)
	if err := t.Log.Close(context.WithoutCancel(ctx)); err != nil {
		r.engine.log.Warn("the end of a log was not stored", slog.String("execution", c.Attempt.ExecutionID()), slog.Any("error", err))
	}
	switch {
	case out.Accepted != nil:
		return // its row is there since it was taken
	case r.base.Err() != nil:
		out = lost() // this process ends: the answer can reach nobody
	}
	r.engine.report(context.WithoutCancel(ctx), &finished{claim: store.Claim{Attempt: c.Attempt}, outcome: out.checked(), took: time.Since(began), worker: w.Incarnation})
	r.loop.Wake() // its worker has room again
}

// send makes the one request of a dispatch and reads its answer.
func (r *remotes) send(ctx context.Context, w *store.RemoteLane, t *Task) Outcome {
	u, err := url.Parse(w.Address)
	if err != nil {
		return Outcome{Err: permanent(codeBadURL, "the worker's address cannot be parsed")}
	}
	secrets, err := r.engine.keys.secrets(ctx, w.Namespace)
	if err != nil {
		return Outcome{Err: system(codeInternal, "sign the request: %v", err)}
	}
	body, err := encodeJSON(newDispatch(t))
	if err != nil {
		return Outcome{Err: permanent(codeBadCall, "%v", err)}
	}
	call := &httpCall{task: t, work: httpWork{Protocol: protocolAx, Method: http.MethodPost}, mask: newMask(u, nil)}
	call.name = call.mask.text("POST " + outbound.Redact(w.Address))
	if call.req, err = http.NewRequestWithContext(ctx, http.MethodPost, w.Address, bytes.NewReader(body)); err != nil {
		return Outcome{Err: permanent(codeBadURL, "%s: the request cannot be made", call.name)}
	}
	if err := call.setHeaders(); err != nil {
		return Outcome{Err: permanent(codeBadCall, "%s: %v", call.name, err)}
	}
	call.req.Header.Set(protocolHeader, "1")
	call.req.Header.Set(signatureHeader, Sign(workerToken(secrets[0], w.Incarnation), time.Now(), body))
	resp, err := r.config.Client.Do(call.req)
	if err != nil {
		return Outcome{Err: call.unreachable(ctx, err)}
	}
	answer, err := outbound.ReadLimited(resp.Body, defaultMaxBody)
	a := &httpAnswer{httpCall: call, status: resp.StatusCode, header: resp.Header, body: answer, err: errors.Join(err, resp.Body.Close())}
	return a.outcome(ctx)
}

// probeTime is how long a silent worker has to answer a probe.
const probeTime = 5 * time.Second

// probe looks whether silent workers with an address can be reached there; any answer is one. Who cannot be is lost (S27).
func (r *remotes) probe(ctx context.Context) error {
	if r.base.Err() != nil {
		return nil
	}
	due, err := r.engine.store.ProbeDue(ctx, r.engine.timings.Probe, keepBatch)
	if err != nil {
		return err
	}
	for _, w := range due {
		r.pushing.Go(func() {
			reached := r.reaches(w.Address)
			if r.base.Err() != nil {
				return
			}
			r.engine.log.Warn("a silent worker was probed", slog.String("worker", w.Incarnation), slog.Bool("reached", reached))
			if err := r.engine.store.Probed(r.base, w.Incarnation, reached, r.engine.timings.Probes); err != nil {
				r.engine.log.Warn("a probe was not noted, trying again", slog.String("worker", w.Incarnation), slog.Any("error", err))
			}
			r.engine.keeper.loops["reap"].Wake()
		})
	}
	return nil
}

func (r *remotes) reaches(address string) bool {
	ctx, cancel := context.WithTimeout(r.base, min(probeTime, r.engine.timings.Probe))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	req.Header.Set("User-Agent", "ax")
	req.Header.Set(protocolHeader, "1")
	resp, err := r.config.Client.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil
}

// outside fills in what a task of an http node needs that may be carried out by a worker of the protocol: where it reports to, and how the
// request is signed, with the namespace's secret.
func (e *Engine) outside(ctx context.Context, t *Task) error {
	if t.Node.HTTP == nil || t.Node.HTTP.Protocol == protocolPlain {
		return nil
	}
	secrets, err := e.keys.secrets(ctx, t.Facts.NamespaceID)
	if err != nil {
		return err
	}
	key := NamespaceKey(secrets[0])
	t.Sign = func(body []byte) string { return Sign(key, time.Now(), body) }
	return e.addressed(ctx, t, e.config.PublicURL)
}

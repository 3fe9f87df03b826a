package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/outbound"
)

const (
	// maxExcerpt is how many characters of a body that is not an output are logged.
	maxExcerpt = 500
	// maxRetryAfter bounds what a server may ask for.
	maxRetryAfter = 24 * time.Hour
)

// httpAnswer is what a call got back; err says why its body is not whole.
type httpAnswer struct {
	*httpCall
	status int
	header http.Header
	body   []byte
	err    error
}

func (a *httpAnswer) outcome(ctx context.Context) Outcome {
	said := fmt.Sprintf("%s answered %d %s", a.name, a.status, http.StatusText(a.status))
	a.print(said)
	switch {
	case a.status < 200 || a.status > 299:
		a.excerpt("the body")
		return Outcome{Err: a.refusal(said)}
	case errors.Is(a.err, outbound.ErrTooLarge):
		return Outcome{Err: invalidOutput(fmt.Sprintf("%s with more than %d bytes; write them to a file or table and answer with its place", said, len(a.body)))}
	case a.err != nil:
		return Outcome{Err: a.unreachable(ctx, a.err)}
	case a.work.Protocol == protocolAx, a.work.Protocol != protocolPlain && strings.TrimSpace(a.header.Get(protocolHeader)) == "1":
		return a.worker(said)
	}
	return Outcome{Output: a.plain()}
}

// refusal is the error of a status other than 2xx (contract §3).
func (a *httpAnswer) refusal(said string) *progress.Error {
	code := "http_" + strconv.Itoa(a.status)
	switch {
	case a.status == http.StatusRequestTimeout, a.status == http.StatusTooManyRequests, a.status >= 500:
		err := system(code, "%s", said)
		err.RetryAfter = retryAfter(a.header.Get("Retry-After"), time.Now())
		return err
	case a.status < 400:
		return permanent(code, "%s; following that redirect would make another request of it: write the final address into the node's url", said)
	}
	return permanent(code, "%s", said)
}

// plain is the output of a webhook: its body, if that is JSON.
func (a *httpAnswer) plain() json.RawMessage {
	body := bytes.TrimSpace(a.body)
	if len(body) == 0 {
		return nil
	}
	if !json.Valid(body) {
		a.excerpt("the body is not JSON, so that the output is null; it")
		return nil
	}
	return a.output(body)
}

// output is what the answer gives the node, without the credentials of the request.
func (a *httpAnswer) output(raw json.RawMessage) json.RawMessage {
	raw, found := a.mask.output(raw)
	if found {
		a.print("the answer repeats a credential of the request: in the output " + masked + " stands for it")
	}
	return raw
}

// worker is the outcome that an answer of the worker protocol tells.
func (a *httpAnswer) worker(said string) Outcome {
	if a.status == http.StatusAccepted {
		return Outcome{Accepted: &Accepted{Worker: a.req.URL.Host, Left: max(0, time.Until(a.task.Deadline))}}
	}
	var r Report
	if err := json.Unmarshal(a.body, &r); err != nil {
		a.excerpt("the body")
		return Outcome{Err: invalidOutput(fmt.Sprintf("%s, but its body is not a worker's: %s", said, a.mask.text(err.Error())))}
	}
	for line := range strings.Lines(r.Log) {
		a.print(strings.TrimRight(line, "\r\n"))
	}
	out := r.outcome(a.mask.text)
	switch {
	case out.Err == nil && !out.Skipped:
		out.Output = a.output(out.Output)
	case out.Err != nil && out.Err.Class == progress.System:
		out.Err.RetryAfter = max(out.Err.RetryAfter, retryAfter(a.header.Get("Retry-After"), time.Now()))
	}
	return out
}

func (a *httpAnswer) print(line string) { a.task.Log.Print("log", a.mask.text(line)) }

// excerpt logs the beginning of the body; one that is not whole could end within a value to be masked.
func (a *httpAnswer) excerpt(what string) {
	if body := strings.TrimSpace(a.mask.text(string(a.body))); body != "" && a.err == nil {
		a.print(what + " begins: " + cut(body))
	}
}

func cut(s string) string {
	if runes := []rune(s); len(runes) > maxExcerpt {
		return fmt.Sprintf("%s … (%d characters cut)", string(runes[:maxExcerpt]), len(runes)-maxExcerpt)
	}
	return s
}

// retryAfter reads a Retry-After header, in seconds or as a date; 0 when it says nothing of use.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), maxRetryAfter)
}

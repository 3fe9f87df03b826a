package engine

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// body is the dispatch, unless a webhook's node says another or the method has none by custom.
func (c *httpCall) body() ([]byte, error) {
	if c.work.Protocol != protocolAx {
		if len(c.work.Body) > 0 {
			return c.written(), nil
		}
		switch c.work.Method {
		case http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodOptions:
			return nil, nil
		}
	}
	return encodeJSON(newDispatch(c.task))
}

// written is the body of the node: JSON, except that a string is sent as it is where the node names another type of content.
func (c *httpCall) written() []byte {
	for name, value := range c.work.Headers {
		if !strings.EqualFold(name, "Content-Type") || isJSON(string(value)) {
			continue
		}
		var plain string
		if err := json.Unmarshal(c.work.Body, &plain); err == nil {
			return []byte(plain)
		}
	}
	return c.work.Body
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

func (c *httpCall) setHeaders() error {
	header := c.req.Header
	header.Set("User-Agent", "ax")
	if c.req.ContentLength > 0 {
		header.Set("Content-Type", "application/json")
	}
	for name, value := range c.work.Headers {
		if strings.ContainsFunc(string(value), func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("the value of the header %s has a line break or another control character", name)
		}
		if strings.EqualFold(name, "Host") {
			c.req.Host = string(value)
			continue
		}
		header.Set(name, string(value))
	}
	header.Set("Idempotency-Key", c.task.Attempt.ExecutionID())
	if c.task.Node.Idempotent != nil && !*c.task.Node.Idempotent {
		// Go's transport repeats a request by itself when a kept connection breaks under it, if it sees this key, which
		// it only knows in its canonical form.
		header["idempotency-key"] = header["Idempotency-Key"]
		header.Del("Idempotency-Key")
	}
	return nil
}

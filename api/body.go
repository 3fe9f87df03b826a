package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ax-run/ax/dag"
)

const (
	// maxBody bounds the bodies of requests, except definitions, which dag.MaxBytes bounds.
	maxBody = 1 << 20
	// bodyTime is how long a body may take to arrive.
	bodyTime = 30 * time.Second
	// bodyLimitKey is where an operation says that its bodies have a limit of their own.
	bodyLimitKey = "body limit"
)

// readBody reads the whole body before huma does: huma answers 500 when a client sends a broken one. The server's own
// deadline for reading ends with it, because a read that times out later would end the request.
func (a *API) readBody(ctx huma.Context, next func(huma.Context)) {
	op := ctx.Operation()
	if op.RequestBody == nil {
		next(ctx)
		return
	}
	if failed := checkMedia(ctx, op); failed != nil {
		a.answer(ctx, failed)
		return
	}
	body, failed := bodyOf(ctx, bodyLimit(op))
	if failed != nil {
		a.answer(ctx, failed)
		return
	}
	next(&readContext{humaContext: ctx, body: bytes.NewReader(body)})
}

// definitionTypes are the media types in which a definition may come; YAML has been called many names.
var definitionTypes = []string{yamlType, "application/json", "application/x-yaml", "text/yaml", "text/x-yaml", "text/plain"}

// checkMedia refuses a body that is encoded, and a definition of a media type that is neither YAML nor JSON; huma does so for other bodies.
func checkMedia(ctx huma.Context, op *huma.Operation) *Problem {
	if encoding := ctx.Header("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return problem(http.StatusUnsupportedMediaType, "the body comes with the encoding %.40q, and is read only as it is: send it without Content-Encoding", encoding)
	}
	said := ctx.Header("Content-Type")
	if _, ok := op.RequestBody.Content[yamlType]; !ok || said == "" {
		return nil
	}
	media, _, err := mime.ParseMediaType(said)
	if err != nil || !slices.Contains(definitionTypes, media) {
		return problem(http.StatusUnsupportedMediaType, "a definition is YAML or JSON, and this one comes as %.80q: send it with Content-Type: %s or application/json", said, yamlType)
	}
	return nil
}

// bodyLimit is the limit of an operation; huma's own is switched off.
func bodyLimit(op *huma.Operation) int64 {
	if _, ok := op.RequestBody.Content[yamlType]; ok {
		return dag.MaxBytes
	}
	if limit, ok := op.Metadata[bodyLimitKey].(int64); ok {
		return limit
	}
	return maxBody
}

func bodyOf(ctx huma.Context, limit int64) ([]byte, *Problem) {
	err := ctx.SetReadDeadline(time.Now().Add(bodyTime))
	if errors.Is(err, http.ErrNotSupported) {
		err = nil
	}
	var body []byte
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(ctx.BodyReader(), limit+1))
	}
	var slow net.Error
	switch {
	case errors.As(err, &slow) && slow.Timeout():
		return nil, bodyTooSlow()
	case err != nil:
		return nil, unparsable("the body could not be read: %s", err)
	case int64(len(body)) > limit:
		return nil, bodyTooLarge(limit)
	}
	if err := ctx.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, unparsable("the body could not be read: %s", err)
	}
	return body, nil
}

type humaContext huma.Context

// readContext is a request whose body was read already.
type readContext struct {
	humaContext
	body io.Reader
}

// BodyReader implements huma.Context.
func (c *readContext) BodyReader() io.Reader { return c.body }

// Unwrap returns the context beneath, as humago.Unwrap wants it.
func (c *readContext) Unwrap() huma.Context { return c.humaContext }

// jsonFormat is JSON as requests and answers use it: valid UTF-8, no NUL, numbers to the digit.
var jsonFormat = huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: readJSON}

func readJSON(data []byte, into any) error {
	if !utf8.Valid(data) {
		return errors.New("the text is not valid UTF-8")
	}
	if bytes.Contains(data, []byte(`\u0000`)) && holdsNUL(data) {
		return errors.New("a text holds the character NUL, which cannot be kept")
	}
	if err := json.Unmarshal(data, into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && len(wrong.Value) > len("number ") && wrong.Value[:6] == "number" {
			return fmt.Errorf("the %.60s is beyond what JSON numbers can be", wrong.Value)
		}
		return err
	}
	return nil
}

// holdsNUL tells the escape \u0000 from an escaped backslash before the text u0000.
func holdsNUL(data []byte) bool {
	for i := 0; i+6 <= len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if string(data[i:i+6]) == `\u0000` {
			return true
		}
		i++
	}
	return false
}

package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

const (
	keyHeader    = "Idempotency-Key"
	replayHeader = "Idempotency-Replayed"
)

var plainKey = regexp.MustCompile(`^[!-~]{1,255}$`)

type keyContext struct{}

// once carries out calls with an Idempotency-Key once: for a day the same call is answered with the first one's answer, also when that
// was lost on its way, and another call with the key is refused.
func (a *API) once(ctx huma.Context, next func(huma.Context)) {
	if !keyed(ctx) {
		next(ctx)
		return
	}
	text := ctx.Header(keyHeader)
	if !plainKey.MatchString(text) {
		a.answer(ctx, invalid("header."+keyHeader, "a key has 1 to 255 printable ASCII characters without spaces"))
		return
	}
	key := store.Key{Actor: actor(ctx.Context()), Key: text}
	request := fingerprintOf(ctx)
	timed, cancel := context.WithTimeout(ctx.Context(), requestTime)
	defer cancel()
	mine, err := a.Store.ClaimKey(timed, key, request)
	switch {
	case err != nil:
		a.answer(ctx, a.problemOf(timed, err))
	case mine:
		a.first(ctx, key, next)
	default:
		if p := a.again(timed, ctx, key, request); p != nil {
			a.answer(ctx, p)
		}
	}
}

// describeKey documents that an operation takes a key.
func describeKey(op *huma.Operation) {
	if op.Method == http.MethodPost && op.Metadata[selfKey] != true && op.Metadata[secretKey] != true {
		op.Parameters = append(op.Parameters, &huma.Param{Name: keyHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "Any text without spaces, new for each call: for a day the same call with it is answered as the first was, and does nothing."})
	}
}

// keyed reports whether a call has a key to go by.
func keyed(ctx huma.Context) bool {
	op := ctx.Operation()
	return ctx.Header(keyHeader) != "" && op.Method == http.MethodPost && op.Metadata[selfKey] != true && op.Metadata[secretKey] != true && ctx.Query("dry_run") != "true"
}

// fingerprintOf tells one call from another.
func fingerprintOf(ctx huma.Context) []byte {
	h := sha256.New()
	r, _ := humago.Unwrap(ctx)
	h.Write([]byte(r.Method + " " + r.URL.RequestURI() + "\n"))
	if c, ok := ctx.(*readContext); ok {
		if text, err := io.ReadAll(c.body); err == nil { // it is in memory
			h.Write(text)
			c.body = bytes.NewReader(text)
		}
	}
	return h.Sum(nil)
}

// first carries out a call whose key is new, and keeps its answer before it is sent. A call that did nothing leaves its key free.
func (a *API) first(ctx huma.Context, key store.Key, next func(huma.Context)) {
	held := &heldContext{humaContext: huma.WithValue(ctx, keyContext{}, key), status: http.StatusOK}
	next(held)
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx.Context()), requestTime)
	defer cancel()
	var err error
	if held.status < http.StatusBadRequest {
		err = a.Store.AnswerKey(timed, key, store.KeyUse{Status: held.status, Location: held.header.Get("Location"),
			ContentType: held.header.Get("Content-Type"), Answer: held.body.Bytes()})
	} else {
		err = a.Store.ReleaseKey(timed, key)
	}
	if err != nil {
		a.log.Error("what a call with a key came to could not be kept", slog.Any("error", err), requestAttr(ctx.Context()))
	}
	held.send(ctx)
}

// again answers a call whose key was used: nil when it was answered as the first was.
func (a *API) again(timed context.Context, ctx huma.Context, key store.Key, request []byte) *Problem {
	use, err := a.Store.UsedKey(timed, key)
	if err != nil {
		return a.problemOf(timed, err)
	}
	switch {
	case !bytes.Equal(use.Request, request):
		return conflict("the key %.255q was used for another call within the last day: take a new one for each", key.Key)
	case use.Status == 0 && use.Location != "":
		return a.locate(ctx, use)
	case use.Status == 0 && use.Age < requestTime+time.Second:
		p := conflict("the first call with this key is being carried out; try again")
		p.retryAfter = 1
		return p
	case use.Status == 0:
		return conflict("the server died in the first call with this key: look whether it was carried out, and take a new key if it was not")
	}
	a.repeat(ctx, use)
	return nil
}

// repeat answers as the first call was answered.
func (a *API) repeat(ctx huma.Context, use store.KeyUse) {
	ctx.SetHeader(replayHeader, "true")
	if use.Location != "" {
		ctx.SetHeader("Location", use.Location)
	}
	if use.ContentType != "" {
		ctx.SetHeader("Content-Type", use.ContentType)
	}
	ctx.SetStatus(use.Status)
	if _, err := ctx.BodyWriter().Write(use.Answer); err != nil {
		a.log.Debug("the client went before the answer", slog.Any("error", err))
	}
}

// locate answers with what the first call made, as its own answer said or would have: that is still on its way, or was lost with its server.
func (a *API) locate(ctx huma.Context, use store.KeyUse) *Problem {
	r, _ := humago.Unwrap(ctx)
	shown, status := a.look(r.WithContext(ctx.Context()), use.Location)
	if status != http.StatusOK {
		return conflict("what the first call with this key made is not there any more: %s", use.Location)
	}
	use.Status, use.ContentType, use.Answer = use.Located, "application/json", shown
	a.repeat(ctx, use)
	return nil
}

// noteKey notes in the transaction that makes something where that is, if it was asked for with a key.
func (a *API) noteKey(ctx context.Context, tx pgx.Tx, status int, location string) error {
	if key, ok := ctx.Value(keyContext{}).(store.Key); ok {
		return a.Store.LocateKey(ctx, tx, key, store.KeyUse{Location: location, Located: status})
	}
	return nil
}

// heldContext is a call whose answer is held back until it is kept.
type heldContext struct {
	humaContext
	status int
	header http.Header
	body   bytes.Buffer
}

// SetStatus implements huma.Context.
func (c *heldContext) SetStatus(status int) { c.status = status }

// Status implements huma.Context.
func (c *heldContext) Status() int { return c.status }

// SetHeader implements huma.Context.
func (c *heldContext) SetHeader(name, value string) {
	c.headers().Set(name, value)
}

// AppendHeader implements huma.Context.
func (c *heldContext) AppendHeader(name, value string) {
	c.headers().Add(name, value)
}

func (c *heldContext) headers() http.Header {
	if c.header == nil {
		c.header = make(http.Header)
	}
	return c.header
}

// BodyWriter implements huma.Context.
func (c *heldContext) BodyWriter() io.Writer { return &c.body }

// Unwrap returns the context beneath, as humago.Unwrap wants it.
func (c *heldContext) Unwrap() huma.Context { return c.humaContext }

// send sends what was held back.
func (c *heldContext) send(ctx huma.Context) {
	for name, values := range c.header {
		for _, v := range values {
			ctx.AppendHeader(name, v)
		}
	}
	ctx.SetStatus(c.status)
	if _, err := ctx.BodyWriter().Write(c.body.Bytes()); err != nil {
		return // the client has gone
	}
}

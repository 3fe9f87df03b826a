package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"hash/fnv"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// tagged gives what is shown of one thing an ETag, answers 304 when the caller has it already, and lets writes with If-Match change only what
// is still as the caller saw it (RFC 9110).
func (a *API) tagged(ctx huma.Context, next func(huma.Context)) {
	op := ctx.Operation()
	switch match := ctx.Header("If-Match"); {
	case op.Method == http.MethodGet && single(op):
		show(ctx, next)
	case match != "" && op.Method != http.MethodGet && op.Metadata[selfKey] != true:
		a.guardedWrite(ctx, match, next)
	default:
		next(ctx)
	}
}

// single reports whether an operation shows one thing, as a path with an id at its end does.
func single(op *huma.Operation) bool { return strings.HasSuffix(op.Path, "}") }

// show answers with an ETag.
func show(ctx huma.Context, next func(huma.Context)) {
	held := &heldContext{humaContext: ctx, status: http.StatusOK}
	next(held)
	if held.status == http.StatusOK {
		tag := etagOf(held.body.Bytes())
		held.SetHeader("ETag", tag)
		if matches(ctx.Header("If-None-Match"), tag) {
			held.status = http.StatusNotModified
			held.body.Reset()
		}
	}
	held.send(ctx)
}

// etagOf is a tag of what is shown: the same thing has the same tag, on every server.
func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}

// matches reports whether a list of tags names one, or any.
func matches(list, tag string) bool {
	for _, one := range strings.Split(list, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
			return true
		}
	}
	return false
}

// guardedWrite carries out a write when what is at its path, or above the verb at its path's end, has one of the tags. Writes of the same
// thing with If-Match come one after another, on all servers.
func (a *API) guardedWrite(ctx huma.Context, match string, next func(huma.Context)) {
	r, _ := humago.Unwrap(ctx)
	path, ok := a.shownAt(ctx.Operation(), r.URL.Path)
	if !ok {
		a.answer(ctx, invalid("header.If-Match", "nothing is shown at this path that it could be compared with; leave it out"))
		return
	}
	timed, cancel := context.WithTimeout(ctx.Context(), requestTime)
	defer cancel()
	h := fnv.New64a()
	h.Write([]byte(path))
	release, err := a.Store.LockPath(timed, int64(h.Sum64()))
	if err != nil {
		a.answer(ctx, a.problemOf(timed, err))
		return
	}
	defer release()
	current, status := a.look(r.WithContext(ctx.Context()), path)
	if status != http.StatusOK || !matches(match, etagOf(current)) {
		a.answer(ctx, problem(http.StatusPreconditionFailed, "it is not as you saw it any more, and nothing was done: read it again, and repeat what still holds"))
		return
	}
	next(ctx)
}

// shownAt finds where what a write changes is shown: at its own path, or at that without the verb at its end.
func (a *API) shownAt(op *huma.Operation, path string) (string, bool) {
	paths := a.huma.OpenAPI().Paths
	template := op.Path
	for range 2 {
		if item := paths[template]; item != nil && item.Get != nil && single(item.Get) {
			return path, true
		}
		template, path = template[:strings.LastIndexByte(template, '/')], path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	return "", false
}

// look reads what is shown at a path, as the caller would see it.
func (a *API) look(r *http.Request, path string) (body []byte, status int) {
	get := r.Clone(r.Context())
	get.Method, get.Body, get.ContentLength = http.MethodGet, http.NoBody, 0
	get.URL.Path, get.URL.RawPath, get.URL.RawQuery = path, "", ""
	for _, name := range []string{"If-Match", "If-None-Match", keyHeader} {
		get.Header.Del(name)
	}
	seen := &recorder{ResponseWriter: nowhere{http.Header{}}, status: http.StatusOK, copied: &bytes.Buffer{}, whole: true}
	a.mux.ServeHTTP(seen, get)
	return seen.copied.Bytes(), seen.status
}

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/ax-run/ax/internal/store"
)

// AuditRecord is one change that somebody made, or tried to make, through the API: one for each call.
type AuditRecord struct {
	ID        int64           `json:"id"`
	At        time.Time       `json:"at"`
	Actor     string          `json:"actor"`
	Namespace string          `json:"namespace,omitempty"`
	Operation string          `json:"operation" doc:"The operation's id in this document."`
	Path      string          `json:"path"`
	Status    *int16          `json:"status,omitempty" doc:"That of the answer. Absent while the call goes on, and for good if the server died in it."`
	Request   json.RawMessage `json:"request,omitempty" doc:"The body. Absent where it holds a secret."`
	Before    json.RawMessage `json:"before,omitempty" doc:"What was there, where one thing was replaced or deleted."`
	After     json.RawMessage `json:"after,omitempty" doc:"The answer."`
	RequestID string          `json:"request_id"`
	Address   string          `json:"address" doc:"Where the call came from."`
}

type listAuditInput struct {
	PageInput
	Namespace string    `query:"namespace" pattern:"^[A-Za-z0-9._-]{0,128}$" doc:"Only changes in this one."`
	Actor     string    `query:"actor" pattern:"^[ -~]{0,200}$" doc:"Whose, such as token:deploy."`
	Operation string    `query:"operation" pattern:"^[a-z-]{0,100}$" doc:"The operation's id, such as trigger-run."`
	From      time.Time `query:"from" doc:"At this instant or later."`
	To        time.Time `query:"to" doc:"Before this instant."`
}

type auditMark int64

// secretKey is where an operation says that its bodies hold secrets.
const secretKey = "secret"

// maxAudited is how much of a body is kept.
const maxAudited = 64 << 10

func (a *API) auditRoutes() {
	handle(a, needing(Admin, op(http.MethodGet, prefix+"/audit", "list-audit", "audit")), "List who changed what, the newest first", a.listAudit)
}

func (a *API) listAudit(ctx context.Context, in *listAuditInput) (*body[Page[AuditRecord]], error) {
	before, err := readCursor(in.Cursor, auditMark(math.MaxInt64))
	if err != nil {
		return nil, err
	}
	q := store.AuditQuery{Actor: in.Actor, Operation: in.Operation, Since: in.From, Until: in.To, Before: int64(before), Limit: in.Limit + 1}
	if in.Namespace != "" {
		q.Namespace = &in.Namespace
	}
	if q.Until.IsZero() {
		q.Until = farFuture
	}
	rows, err := a.Store.Audit(ctx, q)
	if err != nil {
		return nil, err
	}
	return answerOf(paged(rows, in.Limit, auditView, func(r store.AuditRow) auditMark { return auditMark(r.ID) }))
}

func auditView(r store.AuditRow) AuditRecord {
	v := AuditRecord{ID: r.ID, At: utc(r.At), Actor: r.Actor, Operation: r.Operation, Path: r.Path, Status: r.Status, Request: r.Request, Before: r.Before,
		After: r.After, RequestID: r.RequestID, Address: r.Address}
	if r.Namespace != nil {
		v.Namespace = *r.Namespace
	}
	return v
}

// audited notes a call that may change something: who and what before it is done, and how it was answered.
func (a *API) audited(ctx huma.Context, next func(huma.Context)) {
	op := ctx.Operation()
	if op.Method == http.MethodGet || op.Metadata[idleKey] == true || op.Metadata[selfKey] == true || ctx.Query("dry_run") == "true" {
		next(ctx)
		return
	}
	r, w := humago.Unwrap(ctx)
	row := store.AuditRow{Actor: actor(ctx.Context()), Operation: op.OperationID, Path: strings.ToValidUTF8(r.URL.RequestURI(), "?"),
		RequestID: requestID(ctx.Context()), Address: host(r.RemoteAddr)}
	if namespace := ctx.Param("namespace"); plainName.MatchString(namespace) {
		row.Namespace = &namespace
	}
	secret := op.Metadata[secretKey] == true
	if !secret {
		row.Request, row.Before = requestOf(ctx), a.before(ctx, r)
	}
	timed, cancel := context.WithTimeout(ctx.Context(), requestTime)
	id, err := a.Store.BeginAudit(timed, row)
	cancel()
	if err != nil {
		a.answer(ctx, a.problemOf(ctx.Context(), err))
		return
	}
	seen, ok := w.(*recorder)
	if ok && !secret {
		seen.copied = &bytes.Buffer{}
	}
	next(ctx)
	a.endAudit(ctx, id, seen)
}

// endAudit notes the answer, also of a client that has gone.
func (a *API) endAudit(ctx huma.Context, id int64, seen *recorder) {
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx.Context()), requestTime)
	defer cancel()
	var after []byte
	status := ctx.Status()
	if seen != nil {
		status = seen.status
		if seen.copied != nil {
			after = kept(seen.copied.Bytes())
		}
	}
	if err := a.Store.EndAudit(timed, id, status, after); err != nil {
		a.log.Error("the answer could not be noted for audit", slog.Any("error", err), requestAttr(ctx.Context()))
	}
}

// requestOf is the body of a request, which was read before.
func requestOf(ctx huma.Context) []byte {
	c, ok := ctx.(*readContext)
	if !ok {
		return nil
	}
	text, err := io.ReadAll(c.body)
	if err != nil {
		return nil // it is in memory
	}
	c.body = bytes.NewReader(text)
	return kept(text)
}

// kept is a body as a row keeps it: JSON as it is, other text as a JSON string, what is too long by its beginning.
func kept(text []byte) []byte {
	switch {
	case len(text) == 0:
		return nil
	case len(text) <= maxAudited && json.Valid(text) && utf8.Valid(text) && !deep(text):
		return text
	}
	quoted, err := json.Marshal(string(bytes.ReplaceAll(text[:min(len(text), maxAudited)], []byte{0}, nil)))
	if err != nil {
		return nil // a string can always be written
	}
	return quoted
}

// deep reports whether JSON is nested more than the database would take.
func deep(text []byte) bool {
	const most = 500
	depth := 0
	for _, c := range text {
		switch c {
		case '[', '{':
			if depth++; depth > most {
				return true
			}
		case ']', '}':
			depth--
		}
	}
	return false
}

// plainName is what names of namespaces look like.
var plainName = regexp.MustCompile("^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")

// host is an address without its port.
func host(address string) string {
	if h, _, err := net.SplitHostPort(address); err == nil {
		return h
	}
	return address
}

// before is what one would be shown of the thing that a call replaces or deletes; nil where there is nothing.
func (a *API) before(ctx huma.Context, r *http.Request) []byte {
	if r.Method != http.MethodPut && r.Method != http.MethodDelete || a.huma.OpenAPI().Paths[ctx.Operation().Path].Get == nil {
		return nil
	}
	shown, status := a.look(r.WithContext(ctx.Context()), r.URL.Path)
	if status != http.StatusOK {
		return nil
	}
	return kept(shown)
}

// nowhere is where an answer goes that only its recorder reads.
type nowhere struct{ header http.Header }

// Header implements http.ResponseWriter.
func (n nowhere) Header() http.Header { return n.header }

// Write implements http.ResponseWriter.
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (nowhere) WriteHeader(int) {}

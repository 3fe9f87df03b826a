package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ax-run/ax/internal/store"
)

// LogLine is one line of an attempt's log.
type LogLine struct {
	Attempt int       `json:"attempt"`
	Time    time.Time `json:"time"`
	Stream  string    `json:"stream" doc:"stdout, stderr or log."`
	Text    string    `json:"text"`
}

type logsInput struct {
	OfNodeRun
	PageInput
	Follow bool   `query:"follow" doc:"Send the lines as they come, as events, until the node run has ended."`
	Last   string `header:"Last-Event-ID" maxLength:"1000" doc:"With follow, a cursor too: browsers send it when they connect again."`
}

type logsOutput struct {
	Body func(huma.Context)
}

// logRoute registers the log of a node run: a page of it, or with follow a stream.
func (a *API) logRoute() {
	o := op(http.MethodGet, ns+"/node-runs/{id}/logs", "get-logs", "runs")
	page := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Page[LogLine]](), true, "PageLogLine")
	o.Responses = map[string]*huma.Response{"200": {
		Description: "A page of lines, oldest first; or with follow events line (a LogLine, whose id is a cursor), state (the node run's) and end.",
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: page},
			eventStream:        {Schema: &huma.Schema{Type: huma.TypeString}},
		},
	}}
	handle(a, o, "Read the log of a node run, all its attempts one after another, oldest first", a.logs)
}

func (a *API) logs(ctx context.Context, in *logsInput) (*logsOutput, error) {
	if in.Follow {
		in.Cursor = cmp.Or(in.Last, in.Cursor)
	}
	from, err := readCursor(in.Cursor, store.LogMark{})
	if err != nil {
		return nil, err
	}
	n, err := a.nodeRun(ctx, in.Namespace, in.ID)
	if err != nil {
		return nil, err
	}
	own, newest, err := a.nodeRunFacts(ctx, n, 0)
	if err != nil {
		return nil, err
	}
	if n.id.Generation == 0 {
		n.id.Generation = max(newest.generation(), 1)
	}
	if in.Follow {
		f := &follower{api: a, node: n, at: from, state: nodeView(n.run.ID, n.graph, n.at, own).State}
		return &logsOutput{f.serve}, nil
	}
	lines, err := a.Store.Logs(ctx, n.id, from, in.Limit+1)
	if err != nil {
		return nil, err
	}
	p, err := paged(lines, in.Limit, lineView, func(l store.MarkedLine) store.LogMark { return l.Mark })
	return &logsOutput{func(ctx huma.Context) { a.writeJSON(ctx, p) }}, err
}

// writeJSON answers with JSON where huma leaves the answer to us.
func (a *API) writeJSON(ctx huma.Context, v any) {
	ctx.SetHeader("Content-Type", "application/json")
	ctx.SetStatus(http.StatusOK)
	if err := a.huma.Marshal(ctx.BodyWriter(), "application/json", v); err != nil {
		a.log.DebugContext(ctx.Context(), "the client went before the answer", "error", err)
	}
}

func lineView(l store.MarkedLine) LogLine {
	return LogLine{Attempt: l.Attempt, Time: utc(l.Time), Stream: l.Stream, Text: l.Text}
}

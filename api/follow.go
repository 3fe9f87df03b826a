package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

const (
	eventStream = "text/event-stream"
	// followPoll is how often a followed log is looked at, followBeat how often a silent stream says that it lives.
	followPoll = 300 * time.Millisecond
	followBeat = 15 * time.Second
	// followBatch is how many lines are read at once.
	followBatch = 500
	// eventTime is how long a client may take to receive one batch.
	eventTime = 30 * time.Second
)

// follower streams one node run's log until the node run has ended.
type follower struct {
	api   *API
	node  nodeRun
	at    store.LogMark
	state string

	w     http.ResponseWriter
	flush *http.ResponseController
	// told is the state that the client knows.
	told   string
	silent time.Time
}

func (f *follower) serve(ctx huma.Context) {
	r, w := humago.Unwrap(ctx)
	f.w, f.flush = w, http.NewResponseController(w)
	h := w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	err := f.flush.SetReadDeadline(time.Time{}) // the server's own would end the request
	if err == nil || errors.Is(err, http.ErrNotSupported) {
		err = f.run(r.Context())
	}
	if err != nil && r.Context().Err() == nil {
		f.api.log.Warn("following a log ended early", requestAttr(r.Context()), slog.Any("error", err))
	}
}

// run sends what there is, and looks again, until the node run has ended and its last line is sent.
func (f *follower) run(ctx context.Context) error {
	f.silent = time.Now()
	tick := time.NewTicker(followPoll)
	defer tick.Stop()
	for {
		// The state is read before the log: lines are stored before the attempt's end.
		done := progress.State(f.state).Terminal()
		if err := f.send(ctx); err != nil {
			return err
		}
		if done {
			return f.event("end", "", map[string]string{"state": f.state})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.api.closing.Done():
			return nil
		case <-tick.C:
		}
		if err := f.look(ctx); err != nil {
			return err
		}
	}
}

// look reads the node run's state.
func (f *follower) look(ctx context.Context) error {
	own, _, err := f.api.nodeRunFacts(ctx, f.node, 0)
	if err != nil {
		return fmt.Errorf("read node run: %w", err)
	}
	f.state = nodeView(f.node.run.ID, f.node.graph, f.node.at, own).State
	return nil
}

// send tells a change of state and every line there is.
func (f *follower) send(ctx context.Context) error {
	if f.state != f.told {
		f.told = f.state
		if err := f.event("state", "", map[string]string{"state": f.state}); err != nil {
			return err
		}
	}
	for {
		lines, err := f.api.Store.Logs(ctx, f.node.id, f.at, followBatch)
		if err != nil {
			return err
		}
		for _, l := range lines {
			id, err := newCursor(l.Mark).text()
			if err == nil {
				err = f.event("line", id, lineView(l))
			}
			if err != nil {
				return err
			}
			f.at = l.Mark
		}
		if len(lines) < followBatch {
			return f.push()
		}
	}
}

func (f *follower) event(name, id string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return f.write("event: " + name + "\n" + id + "data: " + string(text) + "\n\n")
}

func (f *follower) write(text string) error {
	err := f.flush.SetWriteDeadline(time.Now().Add(eventTime))
	if err == nil || errors.Is(err, http.ErrNotSupported) {
		_, err = io.WriteString(f.w, text)
	}
	f.silent = time.Now()
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}

// push hands what was written to the client, with a sign of life after a silence.
func (f *follower) push() error {
	if time.Since(f.silent) >= followBeat {
		if err := f.write(": alive\n\n"); err != nil {
			return err
		}
	}
	if err := f.flush.Flush(); err != nil {
		return fmt.Errorf("flush events: %w", err)
	}
	return nil
}

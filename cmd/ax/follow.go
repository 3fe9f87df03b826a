package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ax-run/ax/api"
)

const (
	// silence is how long a stream may be silent, signs of life included, before it is taken for dead.
	silence = 45 * time.Second
	// followTries is how often in a row a stream may break before anything came of it.
	followTries = 10
	// followFirst and followMost bound the pause before a stream is taken up again.
	followFirst = 200 * time.Millisecond
	followMost  = 5 * time.Second
)

// event is one of a stream of server-sent events.
type event struct{ name, id, data string }

// following is a log being followed: how far it has come, over however many connections.
type following struct {
	line   func(api.LogLine) error
	cursor string // of the last line
	state  string // in which the node run has ended
	seen   bool   // anything has come at all
}

// follow hands every line of a node run's log to line, those that are there and those that come, until the node run has
// ended. A stream that breaks is taken up where it ended.
func (c *client) follow(ctx context.Context, nodeRun string, line func(api.LogLine) error) error {
	f := &following{line: line}
	broken := errors.New("its streams break off again and again")
	for tries := 0; tries < followTries; tries++ {
		err := c.stream(ctx, nodeRun, f.cursor, func(e event) error {
			tries = 0
			return f.take(e)
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case f.state != "", err != nil && !f.seen, !comesBack(err):
			return err
		case err != nil:
			broken = err
		}
		if err := pause(ctx, min(followFirst<<tries, followMost)); err != nil {
			return err
		}
	}
	return broken
}

func (f *following) take(e event) error {
	f.seen = true
	switch e.name {
	case "line":
		var l api.LogLine
		if err := json.Unmarshal([]byte(e.data), &l); err != nil {
			return fmt.Errorf("read log line: %w", err)
		}
		f.cursor = e.id
		return f.line(l)
	case "end":
		var end struct{ State string }
		if err := json.Unmarshal([]byte(e.data), &end); err != nil {
			return fmt.Errorf("read end of log: %w", err)
		}
		f.state = end.State
	}
	return nil
}

// comesBack tells whether asking again may help: the stream broke, or the server or its database is away.
func comesBack(err error) bool {
	var away *unreachable
	var p *api.Problem
	return err == nil || errors.As(err, &away) || errors.As(err, &p) && codeOfStatus(p.Status) == exitUnreachable
}

// stream reads the events of one connection.
func (c *client) stream(ctx context.Context, nodeRun, cursor string, take func(event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	query := url.Values{"follow": {"true"}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	answer, err := c.send(ctx, request{method: http.MethodGet, path: c.path("node-runs", nodeRun, "logs"), query: query})
	if err != nil {
		return err
	}
	watch := time.AfterFunc(silence, cancel)
	defer watch.Stop()
	in := bufio.NewReader(answer.Body)
	err = readEvents(in, func() { watch.Reset(silence) }, take)
	return errors.Join(err, answer.Body.Close())
}

// readEvents hands on events until the stream ends, which is no error, however it does. alive is told of every line.
func readEvents(in *bufio.Reader, alive func(), take func(event) error) error {
	var e event
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return nil // the caller asks again
		}
		alive()
		field, value, _ := strings.Cut(strings.TrimRight(text, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data += value
		case "":
			if value == "" && e.name != "" { // an empty line ends an event, a colon begins a comment
				if err := take(e); err != nil {
					return err
				}
				e = event{}
			}
		}
	}
}

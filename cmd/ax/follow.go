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
	followPause = time.Second
)

// event is one of a stream of server-sent events.
type event struct{ name, id, data string }

// follow hands every line of a node run's log to line, those that are there and those that come, until the node run has
// ended; it returns the state in which it did. A stream that breaks is taken up where it ended.
func (c *client) follow(ctx context.Context, nodeRun string, line func(api.LogLine) error) (state string, err error) {
	cursor := ""
	for tries := 0; tries < followTries; tries++ {
		if tries > 0 {
			if err := pause(ctx, followPause); err != nil {
				return "", err
			}
		}
		err = c.stream(ctx, nodeRun, cursor, func(e event) error {
			tries = 0
			switch e.name {
			case "line":
				var l api.LogLine
				if err := json.Unmarshal([]byte(e.data), &l); err != nil {
					return fmt.Errorf("read log line: %w", err)
				}
				cursor = e.id
				return line(l)
			case "end":
				var end struct{ State string }
				if err := json.Unmarshal([]byte(e.data), &end); err != nil {
					return fmt.Errorf("read end of log: %w", err)
				}
				state = end.State
			}
			return nil
		})
		if state != "" || ctx.Err() != nil || !comesBack(err) {
			return state, err
		}
	}
	if err == nil {
		err = errors.New("its streams break off again and again")
	}
	return "", c.away(ctx, err)
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

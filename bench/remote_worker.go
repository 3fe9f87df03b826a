package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/ax-run/ax/api"
)

// farWorker is a worker that does nothing, as fast as HTTP carries it, and the server that it talks to.
type farWorker struct {
	ns      string
	token   string
	client  *http.Client
	servers []*http.Server
	stop    context.CancelFunc
	work    sync.WaitGroup
}

const (
	farCapacity = 1000
	// farPolls is how many polls wait at once, farReports how many reports are on their way.
	farPolls   = 4
	farReports = 32
)

// newFarWorker serves the API and registers a worker there that is pushed to or polls.
func newFarWorker(ctx context.Context, a *api.API, push bool) (*farWorker, error) {
	ctx, stop := context.WithCancel(ctx)
	f := &farWorker{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * farReports}}, stop: stop}
	base, err := f.serve(a.Server())
	if err != nil {
		return nil, err
	}
	f.ns = base + "/api/v1/namespaces/default"
	me := map[string]any{"id": "bench", "handlers": []string{"noop"}, "capacity": farCapacity, "protocol": 1}
	if push {
		answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Ax-Protocol", "1")
			_, _ = io.WriteString(w, `{"status":"succeeded"}`) // who has gone needs no answer
		})
		if me["address"], err = f.serve(&http.Server{Handler: answer, ReadHeaderTimeout: time.Minute}); err != nil {
			return nil, err
		}
	}
	var told api.RegisteredBody
	if err := f.send(ctx, http.MethodPost, "/workers", me, &told); err != nil {
		return nil, fmt.Errorf("register worker: %w", err)
	}
	f.token = told.WorkerToken
	f.work.Go(func() { f.beat(ctx) })
	if !push {
		for range farPolls {
			f.work.Go(func() { f.poll(ctx) })
		}
	}
	return f, nil
}

func (f *farWorker) serve(s *http.Server) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("serve: %w", err)
	}
	f.servers = append(f.servers, s)
	f.work.Go(func() { _ = s.Serve(l) }) // ends with close
	return "http://" + l.Addr().String(), nil
}

func (f *farWorker) close() {
	f.stop()
	for _, s := range f.servers {
		_ = s.Close() // the measurement is over
	}
	f.work.Wait()
	f.client.CloseIdleConnections()
}

func (f *farWorker) beat(ctx context.Context) {
	for ctx.Err() == nil {
		_ = f.send(ctx, http.MethodPut, "/workers/bench/heartbeat", map[string]any{}, nil) // the next one may arrive
		_ = pause(ctx, time.Second)
	}
}

// poll takes and reports; what goes wrong shows in runs that do not end.
func (f *farWorker) poll(ctx context.Context) {
	for ctx.Err() == nil {
		var got []struct {
			ExecutionID string `json:"execution_id"`
			Attempt     int    `json:"attempt"`
		}
		if err := f.send(ctx, http.MethodPost, "/workers/bench/poll", map[string]any{"max": farCapacity / farPolls, "wait_seconds": 1}, &got); err != nil {
			_ = pause(ctx, 10*time.Millisecond)
			continue
		}
		var reports sync.WaitGroup
		room := make(chan struct{}, farReports)
		for _, d := range got {
			room <- struct{}{}
			reports.Go(func() {
				_ = f.send(ctx, http.MethodPost, "/executions/"+d.ExecutionID+"/result", map[string]any{"attempt": d.Attempt, "status": "succeeded"}, nil)
				<-room
			})
		}
		reports.Wait()
	}
}

func (f *farWorker) send(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, f.ns+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if f.token != "" {
		req.Header.Set("Authorization", "Bearer "+f.token)
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was read whole
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s answered %d: %.200s", method, path, resp.StatusCode, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

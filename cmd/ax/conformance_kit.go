package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/ax-run/ax/engine"
)

// kitBeat is how often a worker that registers with the kit is to beat.
const kitBeat = 200 * time.Millisecond

// order is a dispatch as the kit writes it, with a field that no worker knows.
type order struct {
	Version     int             `json:"version"`
	ExecutionID string          `json:"execution_id"`
	RunID       string          `json:"run_id"`
	Workflow    string          `json:"workflow"`
	Node        string          `json:"node"`
	Handler     string          `json:"handler"`
	Attempt     int             `json:"attempt"`
	Shard       map[string]int  `json:"shard"`
	ScheduledAt time.Time       `json:"scheduled_at"`
	LogicalDate string          `json:"logical_date"`
	ServerTime  time.Time       `json:"server_time"`
	Deadline    time.Time       `json:"deadline"`
	Params      json.RawMessage `json:"params"`
	Inputs      json.RawMessage `json:"inputs"`
	ResultURL   string          `json:"result_url"`
	Heartbeat   string          `json:"heartbeat_url"`
	Unknown     []string        `json:"a_field_of_the_future"`
}

// reported is how a worker ended an order; answered means that it did so in its answer, where no number is needed.
type reported struct {
	Attempt  int             `json:"attempt"`
	Status   string          `json:"status"`
	Output   json.RawMessage `json:"output"`
	Error    reportedError   `json:"error"`
	answered bool
}

type reportedError struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

// kit plays the server to one worker.
type kit struct {
	flags  conformanceFlags
	base   string
	server *http.Server

	mu       sync.Mutex
	changed  chan struct{} // closed, and made anew, whenever something came
	worker   *kitWorker
	count    int
	queue    []*order
	results  map[string]reported
	running  map[string]bool
	canceled map[string]int // by execution id: the heartbeats seen when it was canceled
	beatsGot int
}

// kitWorker is a worker that has registered.
type kitWorker struct {
	ID       string `json:"id"`
	Address  string `json:"address"`
	Capacity int    `json:"capacity"`
	Protocol int    `json:"protocol"`
}

func newKit(f conformanceFlags, listener net.Listener) *kit {
	k := &kit{flags: f, base: listenerURL(listener), changed: make(chan struct{}), results: make(map[string]reported), running: make(map[string]bool),
		canceled: make(map[string]int)}
	if f.publicURL != "" {
		k.base = strings.TrimSuffix(f.publicURL, "/")
	}
	k.server = &http.Server{Handler: k.routes(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = k.server.Serve(listener) }() // ends with close; what keeps it from serving shows in every check
	return k
}

func (k *kit) close() { _ = k.server.Close() } // the process ends

// key is what the worker's dispatches are signed with.
func (k *kit) key() string {
	if k.flags.url != "" {
		return k.flags.key
	}
	return "axw_conformance"
}

// address is where the worker is called or pushed to, "" for one that polls.
func (k *kit) address() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.worker != nil {
		return k.worker.Address
	}
	return k.flags.url
}

func (k *kit) capacity() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.worker != nil {
		return k.worker.Capacity
	}
	return 4
}

func (k *kit) sign(key string, at time.Time, body []byte) string { return engine.Sign(key, at, body) }

// notify wakes all who wait for something; the lock is held.
func (k *kit) notify() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// until waits for something, at most as long as the flags say.
func (k *kit) until(ctx context.Context, otherwise string, holds func() bool) error {
	timer := time.NewTimer(k.flags.timeout)
	defer timer.Stop()
	for {
		k.mu.Lock()
		changed := k.changed
		k.mu.Unlock()
		if holds() {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return fmt.Errorf("%s within %s", otherwise, k.flags.timeout)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// awaitWorker waits, without an end, for the worker to register and to beat: then it knows its token.
func (k *kit) awaitWorker(ctx context.Context) error {
	for {
		k.mu.Lock()
		changed, there := k.changed, k.worker != nil && k.beatsGot > 0
		k.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// order makes a new dispatch.
func (k *kit) order(handler, inputs string) *order {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.count++
	id := fmt.Sprintf("conformance%d:%s:1", k.count, handler)
	at := k.base + "/api/v1/namespaces/default/executions/" + id
	now := time.Now().UTC()
	return &order{Version: 1, ExecutionID: id, RunID: fmt.Sprintf("conformance%d", k.count), Workflow: "conformance", Node: handler, Handler: handler, Attempt: 1,
		Shard: map[string]int{"index": 0, "total": 1}, ScheduledAt: now, LogicalDate: now.Format(time.DateOnly), ServerTime: now, Deadline: now.Add(time.Hour),
		Params: json.RawMessage("{}"), Inputs: json.RawMessage(inputs), ResultURL: at + "/result?token=axe_x", Heartbeat: at + "/heartbeat?token=axe_x", Unknown: []string{"x"}}
}

// run gives an order to the worker and waits for its end.
func (k *kit) run(ctx context.Context, o *order) (reported, error) {
	if err := k.give(ctx, o); err != nil {
		return reported{}, err
	}
	var r reported
	err := k.until(ctx, "no report came", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		got, there := k.results[o.ExecutionID]
		r = got
		return there
	})
	return r, err
}

// give hands an order to the worker in its way. A worker that is full says so and is asked again.
func (k *kit) give(ctx context.Context, o *order) error {
	if k.address() == "" {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.queue = append(k.queue, o)
		k.notify()
		return nil
	}
	for until := time.Now().Add(k.flags.timeout); ; {
		status, body, err := k.post(ctx, o, func(body []byte) string { return k.sign(k.key(), time.Now(), body) })
		if err != nil {
			return err
		}
		if status == http.StatusTooManyRequests && time.Now().Before(until) {
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		return k.answered(o, status, body)
	}
}

// answered takes what was answered to a push.
func (k *kit) answered(o *order, status int, body []byte) error {
	switch status {
	case http.StatusAccepted:
		return nil
	case http.StatusOK:
		r := reported{answered: true}
		if err := json.Unmarshal(body, &r); err != nil {
			return fmt.Errorf("its answer is no report: %w", err)
		}
		r.answered = true
		k.mu.Lock()
		defer k.mu.Unlock()
		k.results[o.ExecutionID] = r
		k.notify()
		return nil
	}
	return &refusedOrder{status, string(body)}
}

// post sends an order to the worker's address.
func (k *kit) post(ctx context.Context, o *order, signature func(body []byte) string) (status int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, k.flags.timeout)
	defer cancel()
	body, err := json.Marshal(o)
	if err != nil {
		return 0, nil, fmt.Errorf("write dispatch: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.address(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, failure(exitUsage, "the worker's address is no URL: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", o.ExecutionID)
	req.Header.Set("Ax-Protocol", "1")
	if s := signature(body); s != "" {
		req.Header.Set("Ax-Signature", s)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("it cannot be reached: %w", err)
	}
	answer, err = io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return 0, nil, fmt.Errorf("its answer cannot be read: %w", err)
	}
	if taken := resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusAccepted; taken && resp.Header.Get("Ax-Protocol") != "1" {
		return 0, nil, errors.New("its answer has no header Ax-Protocol: 1, so that it would be read as that of a webhook")
	}
	return resp.StatusCode, answer, nil
}

// cancel makes the next heartbeat say that an order is not the worker's any more.
func (k *kit) cancel(o *order) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.canceled[o.ExecutionID] = k.beatsGot
}

// named tells whether the last heartbeat named an order.
func (k *kit) named(o *order) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.running[o.ExecutionID]
}

// beatSince tells whether a heartbeat came after the one that told of a cancel.
func (k *kit) beatSince(o *order) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.beatsGot > k.canceled[o.ExecutionID]+1
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

package engine

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// protocolVersion is the newest version of the worker protocol that is spoken here; there is no older one.
const protocolVersion = 1

// dispatch is what a worker is told of an attempt: the body of the worker protocol, version 1 (contract §3).
type dispatch struct {
	Version      int             `json:"version"`
	ExecutionID  string          `json:"execution_id"`
	RunID        string          `json:"run_id"`
	Workflow     string          `json:"workflow"`
	Node         string          `json:"node"`
	Handler      string          `json:"handler,omitempty"`
	Attempt      int             `json:"attempt"`
	Shard        shardPlace      `json:"shard"`
	ScheduledAt  time.Time       `json:"scheduled_at"`
	LogicalDate  string          `json:"logical_date"`
	ServerTime   time.Time       `json:"server_time"`
	Deadline     time.Time       `json:"deadline"`
	Params       json.RawMessage `json:"params"`
	Inputs       json.RawMessage `json:"inputs"`
	ResultURL    string          `json:"result_url,omitempty"`
	HeartbeatURL string          `json:"heartbeat_url,omitempty"`
	// Item is what a shard of a list is about.
	Item json.RawMessage `json:"item,omitempty"`
}

// shardPlace says which shard of how many an attempt is; a node that is not split is the only one.
type shardPlace struct {
	Index int `json:"index"`
	Total int `json:"total"`
}

func newDispatch(t *Task) dispatch {
	return dispatch{
		Version: protocolVersion, Handler: t.Node.Handler, Item: t.Item, ResultURL: t.ResultURL, HeartbeatURL: t.HeartbeatURL, ExecutionID: t.Attempt.ExecutionID(), RunID: t.Attempt.Run.String(),
		Workflow: t.Facts.Workflow, Node: t.Attempt.Node, Attempt: t.Attempt.Number, Shard: t.shardPlace(),
		ScheduledAt: t.Facts.ScheduledAt.UTC(), LogicalDate: t.Facts.LogicalDate,
		ServerTime: time.Now().UTC(), Deadline: t.Deadline.UTC(),
		Params: objectOr(t.Facts.Params), Inputs: objectOr(t.Inputs),
	}
}

func (t *Task) shardPlace() shardPlace {
	if t.Attempt.Shard == store.WholeNode {
		return shardPlace{Index: 0, Total: 1}
	}
	return shardPlace{Index: t.Attempt.Shard, Total: t.Shards}
}

// objectOr is a JSON object, the empty one for nothing.
func objectOr(b []byte) json.RawMessage {
	if len(bytes.TrimSpace(b)) == 0 {
		return json.RawMessage("{}")
	}
	return b
}

// encodeJSON writes JSON for programs: numbers and text as they are, without HTML's escapes.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

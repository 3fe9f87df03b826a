// Package dag holds a workflow's definition and the graph it describes.
//
// A definition arrives as YAML or JSON (Parse) or as values (package sdk). Build
// turns it into an immutable Graph, or into every problem it has, each with its place.
package dag

import "time"

// Definition is a workflow as its author wrote it. Build resolves defaults into a
// copy; a Definition that went through Build says everything explicitly.
type Definition struct {
	Meta
	Timeout     Duration         `json:"timeout,omitempty"`
	Priority    int              `json:"priority,omitempty"`
	Paused      bool             `json:"paused,omitempty"`
	Params      map[string]Param `json:"params,omitempty"`
	Schedules   []Schedule       `json:"schedules,omitempty"`
	Upstream    *Upstream        `json:"upstream,omitempty"`
	Concurrency *Concurrency     `json:"concurrency,omitempty"`
	Alerts      []AlertRule      `json:"alerts,omitempty"`
	Defaults    *Defaults        `json:"defaults,omitempty"`
	Retention   *Retention       `json:"retention,omitempty"`
	Output      string           `json:"output,omitempty"`
	Nodes       map[string]*Node `json:"nodes"`

	// text is where the definition was read from; nil if it was made of values.
	text *tree
}

// Meta names a workflow and tells people about it.
type Meta struct {
	Workflow    string   `json:"workflow"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Owner       string   `json:"owner,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

// Param is one typed run parameter. Type is string, integer, number, boolean,
// object or array; a param without default is required.
type Param struct {
	Type        string `json:"type"`
	Default     any    `json:"default,omitempty"`
	Description string `json:"description,omitempty"`
}

// Defaults apply to every node that does not say otherwise.
type Defaults struct {
	Timeout      Duration `json:"timeout,omitempty"`
	QueueTimeout Duration `json:"queue_timeout,omitempty"`
	Retry        *Retry   `json:"retry,omitempty"`
	Queue        string   `json:"queue,omitempty"`
}

// Retention says how long finished runs and their logs are kept, and the ledger of fires as long as runs.
type Retention struct {
	Runs Duration `json:"runs,omitempty"`
	Logs Duration `json:"logs,omitempty"`
}

// Node is one step of a workflow: exactly one kind of Work, and how it is placed,
// ordered, fanned out and forgiven.
type Node struct {
	Title string `json:"title,omitempty"`
	Work
	Flow
	Policy
	Placement
	Fanout
	// Inputs are handed to the body; values may hold ${{ expressions }} over params and ancestors' outputs.
	Inputs map[string]any `json:"inputs,omitempty"`
}

// Work is what a node does: exactly one field is set.
type Work struct {
	Handler  string    `json:"handler,omitempty"`
	HTTP     *HTTP     `json:"http,omitempty"`
	Command  *Command  `json:"command,omitempty"`
	Child    *Child    `json:"workflow,omitempty"`
	Approval *Approval `json:"approval,omitempty"`
	Wait     *Wait     `json:"wait,omitempty"`
	Branch   *Branch   `json:"branch,omitempty"`
}

// HTTP calls a URL. Protocol is "ax" (the worker protocol) or "plain" (a webhook);
// empty lets the answer's Ax-Protocol header decide.
type HTTP struct {
	URL      string            `json:"url"`
	Method   string            `json:"method,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	Body     any               `json:"body,omitempty"`
	Protocol string            `json:"protocol,omitempty"`
}

// Command runs a program on a worker started with --allow-commands. In a document
// it is a list, or an object with these keys.
type Command struct {
	Run                []string          `json:"run"`
	Env                map[string]string `json:"env,omitempty"`
	PermanentExitCodes []int             `json:"permanent_exit_codes,omitempty"`
}

// Child runs another workflow and waits for it.
type Child struct {
	Code      string         `json:"code"`
	Params    map[string]any `json:"params,omitempty"`
	Version   int            `json:"version,omitempty"`
	Namespace string         `json:"namespace,omitempty"`
}

// Approval waits for a person.
type Approval struct {
	Roles   []string `json:"roles,omitempty"`
	Message string   `json:"message,omitempty"`
}

// Wait waits for a duration, or until an instant (an expression); exactly one is set.
type Wait struct {
	For   Duration `json:"for,omitempty"`
	Until string   `json:"until,omitempty"`
}

// Branch takes the edges of the first case whose When holds, else Default.
type Branch struct {
	Cases   []Case   `json:"cases"`
	Default []string `json:"default,omitempty"`
}

// Case is one arm of a Branch.
type Case struct {
	When string   `json:"when"`
	To   []string `json:"to"`
}

// Flow says when a node may run (S14, S15, S16).
type Flow struct {
	Needs       []string `json:"needs,omitempty"`
	TriggerRule Rule     `json:"trigger_rule,omitempty"`
	When        string   `json:"when,omitempty"`
	Finally     bool     `json:"finally,omitempty"`
}

// Fanout splits a node into shards (S21). Shards is a number, "workers" or "capacity" as text.
type Fanout struct {
	Shards   Shards  `json:"shards,omitempty"`
	ForEach  string  `json:"for_each,omitempty"`
	Success  Success `json:"success,omitempty"`
	FailFast bool    `json:"fail_fast,omitempty"`
}

// Shards is "", a positive number in decimal, "workers" or "capacity".
type Shards string

// The shards that are counted when the node is split: one on each matching worker, or as many as they have capacity.
const (
	ShardsWorkers  Shards = "workers"
	ShardsCapacity Shards = "capacity"
)

// Success says how many shards must succeed: "all", "any", "at_least 3" or "at_least 50%".
// In a document the last two are written {at_least: 3} and {at_least: 50%}.
type Success string

// Duration is a time.Duration that reads and writes as text such as "1h30m" or "7d".
type Duration time.Duration

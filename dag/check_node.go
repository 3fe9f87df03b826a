package dag

import (
	"strconv"
	"strings"
)

const (
	maxAttempts = 1000
	maxShards   = 10_000
	maxWeight   = 1_000_000
)

// node checks one node by itself, without its neighbours.
func (c *checker) node(at *place, name string, n *Node) {
	c.name(at, "a node", name)
	if n == nil {
		n = &Node{}
	}
	if c.exactlyOne(at, "a node", n.Work.said()) {
		c.work(at, n)
	}
	c.flow(at, n)
	c.policy(at, n)
	c.placement(at, n)
	c.fanout(at, n)
}

// said tells which kinds a node names.
func (w *Work) said() map[string]bool {
	return map[string]bool{
		"handler": w.Handler != "", "http": w.HTTP != nil, "command": w.Command != nil, "workflow": w.Child != nil,
		"approval": w.Approval != nil, "wait": w.Wait != nil, "branch": w.Branch != nil,
	}
}

func (c *checker) flow(at *place, n *Node) {
	c.choice(at.key("trigger_rule"), string(n.TriggerRule), "Node.trigger_rule")
	switch {
	case n.Finally && n.TriggerRule != "":
		c.add(at.key("trigger_rule"), CodeFinally, "a finally node has no trigger rule: it starts when all ordinary nodes have ended").
			hint("remove trigger_rule")
	case len(n.Needs) == 0 && needsParent(n.TriggerRule):
		c.add(at.key("trigger_rule"), CodeNeverRuns, "the node can never run: %s waits for a parent, and the node has none", n.TriggerRule).
			hint("name its parents in needs, or remove trigger_rule")
	}
}

// needsParent marks the rules that cannot hold over no parents at all.
func needsParent(r Rule) bool {
	switch r {
	case OneSuccess, OneFailed, OneDone, NoneFailedMinOneSuccess:
		return true
	}
	return false
}

func (c *checker) policy(at *place, n *Node) {
	c.duration(at.key("timeout"), n.Timeout, minTimeout)
	c.duration(at.key("queue_timeout"), n.QueueTimeout, minTimeout)
	c.choice(at.key("on_failure"), string(n.OnFailure), "Node.on_failure")
	var base *Retry
	if c.def.Defaults != nil {
		base = c.def.Defaults.Retry
	}
	c.retry(at.key("retry"), n.Retry, base)
}

// retry checks a retry policy as written; base is where a list of delays may also come from.
func (c *checker) retry(at *place, r, base *Retry) {
	if r == nil {
		return
	}
	c.number(at.key("max_attempts"), r.MaxAttempts, 1, maxAttempts)
	c.choice(at.key("backoff"), string(r.Backoff), "Retry.backoff")
	if r.Delay != nil {
		c.duration(at.key("delay"), *r.Delay, minTimeout)
	}
	c.duration(at.key("max_delay"), r.MaxDelay, minTimeout)
	c.fraction(at.key("factor"), r.Factor, 1, 100)
	if r.Jitter != nil {
		c.fraction(at.key("jitter"), *r.Jitter, 0, 1)
	}
	if r.MaxLost != nil && (*r.MaxLost < 0 || *r.MaxLost > maxAttempts) {
		c.add(at.key("max_lost"), CodeOutOfRange, "%d is not between 0 and %d", *r.MaxLost, maxAttempts).value(*r.MaxLost)
	}
	if r.Delay != nil && r.MaxDelay > 0 && r.MaxDelay < *r.Delay {
		c.add(at.key("max_delay"), CodeOutOfRange, "max_delay %s is less than delay %s", r.MaxDelay, *r.Delay)
	}
	c.delays(at, r, base)
	c.unusedShape(at, r)
	if r.On != nil {
		c.errorCodes(at.under("on", "codes"), r.On.Codes)
		c.errorCodes(at.under("on", "except"), r.On.Except)
	}
}

func (c *checker) fraction(at *place, f, least, most float64) {
	if f != 0 && (f < least || f > most || f != f) {
		c.add(at, CodeOutOfRange, "%v is not between %v and %v", f, least, most).value(f)
	}
}

func (c *checker) delays(at *place, r, base *Retry) {
	for i, d := range r.Delays {
		c.duration(at.key("delays").at(i), d, minTimeout)
	}
	switch {
	case len(r.Delays) > 0 && (r.Backoff == BackoffExponential || r.Backoff == BackoffFixed):
		c.add(at.key("delays"), CodeConflict, "delays belong to backoff: list, not %s", r.Backoff).hint("remove one of them")
	case len(r.Delays) > 0 && r.MaxAttempts > 0 && len(r.Delays) >= r.MaxAttempts:
		first := r.MaxAttempts - 1
		c.add(at.key("delays").at(first), CodeOutOfRange,
			"delay number %d is never used: %d attempts have %d pauses between them", first+1, r.MaxAttempts, first).
			hint("write max_attempts: %d, or remove the delay", len(r.Delays)+1).value(r.Delays[first].String())
	case r.Backoff == BackoffList && len(r.Delays) == 0 && r.MaxAttempts != 1 && (base == nil || len(base.Delays) == 0):
		c.add(at.key("delays"), CodeMissing, "backoff: list has no delays").hint("write delays: [0s, 10s, 60s]")
	}
}

// unusedShape refuses keys that the chosen backoff does not look at.
func (c *checker) unusedShape(at *place, r *Retry) {
	list := r.Backoff == BackoffList || r.Backoff == "" && len(r.Delays) > 0
	unused := map[string]bool{
		"delay":     list && r.Delay != nil && *r.Delay != 0,
		"factor":    (list || r.Backoff == BackoffFixed) && r.Factor != 0,
		"max_delay": (list || r.Backoff == BackoffFixed) && r.MaxDelay != 0,
	}
	for _, key := range []string{"delay", "factor", "max_delay"} {
		if unused[key] {
			c.add(at.key(key), CodeConflict, "%s has no effect with this backoff", key).hint("remove it, or choose backoff: exponential")
		}
	}
}

func (c *checker) errorCodes(at *place, codes []string) {
	for i, code := range codes {
		c.name(at.at(i), "an error code", code)
	}
}

func (c *checker) placement(at *place, n *Node) {
	c.nameIfSaid(at.key("queue"), "a queue", n.Queue)
	c.number(at.key("priority"), n.Priority, 1, 4)
	for key, value := range n.Labels {
		here := at.key("labels").key(key)
		c.name(here, "a label", key)
		if len(value) > 256 {
			c.add(here, CodeOutOfRange, "a label's value has at most 256 bytes")
		}
	}
	c.route(at.key("route"), n.Route)
	if len(n.Pools) > 0 && (n.Child != nil || n.Approval != nil || n.Wait != nil || n.Branch != nil) {
		c.add(at.key("pools"), CodeConflict, "only what a worker runs takes slots").hint("give the pools to the nodes that do the work")
	}
	seen := map[string]bool{}
	for i, use := range n.Pools {
		here := at.key("pools").at(i)
		c.name(here, "a pool", use.Pool)
		c.number(here.key("weight"), use.Weight, 1, maxWeight)
		if use.Pool != "" && seen[use.Pool] {
			c.add(here, CodeDuplicateName, "pool %q stands here twice", clip(use.Pool)).hint("give it a weight instead")
		}
		seen[use.Pool] = true
	}
}

func (c *checker) route(at *place, r *Route) {
	if r == nil {
		return
	}
	switch r.Kind {
	case RouteWorker:
		c.name(at.key("worker"), "a worker", r.Worker)
	case RouteConsistentHash:
		if r.Key == "" {
			c.add(at.key("consistent_hash"), CodeMissing, "consistent_hash needs an expression to hash")
		}
	default:
		c.among(at, r.Kind, RouteAny, RouteRoundRobin)
	}
}

func (c *checker) fanout(at *place, n *Node) {
	c.shards(at.key("shards"), n.Shards)
	c.success(at.key("success"), n.Success)
	switch {
	case n.Shards != "" && n.ForEach != "":
		c.add(at.key("for_each"), CodeConflict, "a node is split by shards or by for_each, not by both").hint("keep one of them")
	case n.sharded() && (n.Approval != nil || n.Wait != nil || n.Branch != nil):
		c.add(at, CodeConflict, "only nodes that do work can be split; approval, wait and branch cannot")
	case !n.sharded() && n.Success != "":
		c.add(at.key("success"), CodeConflict, "success counts shards, and the node has none").hint("add shards or for_each, or remove it")
	case !n.sharded() && n.FailFast:
		c.add(at.key("fail_fast"), CodeConflict, "fail_fast stops shards, and the node has none").hint("add shards or for_each, or remove it")
	}
}

func (c *checker) shards(at *place, s Shards) {
	if s == "" || s == ShardsWorkers || s == ShardsCapacity {
		return
	}
	if n, err := strconv.Atoi(string(s)); err != nil || n < 1 || n > maxShards {
		c.add(at, CodeOutOfRange, "%q is not a number of shards", clip(string(s))).
			hint("write a number from 1 to %d, workers or capacity", maxShards).value(string(s))
	}
}

func (c *checker) success(at *place, s Success) {
	if s == "" || s == "all" || s == "any" {
		return
	}
	count, ok := strings.CutPrefix(string(s), atLeast)
	count, percent := strings.CutSuffix(count, "%")
	most := maxShards
	if percent {
		most = 100
	}
	if n, err := strconv.Atoi(count); !ok || err != nil || n < 1 || n > most {
		c.add(at, CodeInvalidChoice, "%q does not say how many shards must succeed", clip(string(s))).
			hint("write all, any, {at_least: 3} or {at_least: 50%%}").value(string(s))
	}
}

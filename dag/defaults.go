package dag

import (
	"slices"
	"time"
)

// The defaults that Build writes into a definition (S10, S16, S17, S22).
const (
	DefaultTimeout         = Duration(time.Hour)
	DefaultRunTimeout      = Duration(24 * time.Hour)
	DefaultQueueTimeout    = Duration(24 * time.Hour)
	DefaultApprovalTimeout = Duration(7 * day)

	DefaultMaxAttempts = 4
	DefaultDelay       = Duration(time.Second)
	DefaultFactor      = 2.0
	DefaultMaxDelay    = Duration(5 * time.Minute)
	DefaultJitter      = 0.1
	DefaultMaxLost     = 3

	DefaultPriority  = 2
	DefaultQueue     = "default"
	DefaultMaxQueued = 100

	DefaultSchedule         = "default"
	DefaultCatchupWindow    = Duration(24 * time.Hour)
	DefaultCatchupLimit     = 100
	DefaultMisfireThreshold = Duration(time.Minute)
	DefaultUpstreamWindow   = Duration(48 * time.Hour)

	// DefaultTimezone holds where neither a schedule nor the server names a zone (S6).
	DefaultTimezone = "Asia/Shanghai"
)

// resolve returns a copy in which every default is written out, the zone excepted. Building
// the copy again gives the same copy.
func resolve(def *Definition) *Definition {
	out := *def
	out.text, out.Defaults = nil, nil
	out.Timeout = or(def.Timeout, DefaultRunTimeout)
	out.Priority = or(def.Priority, DefaultPriority)
	out.Schedules = slices.Clone(def.Schedules)
	for i := range out.Schedules {
		resolveSchedule(&out.Schedules[i])
	}
	out.Upstream = resolveUpstream(def.Upstream)
	out.Concurrency = resolveConcurrency(def)
	defaults := def.Defaults
	if defaults == nil {
		defaults = &Defaults{}
	}
	out.Nodes = make(map[string]*Node, len(def.Nodes))
	nodes := make([]Node, 0, len(def.Nodes))
	for name, n := range def.Nodes {
		nodes = append(nodes, *n)
		out.Nodes[name] = &nodes[len(nodes)-1]
		resolveNode(out.Nodes[name], defaults)
	}
	return &out
}

// or is the value, or its default where it says nothing.
func or[T comparable](value, otherwise T) T {
	var nothing T
	if value == nothing {
		return otherwise
	}
	return value
}

func resolveSchedule(s *Schedule) {
	s.Name = or(s.Name, DefaultSchedule)
	if s.Cron != "" {
		s.DST = or(s.DST, DSTStandard)
	}
	if s.Cron != "" || s.Every != 0 {
		s.Catchup = or(s.Catchup, CatchupLatest)
		s.CatchupWindow = or(s.CatchupWindow, DefaultCatchupWindow)
		s.CatchupLimit = or(s.CatchupLimit, DefaultCatchupLimit)
		s.MisfireThreshold = or(s.MisfireThreshold, DefaultMisfireThreshold)
	}
	s.Calendars = slices.Clone(s.Calendars)
	for i := range s.Calendars {
		s.Calendars[i].Mode = or(s.Calendars[i].Mode, "exclude")
	}
}

func resolveUpstream(u *Upstream) *Upstream {
	if u == nil {
		return nil
	}
	out := Upstream{All: slices.Clone(u.All), Any: slices.Clone(u.Any), Window: or(u.Window, DefaultUpstreamWindow)}
	for _, terms := range [][]Term{out.All, out.Any} {
		for i := range terms {
			t := &terms[i]
			t.On, t.Match, t.Take = or(t.On, "success"), or(t.Match, "logical_date"), or(t.Take, "last")
		}
	}
	return &out
}

// resolveConcurrency gives a workflow that repeats by itself one run at a time (S22).
func resolveConcurrency(def *Definition) *Concurrency {
	if def.Concurrency == nil && !def.recurring() {
		return nil
	}
	var out Concurrency
	if def.Concurrency != nil {
		out = *def.Concurrency
	}
	out.MaxRuns = or(out.MaxRuns, 1)
	out.Overflow = or(out.Overflow, OverflowQueue)
	if out.Overflow == OverflowQueue {
		out.MaxQueued = or(out.MaxQueued, DefaultMaxQueued)
	}
	return &out
}

// recurring reports whether some schedule fires more than once.
func (d *Definition) recurring() bool {
	return slices.ContainsFunc(d.Schedules, func(s Schedule) bool { return s.At == nil })
}

func resolveNode(n *Node, defaults *Defaults) {
	n.Needs = slices.Sorted(slices.Values(n.Needs))
	if !n.Finally {
		n.TriggerRule = or(n.TriggerRule, AllSuccess)
	}
	switch {
	case n.Approval != nil:
		n.Timeout = or(n.Timeout, DefaultApprovalTimeout)
	case n.Child != nil:
		n.Timeout = or(n.Timeout, DefaultRunTimeout)
	case n.Wait == nil && n.Branch == nil:
		n.Timeout = or(n.Timeout, or(defaults.Timeout, DefaultTimeout))
	}
	n.QueueTimeout = or(n.QueueTimeout, or(defaults.QueueTimeout, DefaultQueueTimeout))
	n.Retry = resolveRetry(n.Retry, defaults.Retry)
	n.OnFailure = or(n.OnFailure, AbortChain)
	if n.Idempotent == nil {
		n.Idempotent = new(true)
	}
	n.Queue = or(n.Queue, or(defaults.Queue, DefaultQueue))
	n.Pools = slices.Clone(n.Pools)
	for i := range n.Pools {
		n.Pools[i].Weight = or(n.Pools[i].Weight, 1)
	}
	if n.Route == nil || *n.Route == (Route{}) {
		n.Route = &Route{Kind: RouteAny}
	}
	if n.sharded() {
		n.Success = or(n.Success, "all")
	}
	if n.HTTP != nil {
		http := *n.HTTP
		http.Method = or(http.Method, "POST")
		n.HTTP = &http
	}
}

func (n *Node) sharded() bool { return n.Shards != "" || n.ForEach != "" }

package dag

import (
	"maps"
	"slices"
)

const (
	minTimeout = Duration(1e6) // a millisecond
	maxRuns    = 1_000_000
)

// workflow checks everything that is not a node.
func (c *checker) workflow() {
	d := c.def
	var root *place
	c.name(root.key("workflow"), "the workflow", d.Workflow)
	for i, tag := range d.Tags {
		if tag == "" {
			c.add(root.key("tags").at(i), CodeMissing, "a tag is empty")
		}
	}
	c.duration(root.key("timeout"), d.Timeout, minTimeout)
	c.number(root.key("priority"), d.Priority, 1, 4)
	c.params()
	c.schedules()
	c.upstream()
	c.concurrency()
	for i, rule := range d.Alerts {
		c.alert(root.key("alerts").at(i), rule)
	}
	c.defaults()
	if d.Retention != nil {
		c.duration(root.under("retention", "runs"), d.Retention.Runs, Duration(day))
		c.duration(root.under("retention", "logs"), d.Retention.Logs, Duration(day))
	}
}

func (c *checker) params() {
	var root *place
	for _, name := range slices.Sorted(maps.Keys(c.def.Params)) {
		p, at := c.def.Params[name], root.under("params", name)
		c.name(at, "a parameter", name)
		switch {
		case p.Type == "":
			c.add(at.key("type"), CodeMissing, "parameter %s has no type", clip(name)).
				hint("string, integer, number, boolean, object or array")
		case !slices.Contains(choices["Param.type"], p.Type):
			c.choice(at.key("type"), p.Type, "Param.type")
		case p.Default != nil && !fits(p.Default, p.Type):
			c.add(at.key("default"), CodeWrongType, "the default must be of type %s, not %s", p.Type, or(typeOf(p.Default), "unknown"))
		}
	}
}

// arguments checks what an automatic start gives for the workflow's parameters: known names, right
// types, and everything that has no default.
func (c *checker) arguments(at *place, given map[string]any) {
	known := slices.Sorted(maps.Keys(c.def.Params))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		here := at.under("params", name)
		p, ok := c.def.Params[name]
		switch {
		case !ok:
			problem := c.add(here, CodeUnknownParam, "the workflow has no parameter %q", clip(name))
			if near := Nearest(name, known); near != "" {
				problem.hint("did you mean %q?", near)
			}
		case slices.Contains(choices["Param.type"], p.Type) && !fits(given[name], p.Type):
			c.add(here, CodeWrongType, "parameter %s must be of type %s, not %s", name, p.Type, or(typeOf(given[name]), "null"))
		}
	}
	for _, name := range known {
		if _, ok := given[name]; !ok && c.def.Params[name].Default == nil {
			c.add(at, CodeMissing, "parameter %s has no default, and this start does not give it", clip(name)).
				hint("give the parameter a default, or set it in params here")
		}
	}
}

func (c *checker) upstream() {
	u := c.def.Upstream
	if u == nil {
		return
	}
	var root *place
	at := root.key("upstream")
	c.exactlyOne(at, "upstream", map[string]bool{"all": len(u.All) > 0, "any": len(u.Any) > 0})
	c.duration(at.key("window"), u.Window, Duration(60e9))
	c.terms(at.key("all"), u.All)
	c.terms(at.key("any"), u.Any)
	for _, name := range slices.Sorted(maps.Keys(c.def.Params)) {
		if c.def.Params[name].Default == nil {
			c.add(at, CodeMissing, "parameter %s has no default, and a start by upstream gives none", clip(name)).
				hint("give the parameter a default")
		}
	}
}

func (c *checker) terms(at *place, terms []Term) {
	seen := map[Term]bool{}
	c.meet(at, terms)
	for i, t := range terms {
		here := at.at(i)
		c.name(here.key("workflow"), "an upstream workflow", t.Workflow)
		c.nameIfSaid(here.key("namespace"), "a namespace", t.Namespace)
		c.nameIfSaid(here.key("node"), "a node", t.Node)
		c.choice(here.key("on"), t.On, "Term.on")
		c.choice(here.key("match"), t.Match, "Term.match")
		c.choice(here.key("take"), t.Take, "Term.take")
		switch {
		case t.Workflow == c.def.Workflow && t.Namespace == "":
			c.add(here, CodeCycle, "the workflow waits for itself: %s → %s", clip(t.Workflow), clip(t.Workflow))
		case seen[t]:
			c.add(here, CodeDuplicateName, "this term stands here twice")
		}
		seen[t] = true
	}
}

// meet refuses terms that could never be of one key.
func (c *checker) meet(at *place, terms []Term) {
	matches, each := map[string]bool{}, 0
	for _, t := range terms {
		matches[or(t.Match, "logical_date")] = true
		if t.Take == "each" && t.Match != "latest" {
			each++
		}
	}
	if matches["logical_date"] && matches["scheduled_at"] {
		c.add(at, CodeConflict, "some terms match by logical_date and others by scheduled_at: they have no key in common").hint("let all match by one of them, or by latest")
	}
	if each > 1 {
		c.add(at, CodeConflict, "%d terms take each run: a run can be made for each run of one workflow only", each)
	}
}

func (c *checker) concurrency() {
	k := c.def.Concurrency
	if k == nil {
		return
	}
	var root *place
	at := root.key("concurrency")
	c.number(at.key("max_runs"), k.MaxRuns, 1, maxRuns)
	c.number(at.key("max_queued"), k.MaxQueued, 1, maxRuns)
	c.choice(at.key("overflow"), string(k.Overflow), "Concurrency.overflow")
	if k.MaxRuns == 0 && !c.def.recurring() {
		c.add(at.key("max_runs"), CodeMissing, "concurrency does not say how many runs may go at once").
			hint("write max_runs: 1")
	}
}

func (c *checker) defaults() {
	d := c.def.Defaults
	if d == nil {
		return
	}
	var root *place
	at := root.key("defaults")
	c.duration(at.key("timeout"), d.Timeout, minTimeout)
	c.duration(at.key("queue_timeout"), d.QueueTimeout, minTimeout)
	c.nameIfSaid(at.key("queue"), "a queue", d.Queue)
	c.retry(at.key("retry"), d.Retry, nil)
}

package forecast

import (
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/cron"
)

// upstream turns terms into places. A term on a failure, or on a workflow of another namespace, is never met here: with all, nothing starts.
func (b *Builder) upstream(def *dag.Upstream) *Upstream {
	up := &Upstream{Any: len(def.Any) > 0}
	match := Latest
	for _, t := range append(def.All, def.Any...) {
		place, ok := b.codes[t.Workflow]
		if !ok || t.Namespace != "" || t.On == "failure" {
			if up.Any {
				continue
			}
			return nil
		}
		up.Terms = append(up.Terms, place)
		if of := matches[t.Match]; of != Latest {
			match = of
		}
	}
	if len(up.Terms) == 0 {
		return nil
	}
	up.Match = match
	return up
}

var matches = map[string]Match{"scheduled_at": ByInstant, "logical_date": ByDate, "latest": Latest}

// zoneOf is the zone of a definition's first schedule, in which its clock times are meant.
func (b *Builder) zoneOf(def *dag.Definition) *time.Location {
	if len(def.Schedules) > 0 {
		if zone, err := cron.LoadZone(def.Schedules[0].Timezone); err == nil {
			return zone
		}
	}
	return b.zone
}

// deadlineOf is the earliest of a definition's deadlines: some time after the instant that a run is for, or the next time a clock shows an hour.
func (b *Builder) deadlineOf(def *dag.Definition) func(time.Time) time.Time {
	var rules []func(time.Time) time.Time
	zone := b.zoneOf(def)
	for _, rule := range def.Alerts {
		if rule.On != "deadline" {
			continue
		}
		if rule.After > 0 {
			rules = append(rules, func(at time.Time) time.Time { return at.Add(time.Duration(rule.After)) })
			continue
		}
		clock, err := time.Parse("15:04", rule.At)
		if err != nil {
			continue
		}
		rules = append(rules, func(at time.Time) time.Time {
			local := at.In(zone)
			due := time.Date(local.Year(), local.Month(), local.Day(), clock.Hour(), clock.Minute(), 0, 0, zone)
			if !due.After(at) {
				due = time.Date(local.Year(), local.Month(), local.Day()+1, clock.Hour(), clock.Minute(), 0, 0, zone)
			}
			return due
		})
	}
	if len(rules) == 0 {
		return nil
	}
	return func(at time.Time) (due time.Time) {
		for _, rule := range rules {
			if d := rule(at); due.IsZero() || d.Before(due) {
				due = d
			}
		}
		return due
	}
}

package dag

import (
	"slices"
	"time"
)

// alertKinds are the events a workflow may ask to be told of (S34), with the keys each may have
// besides severity and notify.
var alertKinds = map[string][]string{
	"not_triggered": {"within", "by"},
	"late_start":    {"within"},
	"deadline":      {"after", "at"},
	"failed":        nil,
	"dead_letter":   nil,
	"failure_rate":  nil,
	"pool_full":     nil,
}

func (c *checker) alert(at *place, a AlertRule) {
	allowed, ok := alertKinds[a.On]
	if !ok {
		if a.On == "" {
			c.add(at.key("on"), CodeMissing, "an alert does not say what it is about")
		}
		c.choice(at.key("on"), a.On, "AlertRule.on")
		return
	}
	c.duration(at.key("within"), a.Within, Duration(time.Second))
	c.duration(at.key("after"), a.After, Duration(time.Second))
	c.clock(at.key("at"), a.At)
	c.clock(at.key("by"), a.By)
	c.choice(at.key("severity"), a.Severity, "AlertRule.severity")
	for i, name := range a.Notify {
		c.name(at.key("notify").at(i), "an alert channel", name)
	}
	said := map[string]bool{"within": a.Within != 0, "after": a.After != 0, "at": a.At != "", "by": a.By != ""}
	for _, key := range []string{"within", "after", "at", "by"} {
		if said[key] && !slices.Contains(allowed, key) {
			c.add(at.key(key), CodeConflict, "an alert on %s has no %s", a.On, key)
		}
	}
	switch a.On {
	case "deadline":
		c.exactlyOne(at, "an alert on deadline", map[string]bool{"after": said["after"], "at": said["at"]})
	case "not_triggered":
		c.exactlyOne(at, "an alert on not_triggered", map[string]bool{"within": said["within"], "by": said["by"]})
	}
	if a.On == "not_triggered" && a.Within != 0 && len(c.def.Schedules) == 0 {
		c.add(at.key("within"), CodeConflict, "without a schedule there is no instant to count from").hint(`write by: "06:00"`)
	}
}

// clock checks a local time of day.
func (c *checker) clock(at *place, s string) {
	if s == "" {
		return
	}
	if _, err := time.Parse("15:04", s); err != nil || len(s) != len("15:04") {
		c.add(at, CodeInvalidTime, "%q is not a time of day", clip(s)).hint(`write hours and minutes, as in "06:00"`).value(s)
	}
}

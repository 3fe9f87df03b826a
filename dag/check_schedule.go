package dag

import (
	"time"

	"github.com/ax-run/ax/internal/cron"
)

const minPeriod = Duration(time.Second)

func (c *checker) schedules() {
	var root *place
	seen := map[string]bool{}
	for i, s := range c.def.Schedules {
		at := root.key("schedules").at(i)
		switch {
		case s.Name == "" && len(c.def.Schedules) > 1:
			c.add(at, CodeMissing, "this schedule has no name").hint("where there are several, each needs a name: it is how its history is kept")
		case seen[s.Name]:
			c.add(at.key("name"), CodeDuplicateName, "two schedules are called %q", clip(s.Name)).value(s.Name)
		default:
			c.nameIfSaid(at.key("name"), "a schedule", s.Name)
		}
		seen[s.Name] = true
		c.schedule(at, &s)
	}
}

func (c *checker) schedule(at *place, s *Schedule) {
	one := c.exactlyOne(at, "a schedule", map[string]bool{
		"cron": s.Cron != "", "every": s.Every != 0, "delay": s.Delay != 0, "at": s.At != nil,
	})
	c.duration(at.key("every"), s.Every, minPeriod)
	c.duration(at.key("delay"), s.Delay, minPeriod)
	c.late(at, s)
	for i, use := range s.Calendars {
		c.name(at.key("calendars").at(i).key("name"), "a calendar", use.Name)
		c.choice(at.key("calendars").at(i).key("mode"), use.Mode, "CalendarUse.mode")
	}
	c.arguments(at, s.Params)
	zone, readable := c.zone(at, s), c.onlyCron(at, s)
	if !one || !c.bounds(at, s) || zone == nil {
		return
	}
	if s.Cron != "" && readable {
		c.cron(at, s, zone)
	}
	if s.Delay != 0 && s.Start != nil {
		c.delayFrom(at, s)
	}
	if s.At != nil && (s.Start != nil && s.At.Before(*s.Start) || s.End != nil && s.At.After(*s.End)) {
		c.neverFires(at.key("at"), "its one instant lies outside start and end")
	}
}

func (c *checker) late(at *place, s *Schedule) {
	c.choice(at.key("catchup"), string(s.Catchup), "Schedule.catchup")
	c.duration(at.key("catchup_window"), s.CatchupWindow, minPeriod)
	c.number(at.key("catchup_limit"), s.CatchupLimit, 1, 10_000)
	c.duration(at.key("misfire_threshold"), s.MisfireThreshold, minPeriod)
	c.duration(at.key("jitter"), s.Jitter, minTimeout)
	if s.Delay != 0 && s.Jitter != 0 {
		c.add(at.key("jitter"), CodeConflict, "a delay moves with its runs; there is nothing to spread")
	}
}

func (c *checker) bounds(at *place, s *Schedule) bool {
	before := c.count()
	c.instant(at.key("at"), s.At)
	c.instant(at.key("start"), s.Start)
	c.instant(at.key("end"), s.End)
	if c.count() > before {
		return false
	}
	if s.Start != nil && s.End != nil && !s.Start.Before(*s.End) {
		c.neverFires(at.key("end"), "its end is not after its start")
		return false
	}
	return true
}

func (c *checker) instant(at *place, instant *time.Time) {
	if instant == nil {
		return
	}
	if err := CheckInstant(*instant); err != nil {
		c.add(at, CodeInvalidTime, "%v", err).value(instant.Format(time.RFC3339))
	}
}

func (c *checker) zone(at *place, s *Schedule) *time.Location {
	zone, err := cron.LoadZone(or(s.Timezone, or(c.opt.DefaultTimezone, DefaultTimezone)))
	if err != nil {
		c.add(at.key("timezone"), CodeInvalidZone, "%v", err).value(s.Timezone)
		return nil
	}
	return zone
}

// onlyCron checks the keys that say how a cron expression is read, and refuses them where there is none.
func (c *checker) onlyCron(at *place, s *Schedule) bool {
	before := c.count()
	c.choice(at.key("dialect"), s.Dialect, "Schedule.dialect")
	c.choice(at.key("dst"), string(s.DST), "Schedule.dst")
	c.choice(at.key("dst_gap"), s.DSTGap, "Schedule.dst_gap")
	c.choice(at.key("dst_overlap"), s.DSTOverlap, "Schedule.dst_overlap")
	said := map[string]string{"dialect": s.Dialect, "dst": string(s.DST), "dst_gap": s.DSTGap, "dst_overlap": s.DSTOverlap}
	for _, key := range []string{"dialect", "dst", "dst_gap", "dst_overlap"} {
		switch {
		case said[key] == "":
		case s.Cron == "":
			c.add(at.key(key), CodeConflict, "%s says how a cron expression is read, and this schedule has none", key)
		case s.DST == DSTQuartz && (key == "dst_gap" || key == "dst_overlap"):
			c.add(at.key(key), CodeConflict, "%s refines dst: standard; dst: quartz is as it is", key).hint("remove one of them")
		}
	}
	return c.count() == before
}

// cron checks the expression itself, and that it fires between start and end.
func (c *checker) cron(at *place, s *Schedule, zone *time.Location) {
	parsed, err := cron.Parse(s.Cron, cron.Options{
		Dialect: s.Dialect, Zone: zone, DST: cron.DST(s.DST), Gap: s.DSTGap, Overlap: s.DSTOverlap,
	})
	if err != nil {
		c.add(at.key("cron"), CodeInvalidCron, "%v", err).value(s.Cron)
		return
	}
	if every, ok := parsed.Every(); ok {
		c.duration(at.key("cron"), Duration(every), minPeriod)
	}
	if parsed.Never() {
		c.neverFires(at.key("cron"), "no date matches it")
		return
	}
	if s.End == nil && s.Start == nil {
		return
	}
	from := s.Start
	if from == nil {
		from = new(s.End.Add(-time.Duration(maxDuration)))
	}
	switch next, ok := parsed.Next(from.Add(-time.Nanosecond)); {
	case s.End != nil && (!ok || next.After(*s.End)):
		c.neverFires(at.key("cron"), "it does not fire between start and end")
	case !ok || !Tellable(next):
		c.neverFires(at.key("cron"), "it does not fire from its start on")
	}
}

// delayFrom wants the first fire of a fixed delay, one delay after its start, to be within its end and the years that ax keeps.
func (c *checker) delayFrom(at *place, s *Schedule) {
	switch first := s.Start.Add(time.Duration(s.Delay)); {
	case s.End != nil && first.After(*s.End):
		c.neverFires(at.key("delay"), "its first instant, one delay after start, lies after end")
	case !Tellable(first):
		c.neverFires(at.key("delay"), "its first instant, one delay after start, lies after the year 9999")
	}
}

func (c *checker) neverFires(at *place, why string) {
	c.add(at, CodeNeverFires, "the schedule never fires: %s", why)
}

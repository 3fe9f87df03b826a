package planner

import (
	"slices"
	"strings"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/cron"
	"github.com/ax-run/ax/internal/store"
)

// Standing is how a schedule stands to a moment, by the spec that it had then (S10, S32).
type Standing string

// The standings.
const (
	// Expected: the schedule fires then.
	Expected Standing = "expected"
	// OffCalendar: it would, and its calendars exclude the date.
	OffCalendar Standing = "calendar"
	// Unplanned: it does not fire then.
	Unplanned Standing = "unplanned"
	// BeforeStart and AfterEnd: it would fire then, and its start or end says no.
	BeforeStart Standing = "before_start"
	AfterEnd    Standing = "after_end"
	// Unregistered: it would have fired then, and was registered only later.
	Unregistered Standing = "unregistered"
	// Edited: it fires then by a spec that it had before, or has since.
	Edited Standing = "edited"
	// Removed: it would have fired then, and was in the definition no more.
	Removed Standing = "removed"
	// InGap: the clocks went forward over the time, and its rule makes nothing up (S7).
	InGap Standing = "gap"
	// OtherPass: the clocks showed the time twice, and it fires at the other one.
	OtherPass Standing = "other_pass"
	// AfterRun: it has a fixed delay, whose instants are told by the ends of its runs (S4).
	AfterRun Standing = "after_run"
	// Unreadable: its spec of then cannot be read.
	Unreadable Standing = "unreadable"
)

// Past is what a schedule has been, from its first registration on.
type Past struct {
	eras       eras
	registered time.Time
	calendars  []store.Calendar
}

// NewPast reads a schedule's history, oldest first, which has one row at least. Calendars are those of today.
func NewPast(history []store.SpecRow, workflow int64, calendars []store.Calendar) *Past {
	return &Past{eras: newEras(history, workflow, calendars), registered: history[0].From, calendars: calendars}
}

// Outlook is how a schedule stands to a moment. Times are in its zone.
type Outlook struct {
	Standing Standing
	// At is the instant: when it fires, else the one asked about. Due is when its run starts: At, or later by the schedule's jitter.
	At, Due time.Time
	// Spec is that of then, the newest of all for one that was removed; From and Until bound the time in which it held, nil is no bound.
	Spec        dag.Schedule
	From, Until *time.Time
	// Changed is the registration that made the difference to Unregistered, Edited and Removed.
	Changed *time.Time
	// Other is the instant at which it fires where Standing is OtherPass.
	Other *time.Time
	// Gone says that the definition did not have it then.
	Gone bool
	// Calendar is the one that excludes the date, or, with Including, those of which none includes it.
	Calendar  string
	Including bool
	// Shift is the change of the clocks because of which the time asked about did not exist, or came twice.
	Shift *cron.Shift
	// Before and After are the nearest instants at which it is expected to fire; nil where there is none.
	Before, After *time.Time
	// Broken is why the spec cannot be read.
	Broken error
}

// Outlook tells how the schedule stands to a moment. It takes bounded time, however far away that is.
func (p *Past) Outlook(m Moment) Outlook {
	at, shift := p.instants(m)
	gap := shift != nil && shift.Forward()
	wanted := !gap || p.wants(at[0], m)
	for _, t := range at {
		if on, ok := p.fires(t, m.Within); ok && wanted {
			return p.neighbours(p.on(on, shift))
		}
	}
	o := p.missing(at[0], m)
	switch o.Shift = shift; {
	case o.Standing != Unplanned || shift == nil:
	case gap && wanted:
		o.Standing = InGap
	case !gap:
		p.otherPass(&o, m)
	}
	return p.neighbours(o)
}

// instants are those of a moment in the zone of the spec of then.
func (p *Past) instants(m Moment) (at []time.Time, shift *cron.Shift) {
	zone := p.zone(len(p.eras) - 1)
	at, shift = m.In(zone)
	if then := p.zone(p.index(at[0])); then != zone {
		at, shift = m.In(then)
	}
	return at, shift
}

// zone is that of an era, or of the nearest one before it that has a spec.
func (p *Past) zone(i int) *time.Location {
	for ; i >= 0; i-- {
		if zone, err := cron.LoadZone(p.eras[i].spec.Timezone); err == nil {
			return zone
		}
	}
	return time.UTC
}

// index is the era of an instant.
func (p *Past) index(t time.Time) int {
	for i := len(p.eras) - 1; i > 0; i-- {
		if !t.Before(p.eras[i].from) {
			return i
		}
	}
	return 0
}

// fires is the first instant at or within some time after t at which the schedule fires, or would but for its calendars.
func (p *Past) fires(t time.Time, within time.Duration) (time.Time, bool) {
	e := &p.eras[p.index(t)]
	if e.line == nil || t.Before(p.registered) {
		return time.Time{}, false
	}
	return e.has(e.line, t, within)
}

// has is the first instant of a line at or within some time after t, while the era lasts.
func (e *era) has(line *times, t time.Time, within time.Duration) (time.Time, bool) {
	at, ok := line.next(t.Add(-tick))
	return at, ok && at.Before(t.Add(max(within, tick))) && (e.until.IsZero() || at.Before(e.until))
}

// on is the outlook of an instant at which the schedule fires, or would.
func (p *Past) on(at time.Time, shift *cron.Shift) Outlook {
	i := p.index(at)
	o := p.outlook(i, at)
	o.Standing, o.Due, o.Shift = Expected, p.eras[i].line.due(at), shift
	if p.eras[i].line.excludes(at) {
		o.Standing = OffCalendar
		o.Calendar, o.Including = p.excluding(o.Spec, dayOf(at))
	}
	return o
}

// outlook begins one with the spec of an era.
func (p *Past) outlook(i int, at time.Time) Outlook {
	o := Outlook{Standing: Unplanned, At: at.In(p.zone(i)), Due: at, Broken: p.eras[i].broken}
	o.Gone = p.eras[i].spec.Timezone == "" && o.Broken == nil
	for s := i; s >= 0; s-- {
		if o.Spec = p.eras[s].spec; o.Spec.Timezone != "" {
			break
		}
	}
	if from := p.eras[i].from; !from.IsZero() {
		o.From = &from
	}
	if until := p.eras[i].until; !until.IsZero() {
		o.Until = &until
	}
	return o
}

// excluding names the calendar that excludes a date; including says that these are calendars of which none includes it.
func (p *Past) excluding(spec dag.Schedule, on day) (name string, including bool) {
	var wanted []string
	for _, use := range spec.Calendars {
		i := slices.IndexFunc(p.calendars, func(c store.Calendar) bool { return c.Name == use.Name })
		if use.Mode == "include" {
			wanted = append(wanted, use.Name)
		} else if i >= 0 && slices.ContainsFunc(p.calendars[i].Dates, func(at time.Time) bool { return dayOf(at) == on }) {
			return use.Name, false
		}
	}
	return strings.Join(wanted, ", "), true
}

// missing is the outlook of an instant at which the schedule does not fire: why not.
func (p *Past) missing(t time.Time, m Moment) Outlook {
	i := p.index(t)
	e := &p.eras[i]
	o := p.outlook(i, t)
	switch {
	case t.Before(p.registered):
		if e.line != nil {
			if at, ok := e.has(e.line, t, m.Within); ok {
				o.Standing, o.At, o.Changed = Unregistered, at, &p.registered
			}
		}
		return o
	case e.broken != nil:
		o.Standing = Unreadable
		return o
	case e.line == nil && e.spec.Delay > 0:
		o.Standing = AfterRun
		return o
	case e.line != nil:
		if at, standing := e.outside(t, m.Within); standing != Unplanned {
			o.Standing, o.At = standing, at
			return o
		}
	}
	p.elsewhen(&o, i, m)
	return o
}

// outside tells whether only the start or the end of a schedule keeps it from firing.
func (e *era) outside(t time.Time, within time.Duration) (time.Time, Standing) {
	unbound := *e.line
	unbound.start, unbound.end = nil, nil
	at, ok := e.has(&unbound, t, within)
	switch {
	case ok && e.line.start != nil && at.Before(*e.line.start):
		return at, BeforeStart
	case ok && e.line.end != nil && at.After(*e.line.end):
		return at, AfterEnd
	}
	return t, Unplanned
}

// elsewhen tells whether the schedule fires at the moment by the spec that it had before, or by the one that it has had since.
func (p *Past) elsewhen(o *Outlook, i int, m Moment) {
	for _, other := range []int{i - 1, i + 1} {
		if other < 0 || other >= len(p.eras) || p.eras[other].line == nil {
			continue
		}
		line := p.eras[other].line
		at, _ := m.In(line.zone)
		on, ok := (&era{}).has(line, at[0], m.Within)
		if !ok {
			continue
		}
		o.Standing, o.Changed = Edited, &p.eras[max(i, other)].from
		if o.At = on.In(o.At.Location()); other < i && o.Gone {
			o.Standing = Removed
		}
		return
	}
}

// wants reports whether the schedule would fire at a wall clock's time that a change of the clocks at an instant left out.
func (p *Past) wants(at time.Time, m Moment) bool {
	e := &p.eras[p.index(at)]
	if e.line == nil || e.line.cron == nil {
		return false
	}
	spec := e.spec
	spec.Timezone, spec.Calendars = time.UTC.String(), nil // where every time exists
	line, err := Timetable{Spec: spec, Anchor: e.line.anchor}.line()
	if err != nil {
		return false
	}
	line.start, line.end = nil, nil
	_, ok := (&era{}).has(line, m.Wall, m.Within)
	return ok
}

// otherPass tells whether the schedule fires at the other instant at which the clocks show the same time.
func (p *Past) otherPass(o *Outlook, m Moment) {
	both, _ := cron.Instants(cron.Wall(o.At), o.At.Location())
	for _, t := range both {
		if at, ok := p.fires(t, m.Within); ok && !t.Equal(o.At) {
			o.Standing, o.Other = OtherPass, &at
		}
	}
}

// farBack is how far back an instant before another is looked for.
const farBack = 400 * 24 * time.Hour

// neighbours fills in the nearest instants before and after.
func (p *Past) neighbours(o Outlook) Outlook {
	i := p.index(o.At)
	for j := i; j >= 0 && o.Before == nil; j-- {
		e := &p.eras[j]
		until := o.At.Add(-tick)
		if !e.until.IsZero() {
			until = earliest(until, e.until.Add(-tick))
		}
		from := latest(latest(e.from, p.registered), o.At.Add(-farBack)).Add(-tick)
		if e.line == nil || !from.Before(until) {
			continue
		}
		if at, ok := e.line.next(e.line.lastWanted(from, until, 1)); ok && !at.After(until) && !e.line.excludes(at) {
			o.Before = &at
		}
	}
	for j := i; j < len(p.eras) && o.After == nil; j++ {
		e := &p.eras[j]
		if e.line == nil {
			continue
		}
		at := e.line.list(latest(latest(o.At, p.registered), e.from.Add(-tick)), 1)
		if len(at) > 0 && (e.until.IsZero() || at[0].Before(e.until)) {
			o.After = &at[0]
		}
	}
	return o
}

package api

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/planner"
)

// scheduleStep tells whether anything was to start the workflow at all.
func (f *whyFacts) scheduleStep() finding {
	switch {
	case f.line != nil:
		return f.lineStep().by(f.specEvidence())
	case f.upstream != nil:
		return f.upstreamStep()
	case f.run != nil:
		return fine(Triggered, f.trigger())
	}
	return off(NotPlanned, "it has no schedule, and waits for no other workflow").because(
		fmt.Sprintf("%s was not planned at %s: it has no schedule, and starts only when it is asked to", f.workflow.Code, f.clock.at(f.clock.base)))
}

// trigger says who started the run, where no schedule did.
func (f *whyFacts) trigger() string {
	text := fmt.Sprintf("the run was started by %s (trigger %s)", f.run.Actor, f.run.Trigger)
	if f.run.RunAt != nil {
		text = fmt.Sprintf("%s asked in advance for a run (trigger %s)", f.run.Actor, f.run.Trigger)
	}
	if f.asked != nil {
		text = "no schedule fires then; " + text
	}
	return text
}

func (f *whyFacts) specEvidence() Evidence {
	o := &f.line.outlook
	e := Evidence{Schedule: f.line.name, SpecFrom: utcOr(o.From), SpecUntil: utcOr(o.Until)}
	if spec, err := json.Marshal(o.Spec); err == nil && o.Broken == nil {
		e.Spec = spec
	}
	return e
}

// lineStep tells how the schedule stood to the moment, by the spec that it had then.
func (f *whyFacts) lineStep() finding {
	o, code, at := &f.line.outlook, f.workflow.Code, f.clock.at(f.line.outlook.At)
	head := fmt.Sprintf("%s was not planned at %s: ", code, f.clock.at(f.clock.base))
	if f.slot.Fill != nil && f.run != nil && o.Standing != planner.Expected && o.Standing != planner.OffCalendar {
		return fine(Planned, fmt.Sprintf("it did not have that time then; by now it has a run, which was made up: %s", reading(o.Spec)))
	}
	switch o.Standing {
	case planner.Expected:
		return f.planned()
	case planner.OffCalendar:
		return f.offCalendar()
	case planner.Unreadable:
		return off(InvalidSchedule, oneLine(o.Broken.Error())).because(
			fmt.Sprintf("%s %s at %s: its schedule %s cannot be read: %s", code, f.not("fire"), at, f.line.name, oneLine(o.Broken.Error())))
	case planner.BeforeStart:
		return off(OutsideWindow, "it begins at "+f.clock.brief(*o.Spec.Start)).because(
			fmt.Sprintf("%s %s at %s: its schedule begins only at %s", code, f.not("run"), at, f.clock.brief(*o.Spec.Start)))
	case planner.AfterEnd:
		return off(OutsideWindow, "it ended at "+f.clock.brief(*o.Spec.End)).because(
			fmt.Sprintf("%s %s at %s: its schedule ended at %s", code, f.not("run"), at, f.clock.brief(*o.Spec.End)))
	case planner.Unregistered:
		return off(RegisteredAfter, "it was registered at "+f.clock.brief(*o.Changed)).because(fmt.Sprintf(
			"%s did not run at %s: it was registered only at %s, and registering never makes up the past", code, at, f.clock.brief(*o.Changed)), f.fill())
	case planner.Removed:
		return off(ChangedAfter, "it was removed at "+f.clock.brief(*o.Changed)).because(fmt.Sprintf(
			"%s %s at %s: the schedule that has that time (%s) was removed from its definition at %s", code, f.not("run"), at, reading(o.Spec), f.clock.brief(*o.Changed)))
	case planner.Edited:
		return f.edited()
	case planner.InGap:
		return off(DSTGap, f.shiftText()+"; its rule fires for no time that does not exist").because(fmt.Sprintf(
			"%s %s at %s: %s, and its daylight saving rule makes nothing up for times that do not exist%s", code, f.not("run"), f.given(), f.shiftText(), f.nearest()))
	case planner.OtherPass:
		return off(DSTFold, "the clocks showed that time twice, and it fires at the other one").because(head + fmt.Sprintf(
			"the clocks showed that time twice, and its daylight saving rule fires at %s", f.clock.brief(*o.Other)))
	case planner.AfterRun:
		return f.afterRun()
	}
	text := "its schedule is " + reading(o.Spec)
	if o.Gone {
		text = fmt.Sprintf("its schedule (%s) was removed at %s", reading(o.Spec), f.clock.brief(*o.From))
	}
	if o.Shift != nil && o.Shift.Forward() {
		head = fmt.Sprintf("%s was not planned at %s: %s, and ", code, f.given(), f.shiftText())
	}
	return off(NotPlanned, text).because(head + text + f.elsewhere() + f.nearest())
}

// not is a verb denied, of what has come or is to come.
func (f *whyFacts) not(verb string) string {
	if f.clock.base.After(f.now) {
		return "will not " + verb
	}
	return "did not " + verb
}

// given is the time that was asked about, where the clocks never showed it.
func (f *whyFacts) given() string {
	return fmt.Sprintf("%s (%s)", f.moment.Wall.Format("15:04 on Mon 2 Jan 2006"), f.clock.zone)
}

// shiftText tells how the clocks changed.
func (f *whyFacts) shiftText() string {
	s := f.line.outlook.Shift
	if s.Forward() {
		return fmt.Sprintf("clocks went forward from %s to %s", s.Was.Format("15:04"), s.At.Format("15:04"))
	}
	return fmt.Sprintf("clocks went back from %s to %s", s.Was.Format("15:04"), s.At.Format("15:04"))
}

// planned is a moment at which the schedule is expected to fire.
func (f *whyFacts) planned() finding {
	o := &f.line.outlook
	text := fmt.Sprintf("it fires at %s: %s", f.clock.at(o.At), reading(o.Spec))
	reason := Planned
	switch {
	case o.Shift != nil && o.Shift.Forward():
		reason, text = DSTGap, text+"; the time asked about did not exist: "+f.shiftText()
	case o.Shift != nil:
		reason, text = DSTFold, text+", one of two times that look the same: "+f.shiftText()
	}
	if o.Until != nil {
		text += fmt.Sprintf("; so it was until %s, when it was edited", f.clock.brief(*o.Until))
	}
	switch {
	case f.others == 1:
		text += "; another schedule of it fires then too"
	case f.others > 1:
		text += fmt.Sprintf("; %d more schedules of it fire then too", f.others)
	}
	return fine(reason, text)
}

func (f *whyFacts) offCalendar() finding {
	o := &f.line.outlook
	date := o.At.Format(time.DateOnly)
	text := fmt.Sprintf("calendar %s excludes %s", o.Calendar, date)
	if o.Including {
		text = fmt.Sprintf("calendar %s does not include %s", o.Calendar, date)
	}
	if f.slot.Fire != nil || f.slot.Fill != nil { // the ledger says what its calendars said then
		return fine(Planned, fmt.Sprintf("it fires at %s: %s; by now %s", f.clock.at(o.At), reading(o.Spec), text))
	}
	return off(CalendarExcluded, text).because(fmt.Sprintf("%s %s at %s: %s%s", f.workflow.Code, f.not("run"), f.clock.at(o.At), text, f.nextText()))
}

func (f *whyFacts) edited() finding {
	o := &f.line.outlook
	text := fmt.Sprintf("it has that time only since it was edited at %s; then it was %s", f.clock.brief(*o.Changed), reading(o.Spec))
	if o.From != nil && o.Changed.Equal(*o.From) {
		text = fmt.Sprintf("it had that time until it was edited at %s, and is %s since", f.clock.brief(*o.Changed), reading(o.Spec))
	}
	return off(ChangedAfter, text).because(fmt.Sprintf("%s was not planned at %s: %s%s", f.workflow.Code, f.clock.at(o.At), text, f.nearest()))
}

// afterRun is a fixed delay, whose instants are told by the ends of its runs.
func (f *whyFacts) afterRun() finding {
	o := &f.line.outlook
	text := "it fires " + reading(o.Spec)
	switch next := f.line.next; {
	case f.clock.base.Before(f.now):
		return off(NotPlanned, text).because(fmt.Sprintf("%s did not fire at %s: %s%s", f.workflow.Code, f.clock.at(f.clock.base), text, f.nearest()))
	case next == nil:
		text += ", and its last run goes on"
	default:
		text += ", next at " + f.clock.brief(*next)
	}
	return holds(DelayPending, text).because(fmt.Sprintf("It cannot be told yet whether %s fires at %s: %s", f.workflow.Code, f.clock.at(f.clock.base), text))
}

// elsewhere explains a time that was given with another offset than that of the schedule's zone.
func (f *whyFacts) elsewhere() string {
	if f.asked == nil {
		return ""
	}
	_, there := f.asked.Zone()
	if _, here := f.asked.In(f.clock.zone).Zone(); here == there {
		return ""
	}
	return fmt.Sprintf(" (%s is %s there)", f.asked.Format("15:04 -07:00"), f.clock.hour(f.asked.In(f.clock.zone)))
}

// nearest names the expected instants beside.
func (f *whyFacts) nearest() string {
	switch o := &f.line.outlook; {
	case o.Before != nil && o.After != nil:
		return fmt.Sprintf("; the nearest are %s and %s", f.clock.day(*o.Before), f.clock.day(*o.After))
	case o.Before != nil:
		return "; the last was " + f.clock.day(*o.Before)
	}
	return f.nextText()
}

func (f *whyFacts) nextText() string {
	if next := f.line.outlook.After; next != nil {
		return "; the next is " + f.clock.day(*next)
	}
	return ""
}

// fill is the command line that makes the run that the schedule did not: a backfill of its slot.
func (f *whyFacts) fill() string {
	at := f.line.outlook.At.Format(time.RFC3339)
	text := fmt.Sprintf("ax backfill create %s --from %s --to %s", f.workflow.Code, at, at)
	if f.line.name != dag.DefaultSchedule {
		text += " --schedule " + f.line.name
	}
	return text
}

// byHand is the command line that makes a run for the moment.
func (f *whyFacts) byHand() string {
	at := f.clock.base
	if f.line != nil {
		at = f.line.outlook.At
	}
	return fmt.Sprintf("ax trigger %s --logical-time %s", f.workflow.Code, at.Format(time.RFC3339))
}

package api

import (
	"fmt"
	"time"

	"github.com/ax-run/ax/internal/store"
)

const (
	// lateFire is how late a fire is told as late.
	lateFire = 15 * time.Second
	// plannedSoon is within which a server decides a due fire, as a rule.
	plannedSoon = 5 * time.Second
)

// firedStep tells what became of the expected fire (S9, S10).
func (f *whyFacts) firedStep() finding {
	switch {
	case f.line == nil && f.run != nil && f.run.RunAt != nil:
		return f.delayedStep()
	case f.line == nil:
		return f.startedStep()
	}
	return f.slotStep().by(f.slotEvidence())
}

func (f *whyFacts) slotEvidence() Evidence {
	e := Evidence{Schedule: f.line.name}
	for _, row := range []struct {
		from *store.FireRow
		to   **Fire
	}{{f.slot.Fire, &e.Fire}, {f.slot.Fill, &e.Fill}} {
		if row.from != nil {
			v := fireView(*row.from)
			v.Schedule = f.line.name
			*row.to = &v
		}
	}
	return e
}

// startedStep tells when a run that no schedule fired was made.
func (f *whyFacts) startedStep() finding {
	if f.run == nil {
		return off(NoRecord, "its run is not kept any more").because(
			fmt.Sprintf("%s started for %s, and its run is not kept any more", f.workflow.Code, f.upstream.date))
	}
	return fine(WasFired, "the run was made at "+f.clock.brief(f.run.CreatedAt))
}

func (f *whyFacts) slotStep() finding {
	at, row, code := f.clock.at(f.line.outlook.At), f.slot.Fire, f.workflow.Code
	switch {
	case f.slot.Fill != nil && f.run != nil:
		return fine(MadeUp, fmt.Sprintf("%s; a run was made up for it at %s", f.firstCause(), f.clock.brief(f.slot.Fill.CreatedAt)))
	case row == nil:
		return f.unrecorded()
	case row.Result == string(store.Fired) && f.run == nil:
		return off(NoRecord, "its run is not kept any more").because(fmt.Sprintf("%s ran at %s, and its run is not kept any more", code, at))
	case row.Result == string(store.Fired):
		return f.firedAt(row)
	case row.Result == string(store.Coalesced):
		return f.coalesced(row)
	case row.Result == string(store.FailedFire):
		return off(FireError, "its run could not be made: "+oneLine(row.Reason)).because(
			fmt.Sprintf("%s did not run at %s: its run could not be made: %s", code, at, oneLine(row.Reason)), f.fill())
	}
	return f.skipped(row)
}

func (f *whyFacts) firedAt(row *store.FireRow) finding {
	if late := f.late(row); late >= lateFire {
		return fine(FiredLate, fmt.Sprintf("fired %s late, at %s: no server had planned it before", lasting(late), f.clock.brief(row.CreatedAt)))
	}
	text := "fired at " + f.clock.brief(row.CreatedAt.Truncate(time.Second))
	if jitter := f.line.outlook.Due.Sub(f.line.outlook.At); jitter > 0 {
		text += fmt.Sprintf(", %s after its instant because of its jitter", lasting(jitter))
	}
	return fine(WasFired, text)
}

// late is how much later than it was due a fire was decided.
func (f *whyFacts) late(row *store.FireRow) time.Duration {
	return row.CreatedAt.Sub(f.line.outlook.Due)
}

// unrecorded is an expected fire of which the ledger has nothing.
func (f *whyFacts) unrecorded() finding {
	o, code := &f.line.outlook, f.workflow.Code
	at, paused := f.clock.at(o.At), f.pausedText()
	overdue := f.now.Sub(o.Due)
	switch next := f.line.next; {
	case f.slot.PrunedUntil != nil && !o.At.After(*f.slot.PrunedUntil):
		text := fmt.Sprintf("the ledger up to %s is not kept any more", f.clock.brief(*f.slot.PrunedUntil))
		return off(NoRecord, text).because(fmt.Sprintf("%s has no record of %s: %s", code, at, text))
	case overdue < 0 && f.workflow.PausedAt != nil:
		return holds(Paused, "it will be skipped: "+paused).because(
			fmt.Sprintf("%s is not due yet at %s, and will be skipped then: %s", code, at, paused), "ax resume "+code)
	case overdue < plannedSoon:
		text := fmt.Sprintf("it is due in %s", lasting(-overdue))
		if o.At.Before(f.now) {
			text += fmt.Sprintf(": its jitter starts it at %s", f.clock.brief(o.Due))
		}
		return holds(NotYetDue, text).because(fmt.Sprintf("%s has not run at %s yet: %s", code, at, text))
	case next != nil && !next.After(o.Due):
		text := fmt.Sprintf("no server has planned it, and it is %s overdue", lasting(overdue))
		return off(MissedNoServer, text).because(fmt.Sprintf("%s has not run at %s: %s; when a server does, its catchup (%s) says what becomes of it",
			code, at, text, o.Spec.Catchup), "ax server")
	}
	return off(NoRecord, "the ledger has no row of it").because(
		fmt.Sprintf("%s has no record of %s, although %s fires then: the ledger has no row of it", code, at, reading(o.Spec)), f.fill())
}

// coalesced is a fire that the run of a later one represents.
func (f *whyFacts) coalesced(row *store.FireRow) finding {
	cause := fmt.Sprintf("no server planned it until %s, and with catchup: latest only the newest missed fire runs", f.clock.brief(row.CreatedAt))
	if f.slot.Into != nil {
		cause += ", that of " + f.clock.brief(f.slot.Into.ScheduledAt)
	}
	if f.run != nil {
		cause += fmt.Sprintf(" (run %s, which %s)", f.run.ID, f.runIs())
	}
	return off(CoalescedInto, cause).because(fmt.Sprintf("%s did not run at %s by itself: %s", f.workflow.Code, f.clock.at(f.line.outlook.At), cause), f.fill())
}

// skipReasons are those of the ledger as people are told them.
var skipReasons = map[string]Reason{
	store.SkipPaused: SkippedPaused, store.SkipOverlap: SkippedOverlap, store.SkipCatchup: SkippedCatchup, store.SkipLate: SkippedLate,
	store.SkipCalendar: SkippedCalendar, store.SkipEdited: SkippedEdited,
}

func (f *whyFacts) skipped(row *store.FireRow) finding {
	cause := f.firstCause()
	do := f.fill()
	switch {
	case row.Reason == store.SkipPaused && f.workflow.PausedAt != nil:
		do = "ax resume " + f.workflow.Code + " --catchup latest"
	case row.Reason == store.SkipCalendar: // a backfill goes by the calendars, too
		do = f.byHand()
	}
	verdict := fmt.Sprintf("%s did not run at %s: %s", f.workflow.Code, f.clock.at(f.line.outlook.At), cause)
	if row.Reason == store.SkipCalendar {
		verdict += f.nextText()
	}
	return off(skipReasons[row.Reason], cause).because(verdict, do)
}

// firstCause says why there was no run when the instant came.
func (f *whyFacts) firstCause() string {
	row := f.slot.Fire
	if row == nil {
		return "the schedule was not there yet"
	}
	o := &f.line.outlook
	when := f.clock.brief(row.CreatedAt)
	switch row.Reason {
	case store.SkipPaused:
		return f.pausedText()
	case store.SkipOverlap:
		return f.overlapText(row)
	case store.SkipCatchup:
		if o.Spec.Catchup == "all" {
			return fmt.Sprintf("no server planned it until %s, and more fires were missed than its catchup_limit of %d", when, o.Spec.CatchupLimit)
		}
		return fmt.Sprintf("no server planned it until %s, and with catchup: %s what was missed is not made up", when, o.Spec.Catchup)
	case store.SkipLate:
		return fmt.Sprintf("no server planned it until %s, and that was beyond its catchup_window of %s", when, lasting(time.Duration(o.Spec.CatchupWindow)))
	case store.SkipCalendar:
		if o.Calendar == "" {
			return fmt.Sprintf("its calendars excluded %s when it came", o.At.Format(time.DateOnly))
		}
		if o.Including {
			return fmt.Sprintf("calendar %s does not include %s", o.Calendar, o.At.Format(time.DateOnly))
		}
		return fmt.Sprintf("calendar %s excludes %s", o.Calendar, o.At.Format(time.DateOnly))
	case store.SkipEdited:
		return fmt.Sprintf("the schedule was changed or removed at %s, before any server had planned it", when)
	}
	if row.Result == string(store.FailedFire) {
		return "its run could not be made: " + oneLine(row.Reason)
	}
	return "no server planned it until " + when
}

// pausedText says how the workflow is or was paused.
func (f *whyFacts) pausedText() string {
	w := &f.workflow
	if w.PausedAt == nil || f.slot.Fire != nil && w.PausedAt.After(f.slot.Fire.CreatedAt) {
		return "it was paused then, and has been resumed since"
	}
	text := fmt.Sprintf("it is paused since %s by %s", f.clock.brief(*w.PausedAt), w.PausedBy)
	if w.PauseReason != "" {
		text += fmt.Sprintf(" (%s)", oneLine(w.PauseReason))
	}
	return text
}

// overlapText says which runs were in the way.
func (f *whyFacts) overlapText(row *store.FireRow) string {
	limit := "too many of its runs waited already"
	if f.workflow.MaxRuns != nil {
		limit = fmt.Sprintf("it may run %d at a time (overflow: %s)", *f.workflow.MaxRuns, f.workflow.Overflow)
	}
	var running []string
	queued := 0
	for _, r := range f.active {
		if r.StartedAt == nil || r.StartedAt.After(row.CreatedAt) {
			queued++
			continue
		}
		running = append(running, fmt.Sprintf("run %s (started at %s)", r.ID, f.clock.brief(*r.StartedAt)))
	}
	if len(running) > 0 {
		limit += fmt.Sprintf(", and %s went on", names(running, "and"))
	}
	if queued > 0 {
		limit += fmt.Sprintf(", and %s waited already", plural(queued, "run"))
	}
	return limit
}

// delayedStep is about a run that was asked for in advance (S4).
func (f *whyFacts) delayedStep() finding {
	head := fmt.Sprintf("%s was asked by %s to run at %s", f.workflow.Code, f.run.Actor, f.clock.at(*f.run.RunAt))
	switch b := f.run.BlockedBy; {
	case b != nil && b.Reason == NotYetDue:
		return holds(NotYetDue, b.Message).because(fmt.Sprintf("%s, in %s", head, lasting(f.run.RunAt.Sub(f.now))))
	case b != nil:
		return holds(b.Reason, b.Message).because(head+", and waits: "+b.Message, "ax resume "+f.workflow.Code)
	case f.run.State == "canceled":
		return off(WasCanceled, "it was canceled before it started").because(head + ", and that was canceled before it started")
	}
	return off(FireError, oneLine(f.run.Reason)).because(head + ", and its run could not be made: " + oneLine(f.run.Reason))
}

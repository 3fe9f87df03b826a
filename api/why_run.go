package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/ax-run/ax/dag/progress"
)

// runStep tells how the run is, and decides where it is not a node that matters.
func (f *whyFacts) runStep() finding {
	if f.run == nil {
		return finding{WhyStep: WhyStep{State: stepNotReached}}
	}
	got := f.runFinding()
	return got.by(Evidence{Run: &f.run.Run, BlockedBy: f.run.BlockedBy})
}

func (f *whyFacts) runFinding() finding {
	r := f.run
	head := f.head()
	switch state := progress.State(r.State); {
	case state == progress.Skipped:
		return off(SkippedOverlap, "a newer run took its place before it started").because(
			head+fmt.Sprintf(", but a newer run took its place before it started (overflow: %s)", f.workflow.Overflow), f.byHand())
	case state == progress.Canceled && r.TimedOut, state == progress.Failed && r.TimedOut:
		return off(TimedOut, fmt.Sprintf("stopped by its timeout at %s, %s; %s", f.clock.brief(*r.FinishedAt), f.took(), f.counts()))
	case state == progress.Canceled:
		return off(WasCanceled, "canceled "+f.canceledText()).because(head+" and was canceled "+f.canceledText(), "ax rerun "+r.ID)
	case state == progress.Failed:
		return off(FailedNode, fmt.Sprintf("failed at %s, %s; %s", f.clock.brief(*r.FinishedAt), f.took(), f.counts()))
	case state == progress.Succeeded && r.Warnings > 0:
		return fine(WithWarnings, fmt.Sprintf("succeeded at %s, %s, with %s tolerated; %s", f.clock.brief(*r.FinishedAt), f.took(), plural(r.Warnings, "failure"), f.counts()))
	case state == progress.Succeeded:
		return fine(RunSucceeded, fmt.Sprintf("succeeded at %s, %s; %s", f.clock.brief(*r.FinishedAt), f.took(), f.counts()))
	case r.BlockedBy != nil:
		text := r.BlockedBy.Message
		if len(r.BlockedBy.Runs) > 0 {
			text += ": " + names(withWord("run", r.BlockedBy.Runs), "and")
		}
		do := "ax run " + r.ID
		if r.BlockedBy.Reason == Paused {
			do = "ax release " + r.ID
		}
		return holds(r.BlockedBy.Reason, text).because(head+" and waits: "+text, do)
	case state == progress.Queued:
		return holds(QueuedMaxActive, "it starts next").because(head + ", and its run starts next")
	case r.Canceling:
		return holds(WasCanceled, "it is being canceled").because(head + " and is being canceled")
	}
	got := fine(NowRunning, fmt.Sprintf("running since %s; %s", f.clock.brief(*r.StartedAt), f.counts()))
	if f.node != nil && (f.node.BlockedBy != nil || f.node.State == string(progress.Queued)) {
		got.State = stepWaits
	}
	return got
}

// head begins the sentence about a run.
func (f *whyFacts) head() string {
	r, code := f.run, f.workflow.Code
	verb := "fired"
	if progress.State(r.State).Terminal() && r.StartedAt != nil {
		verb = "ran"
	}
	switch {
	case f.line == nil && f.upstream != nil:
		return fmt.Sprintf("%s started at %s for %s, when %s had completed,", code, f.clock.brief(r.CreatedAt), f.upstream.date, f.upstream.took())
	case f.line == nil:
		return fmt.Sprintf("%s was started by %s at %s", code, r.Actor, f.clock.at(r.CreatedAt))
	case f.slot.Fill != nil:
		return fmt.Sprintf("%s did not run at %s at first (%s); a run was made up for it at %s,", code, f.clock.at(f.line.outlook.At), f.firstCause(), f.clock.brief(f.slot.Fill.CreatedAt))
	}
	o := &f.line.outlook
	if f.slot.Fire != nil && f.late(f.slot.Fire) >= lateFire {
		return fmt.Sprintf("%s %s %s late, at %s instead of %s (no server had planned it before),", code, verb, lasting(f.late(f.slot.Fire)),
			f.clock.brief(f.slot.Fire.CreatedAt), f.clock.at(o.At))
	}
	if o.Shift != nil && o.Shift.Forward() && !f.moment.Wall.IsZero() {
		return fmt.Sprintf("%s %s at %s, because %s did not exist (%s),", code, verb, f.clock.at(o.At), f.moment.Wall.Format("15:04"), f.shiftText())
	}
	return fmt.Sprintf("%s %s at %s", code, verb, f.clock.at(o.At))
}

// took is how long the run took.
func (f *whyFacts) took() string {
	if f.run.DurationMS == nil {
		return "before it started"
	}
	return "after " + lasting(time.Duration(*f.run.DurationMS)*time.Millisecond)
}

// runIs is the run's state as a verb.
func (f *whyFacts) runIs() string {
	if s := progress.State(f.run.State); s.Terminal() {
		return ended(s)
	}
	return "is " + f.run.State
}

// canceledText says when, by whom and why the run was canceled.
func (f *whyFacts) canceledText() string {
	text := ""
	if f.run.FinishedAt != nil {
		text = "at " + f.clock.brief(*f.run.FinishedAt)
	}
	if f.run.CanceledBy != "" {
		text += " by " + f.run.CanceledBy
	}
	if f.run.CancelReason != "" {
		text += fmt.Sprintf(" (%s)", oneLine(f.run.CancelReason))
	}
	return strings.TrimSpace(text)
}

// counts is how many nodes are in which state, in the order of their lives.
func (f *whyFacts) counts() string {
	of := make(map[progress.State]int)
	for i := range f.nodes {
		of[progress.State(f.nodes[i].State)]++
	}
	var list []string
	for _, s := range []progress.State{progress.Succeeded, progress.Failed, progress.UpstreamFailed, progress.Canceled, progress.Skipped,
		progress.Running, progress.Queued, progress.Retrying, progress.Waiting, progress.Pending} {
		if of[s] > 0 {
			list = append(list, fmt.Sprintf("%d %s", of[s], strings.ReplaceAll(string(s), "_", " ")))
		}
	}
	return fmt.Sprintf("of %s %s", plural(len(f.nodes), "node"), names(list, "and"))
}

// outcome is the sentence about a run that started, with its node that matters.
func (f *whyFacts) outcome() (verdict string, do []string) {
	if f.forced {
		return f.nodeVerdict()
	}
	r, head := f.run, f.head()
	rerun := []string{"ax rerun " + r.ID}
	switch state := progress.State(r.State); {
	case r.TimedOut && state.Terminal():
		verdict = fmt.Sprintf("%s and was stopped by its timeout %s", head, f.took())
		if f.node != nil {
			verdict += fmt.Sprintf(", when node %s %s", f.node.Node, f.progressText())
		}
		return verdict, rerun
	case state == progress.Failed:
		verdict = fmt.Sprintf("%s and failed %s", head, f.took())
		if f.node != nil {
			verdict += ": " + f.nodeCause()
		}
		return verdict, rerun
	case state == progress.Succeeded:
		verdict = fmt.Sprintf("%s and succeeded %s", head, f.took())
		if f.node != nil {
			verdict += fmt.Sprintf(", although %s, which is tolerated", f.nodeCause())
		}
		return verdict, nil
	case f.node == nil:
		return head + " and is running", nil
	}
	text, do := f.nodeNow()
	return head + " and " + text, do
}

func withWord(word string, list []string) []string {
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = word + " " + one
	}
	return out
}

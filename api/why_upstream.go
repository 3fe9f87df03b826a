package api

import (
	"fmt"
	"slices"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// upstreamStep tells how far a workflow is that starts when others complete (S12).
func (f *whyFacts) upstreamStep() finding {
	u, code := f.upstream, f.workflow.Code
	e := Evidence{UpstreamSet: u.set}
	if u.set == nil {
		text := fmt.Sprintf("nothing that it waits for has completed for %s: %s", u.date, u.lackText())
		return holds(UpstreamNotMet, text).by(e).because(fmt.Sprintf("%s has not started for %s: %s", code, u.date, text))
	}
	head := fmt.Sprintf("%s did not start for %s: ", code, u.date)
	switch s := u.set; store.SetState(s.State) {
	case store.SetWaiting:
		text := fmt.Sprintf("%s of what it waits for is there; it lacks %s", s.count(u.anyOf), u.lackText())
		return holds(UpstreamNotMet, text).by(e).because(
			fmt.Sprintf("%s has not started for %s: %s; it waits until %s", code, u.date, text, f.clock.brief(s.ExpiresAt)))
	case store.SetExpired:
		text := fmt.Sprintf("%s of what it waits for was there when its window ended at %s; it lacked %s", s.count(u.anyOf), f.clock.brief(s.ExpiresAt), u.lackText())
		return off(UpstreamExpired, text).by(e).because(head+text, f.byHand())
	case store.SetSkipped:
		text := "it was paused when all was there"
		if s.Reason != store.SkipPaused {
			text = "too many of its runs waited already when all was there"
		}
		return off(skipReasons[s.Reason], text).by(e).because(head+text, f.byHand())
	case store.SetFailed:
		return off(FireError, oneLine(s.Reason)).by(e).because(head+"its run could not be made: "+oneLine(s.Reason), f.byHand())
	}
	return fine(UpstreamMet, fmt.Sprintf("all that it waits for had completed for %s: %s", u.date, u.took())).by(e)
}

// count is how many of the terms are satisfied: 1 of 2.
func (s *UpstreamSet) count(anyOf bool) string {
	got, need := 0, len(s.Terms)
	for _, t := range s.Terms {
		if t.Satisfied {
			got++
		}
	}
	if anyOf {
		need = 1
	}
	return fmt.Sprintf("%d of %d", min(got, need), need)
}

// took names the runs that satisfied the terms.
func (u *upstreamFacts) took() string {
	var list []string
	for i, t := range u.set.Terms {
		if t.Satisfied && i < len(u.terms) {
			list = append(list, termText(u.terms[i].Workflow, t.Node, t.Run))
		}
	}
	return names(list, "and")
}

func termText(workflow, node, run string) string {
	text := workflow
	if node != "" {
		text += "/" + node
	}
	if run != "" {
		text += " by run " + run
	}
	return text
}

// lackText names what is not there, each with what there is instead.
func (u *upstreamFacts) lackText() string {
	var list []string
	for _, l := range u.lacks {
		list = append(list, l.text(u.date))
	}
	last := "and"
	if u.anyOf {
		last = "or"
	}
	return names(list, last)
}

func (l *lack) text(date string) string {
	wanted := map[string]string{"success": "success", "failure": "failure", "done": "end"}[l.term.Outcome]
	head := fmt.Sprintf("the %s of %s", wanted, l.name)
	if l.run == nil {
		return fmt.Sprintf("%s (no run of %s yet)", head, date)
	}
	is := string(l.run.State)
	switch {
	case l.term.Node == "" && slices.Contains(l.term.States(), l.run.State):
		return fmt.Sprintf("%s (run %s %s, and more fires of the date are expected)", head, l.run.ID, ended(l.run.State))
	case l.run.State == progress.Running, l.run.State == progress.Queued:
		is = "is " + is
	case l.run.State == progress.Canceled, l.run.State == progress.Skipped:
		is = "was " + is
	}
	return fmt.Sprintf("%s (run %s %s)", head, l.run.ID, is)
}

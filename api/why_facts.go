package api

import (
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// whyFacts is all that an answer is made of: it is read first and judged then, so that the judging needs no database.
type whyFacts struct {
	now      time.Time
	workflow store.WorkflowRow
	clock    clock
	// moment is what was asked about, and asked the instant that it is; nil where a run was.
	moment planner.Moment
	asked  *time.Time
	// line is the schedule that the answer is about, nil for none; others is how many more fire then.
	line   *whyLine
	others int
	// slot is what the ledger has of its instant, and active are the runs that had not ended when an overlap was recorded there.
	slot     store.Slot
	active   []store.ActiveRun
	upstream *upstreamFacts
	run      *RunDetail
	nodes    []NodeRun
	// node is the one that the answer is about, nil for none; forced says that it was asked about, policy is what its version says of it.
	node   *NodeRunDetail
	forced bool
	policy *dag.Node
	// kind is the kind of job that a worker must take for it, workers are those of its queue.
	queue, kind string
	workers     []store.QueueWorker
	log         []LogLine
}

// whyLine is a schedule that the workflow has or had.
type whyLine struct {
	id      int64
	name    string
	next    *time.Time
	past    *planner.Past
	outlook planner.Outlook
}

// fires reports whether the schedule is expected to fire at the moment, or would but for its calendars.
func (l *whyLine) fires() bool {
	return l.outlook.Standing == planner.Expected || l.outlook.Standing == planner.OffCalendar
}

// upstreamFacts is how far a workflow is that starts when others complete.
type upstreamFacts struct {
	date  string
	terms []store.NamedTerm
	anyOf bool
	set   *UpstreamSet
	// lacks are the terms that are not satisfied.
	lacks []lack
}

// lack is a term that is not satisfied, and the newest run that it could take; nil for none.
type lack struct {
	name string
	term store.NamedTerm
	run  *store.RunRow
}

// finding is a step, with the answer's sentence and command lines where the step decides it: then nothing further is looked at.
type finding struct {
	WhyStep
	verdict string
	do      []string
}

func fine(reason Reason, message string) finding {
	return finding{WhyStep: WhyStep{State: stepFine, Reason: reason, Message: message}}
}

func off(reason Reason, message string) finding {
	return finding{WhyStep: WhyStep{State: stepProblem, Reason: reason, Message: message}}
}

func holds(reason Reason, message string) finding {
	return finding{WhyStep: WhyStep{State: stepWaits, Reason: reason, Message: message}}
}

func (g finding) because(verdict string, do ...string) finding {
	g.verdict, g.do = verdict, do
	return g
}

func (g finding) by(e Evidence) finding {
	g.Evidence = &e
	return g
}

// tell judges the facts.
func (f *whyFacts) tell() Why {
	w := Why{Workflow: f.workflow.Code, State: stepFine, Timezone: f.clock.zone.String(), At: utcOr(f.asked), Do: []string{}}
	f.place(&w)
	steps := []struct {
		name string
		find func() finding
	}{{"schedule", f.scheduleStep}, {"fired", f.firedStep}, {"run", f.runStep}, {"node", f.nodeStep}, {"worker", f.workerStep}, {"log", f.logStep}}
	decided := false
	for _, s := range steps {
		if decided {
			w.Steps = append(w.Steps, WhyStep{Step: s.name, State: stepNotReached})
			continue
		}
		got := s.find()
		got.Step = s.name
		w.Steps = append(w.Steps, got.WhyStep)
		decided = got.verdict != "" && !f.forced
		if decided || f.decides(s.name, got.State, w.State) {
			w.State, w.Reason = got.State, got.Reason
		}
		if decided {
			w.Verdict, w.Do = got.verdict+".", append(w.Do, got.do...)
		}
	}
	if !decided {
		verdict, do := f.outcome()
		w.Verdict, w.Do = verdict+".", append(w.Do, do...)
	}
	return w
}

// decides reports whether a step's state is that of the answer so far: the last one that is not in order; where all are, how the run is, or
// the node that was asked about.
func (f *whyFacts) decides(step, state, sofar string) bool {
	beyond := step == "node" || step == "worker"
	switch {
	case state == stepNotReached, step == "log", f.forced && !beyond:
		return false
	case state == stepFine:
		return sofar == stepFine && step != "worker" && (!beyond || f.forced)
	}
	return true
}

// place says what the answer is about, and what is beside it.
func (f *whyFacts) place(w *Why) {
	if f.line != nil {
		o := &f.line.outlook
		w.Before, w.After = utcOr(o.Before), utcOr(o.After)
		if f.line.fires() {
			w.ScheduledAt = utcOr(&o.At)
		}
	}
	if f.run != nil {
		w.Run = f.run.ID
		if w.ScheduledAt == nil {
			w.ScheduledAt = &f.run.ScheduledAt
		}
	}
	if f.node != nil {
		w.NodeRun = f.node.ID
	}
}

package engine

import (
	"fmt"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// The kinds of findings. What has one right answer is repaired.
const (
	// findingLost: an attempt is due, and neither a job nor a held row is there for it, or River has put its job away. It counts as lost (S18).
	findingLost = "lost_attempt"
	// findingUndecided: what has ended decides more than was decided.
	findingUndecided = "undecided"
	// findingLeftLive: something is queued, running or held of what has ended, or has not begun.
	findingLeftLive = "left_live"
	// findingLeftJob: River keeps a job whose result is stored.
	findingLeftJob = "left_job"
	// findingLeftRows: rows of a run that does not exist.
	findingLeftRows = "left_rows"
	// findingCount: the join counters of a clean run are not what has arrived.
	findingCount = "wrong_count"
	// findingQueued: a queued run waits for nothing (S22).
	findingQueued = "queued_for_nothing"
	// findingWish: nobody has taken up what somebody wants of a run.
	findingWish = "forgotten_wish"
	// findingUntold: a node waits for a child run that has ended or is gone, and nobody is about to tell it.
	findingUntold = "untold_parent"
	// findingOrphan: a child run goes on though nothing waits for it.
	findingOrphan = "orphan_run"
	// findingStray: slots of a pool belong to nobody (I6).
	findingStray = "stray_slots"

	// findingTwice: a node is live twice (I2). Only what waits to be queued gives way, to the job.
	findingTwice = "live_twice"

	// These are for a person.

	// findingUnknown: a live row names a node or shard that its run does not have.
	findingUnknown = "unknown_node"
	// findingGap: attempts before a live one are missing (I4).
	findingGap = "missing_attempts"
	// findingEarly: a run has ended before one of its nodes (I7).
	findingEarly = "ended_early"
	// findingUndue: a running run has no deadline (I5).
	findingUndue = "no_deadline"
	// findingEndless: nothing would end a held row (I5).
	findingEndless = "endless_hold"
	// findingForeign: a job in River's table is none of ours.
	findingForeign = "foreign_job"
	// findingUnreadable: a run cannot be read back, as when its version is gone.
	findingUnreadable = "unreadable_run"
)

// trouble is something about a run that must not be.
type trouble struct {
	store.Finding
	// mend sets it right under the run's lock; nil leaves it to a person.
	mend func(m *movement, r *moving)
}

// probe is what is odd about one run, where it is looked at for that.
type probe struct {
	jobs                    []store.OddJob
	counters                []store.Counter
	children                []store.WaitedFor
	orphan, beginner, undue bool
	endless                 []store.Attempt
	old                     []store.Intent
	// found is what reading it back has shown.
	found []trouble
}

// probes sorts oddities by run.
func probes(runs []store.RunID, o store.Oddities) map[store.RunID]*probe {
	by := make(map[store.RunID]*probe, len(runs))
	for _, id := range runs {
		by[id] = &probe{}
	}
	at := func(id store.RunID) *probe {
		if by[id] == nil {
			by[id] = &probe{}
		}
		return by[id]
	}
	for _, j := range o.Jobs {
		p := at(j.Attempt.Run)
		p.jobs = append(p.jobs, j)
	}
	for _, c := range o.Counters {
		p := at(c.Run)
		p.counters = append(p.counters, c)
	}
	for _, c := range o.Children {
		p := at(c.Parent.Run)
		p.children = append(p.children, c)
	}
	for _, a := range o.Endless {
		p := at(a.Run)
		p.endless = append(p.endless, a)
	}
	for _, i := range o.Old {
		p := at(i.Run)
		p.old = append(p.old, i)
	}
	for _, id := range o.Orphans {
		at(id).orphan = true
	}
	for _, id := range o.Beginners {
		at(id).beginner = true
	}
	for _, id := range o.Undue {
		at(id).undue = true
	}
	return by
}

// attemptTrouble is about one attempt, runTrouble about a run as a whole.
func attemptTrouble(kind string, a store.Attempt, detail string, mend func(*movement, *moving)) trouble {
	return trouble{store.Finding{Kind: kind, Subject: fmt.Sprintf("%s/%d", a.ExecutionID(), a.Number), Run: a.Run, Detail: detail}, mend}
}

func runTrouble(kind string, run store.RunID, detail string, mend func(*movement, *moving)) trouble {
	return trouble{store.Finding{Kind: kind, Subject: run.String(), Run: run, Detail: detail}, mend}
}

// troubles are all that must not be of a run. While somebody wants something of it, it is about to be moved anyway.
func (r *moving) troubles() ([]trouble, error) {
	p := r.probe
	if r.wishes > 0 {
		for _, i := range p.old {
			p.found = append(p.found, runTrouble(findingWish, r.row.ID, fmt.Sprintf("the wish to %s it, by %s, is not taken up", i.Kind, i.Actor), func(*movement, *moving) {}))
		}
		return p.found, nil
	}
	r.lookAtChildren()
	switch {
	case r.row.State == progress.Running:
		if err := r.lookAtNodes(); err != nil {
			return nil, err
		}
		r.lookAtCounters()
	case r.row.State.Terminal():
		r.lookAtEnd()
	case p.beginner:
		p.add(runTrouble(findingQueued, r.row.ID, "it is queued, and a place among the runs of its workflow is free", func(*movement, *moving) {}))
	}
	r.lookAtJobs()
	return p.found, nil
}

func (p *probe) add(t trouble) { p.found = append(p.found, t) }

// lookAtChildren finds what a run and its child or parent do not know of each other.
func (r *moving) lookAtChildren() {
	for _, c := range r.probe.children {
		if c.State == "" {
			r.probe.add(attemptTrouble(findingUntold, c.Parent, fmt.Sprintf("it waits for child run %s, which does not exist", c.Child), func(m *movement, r *moving) {
				m.lose(r, c.Parent, store.Taken{Attempt: c.Parent})
			}))
			continue
		}
		r.probe.add(attemptTrouble(findingUntold, c.Parent, fmt.Sprintf("it waits for child run %s, which has %s", c.Child, c.State), func(m *movement, _ *moving) {
			m.changes.Signals = append(m.changes.Signals, store.Signal{Parent: c.Parent.JobArgs(), Child: c.Child})
		}))
	}
	if r.probe.orphan {
		r.probe.add(runTrouble(findingOrphan, r.row.ID, "it goes on for the node of a run that does not wait for it", func(_ *movement, r *moving) {
			r.cancel = &progress.Cancel{Actor: "engine", Reason: "its parent is gone"}
			r.events = append(r.events, progress.Event{Cancel: r.cancel})
		}))
	}
}

// lookAtEnd finds nodes that have not ended with their run (I7).
func (r *moving) lookAtEnd() {
	for i := range r.snap.Nodes {
		if n := &r.snap.Nodes[i]; !n.State.Terminal() {
			name := r.plan.graph.At(i).Name
			r.probe.add(runTrouble(findingEarly, r.row.ID, fmt.Sprintf("it has %s, and node %s is %s", r.row.State, name, n.State), nil))
			break
		}
	}
}

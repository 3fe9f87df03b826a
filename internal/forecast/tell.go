package forecast

import (
	"cmp"
	"slices"
	"time"
)

// runKey finds the same run in two tellings.
type runKey struct {
	workflow  int
	schedule  string
	scheduled int64
}

// tell puts together what two houses showed.
func tell(w *World, usual, dragging *house) Result {
	late := make(map[runKey]time.Time, len(dragging.runs))
	for _, r := range dragging.runs {
		if r.Outcome == Ends {
			late[r.key()] = r.Finished
		}
	}
	out := Result{Collisions: usual.record.found}
	for i := range usual.record.tracks {
		out.Loads = append(out.Loads, usual.record.tracks[i].Load)
	}
	slices.SortStableFunc(usual.runs, byFire)
	for _, r := range usual.runs {
		if r.Outcome == Ends && r.Finished.IsZero() {
			r.Outcome = Stuck
		}
		r.Late = late[r.key()]
		if r.Fired.Before(w.From) && (r.Finished.IsZero() || !r.Finished.After(w.From)) && r.Outcome != Stuck {
			continue
		}
		out.Runs = append(out.Runs, r.Run)
		out.Misses = append(out.Misses, r.misses(w, len(out.Runs)-1)...)
	}
	slices.SortStableFunc(out.Collisions, func(a, b Collision) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Workflow, b.Workflow))
	})
	slices.SortStableFunc(out.Misses, func(a, b Miss) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Run, b.Run)) })
	return out
}

func (r *run) key() runKey { return runKey{r.Workflow, r.Schedule, r.Scheduled.UnixNano()} }

// misses are what a run is too late for.
func (r *run) misses(w *World, place int) (out []Miss) {
	if r.Outcome != Ends && r.Outcome != Stuck {
		return nil
	}
	flow := &w.Workflows[r.Workflow]
	check := func(kind MissKind, due time.Time) {
		switch {
		case r.Outcome == Stuck || r.Finished.After(due):
			out = append(out, Miss{Kind: kind, Run: place, Due: due})
		case r.Late.After(due):
			out = append(out, Miss{Kind: kind, Run: place, Due: due, Possible: true})
		}
	}
	if flow.Deadline != nil {
		if due := flow.Deadline(r.Scheduled); !due.IsZero() {
			check(MissDeadline, due)
		}
	}
	if flow.Timeout > 0 && !r.Started.IsZero() {
		check(MissTimeout, r.Started.Add(flow.Timeout))
	}
	if r.missed > 0 {
		out = append(out, Miss{Kind: MissQueueTimeout, Run: place, Due: w.From.Add(r.missed)})
	}
	return out
}

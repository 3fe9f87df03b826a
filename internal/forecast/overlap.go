package forecast

import "time"

// fire creates a run, which starts, waits, or is refused, as its workflow says (S22).
func (h *house) fire(f *Fire) {
	if h.budget--; h.budget < 0 {
		h.full = true
		return
	}
	w, flow := &h.world.Workflows[f.Workflow], &h.flows[f.Workflow]
	at := h.world.From.Add(h.now)
	r := &run{fire: f, Run: Run{Workflow: f.Workflow, Schedule: f.Schedule, Scheduled: f.Scheduled, Fired: at, Outcome: Ends}}
	h.runs = append(h.runs, r)
	if w.MaxRuns == 0 || len(flow.running) < w.MaxRuns && len(flow.queued) == 0 {
		h.begin(r)
		return
	}
	switch {
	case w.Overflow == Skip, w.Overflow == Queue && len(flow.queued) >= w.MaxQueued:
		r.Outcome = Skipped
		h.over(r)
		return
	case w.Overflow == QueueLatest && len(flow.queued) > 0:
		h.leave(flow.queued[0], Replaced)
	case w.Overflow == CancelRunning && len(flow.running) > 0:
		defer h.cancel(flow.running[0])
	}
	flow.queued = append(flow.queued, r)
	h.record.crowd(h, f.Workflow)
}

// leave takes a run out of its queue.
func (h *house) leave(r *run, why Outcome) {
	flow := &h.flows[r.Workflow]
	flow.queued = remove(flow.queued, r)
	r.Outcome = why
	h.over(r)
}

// begin starts a run.
func (h *house) begin(r *run) {
	w := &h.world.Workflows[r.Workflow]
	h.budget -= h.plans[r.Workflow].steps
	h.flows[r.Workflow].running = append(h.flows[r.Workflow].running, r)
	r.Started = h.world.From.Add(h.now)
	r.left, r.steps = len(w.Nodes), make([]step, len(w.Nodes))
	for i := range w.Nodes {
		r.steps[i].parents = len(w.Nodes[i].Needs)
	}
	if r.left == 0 {
		h.finish(r)
		return
	}
	for i := range w.Nodes {
		if len(w.Nodes[i].Needs) == 0 {
			h.ready(r, i)
		}
	}
}

// finish ends a run that is through, and starts what waits for that.
func (h *house) finish(r *run) {
	r.Finished = h.world.From.Add(h.now)
	h.depart(r)
	h.complete(r)
}

// cancel ends a run to make room for a newer one.
func (h *house) cancel(r *run) {
	r.Outcome, r.gone = Canceled, true
	var lines []*line
	for _, t := range r.active {
		if t.blocked >= 0 {
			h.record.wait(h, t, -1)
			continue
		}
		h.release(t)
		lines = append(lines, t.line)
	}
	for _, l := range lines {
		h.admitAll(l)
	}
	h.depart(r)
}

// depart takes a run that has ended out of the way of the next.
func (h *house) depart(r *run) {
	r.gone, r.active, r.steps = true, nil, nil
	flow := &h.flows[r.Workflow]
	flow.running = remove(flow.running, r)
	h.over(r)
	if len(flow.queued) > 0 && len(flow.running) < h.world.Workflows[r.Workflow].MaxRuns {
		next := flow.queued[0]
		flow.queued = flow.queued[1:]
		h.record.crowd(h, r.Workflow)
		h.begin(next)
	}
}

// over lets a schedule of a fixed delay count from here (S4).
func (h *house) over(r *run) {
	if r.fire.Delay <= 0 {
		return
	}
	next := *r.fire
	next.At = h.world.From.Add(h.now + r.fire.Delay)
	next.Scheduled, next.Date = next.At, next.At.In(r.fire.At.Location()).Format(time.DateOnly)
	h.push(event{at: h.now + r.fire.Delay, turn: fires, fire: &next})
}

// complete tells workflows that wait for this one (S12).
func (h *house) complete(r *run) {
	for _, place := range h.flows[r.Workflow].downstream {
		up := h.world.Workflows[place].Upstream
		fire := &Fire{Workflow: place, At: h.world.From.Add(h.now), Scheduled: r.Scheduled, Date: r.fire.Date}
		key := ""
		switch up.Match {
		case ByDate:
			key = r.fire.Date
		case ByInstant:
			key = r.Scheduled.UTC().Format(time.RFC3339Nano)
		}
		if h.met(place, key, r.Workflow) {
			h.push(event{at: h.now, turn: fires, fire: fire})
		}
	}
}

// met notes a completion, and reports whether it is the one that was missing.
func (h *house) met(place int, key string, by int) bool {
	up := h.world.Workflows[place].Upstream
	set := h.flows[place].sets[key]
	if set == nil {
		set = make(map[int]bool)
		h.flows[place].sets[key] = set
	}
	before := up.satisfied(set)
	set[by] = true
	return up.satisfied(set) && (!before || up.Match == Latest)
}

func (u *Upstream) satisfied(set map[int]bool) bool {
	for _, term := range u.Terms {
		if set[term] == u.Any {
			return u.Any
		}
	}
	return !u.Any
}

package forecast

import (
	"fmt"
	"time"
)

// resource is a pool or queue while it is simulated.
type resource struct {
	Resource
	used  int
	lines []*line
	// next is when the rate lets one start that comes after a burst (GCRA); woken says that somebody looks then.
	next  time.Duration
	woken bool
}

// due is when the resource's rate lets the next one start.
func (r *resource) due() time.Duration {
	return r.next - time.Duration(max(r.Burst, 1)-1)*r.Every
}

// line is where tasks stand that use the same: if the first cannot start, none can.
type line struct {
	uses  []Use
	tasks heap[*task]
}

// forget drops the first in a line while their runs are gone.
func (l *line) forget() {
	for l.tasks.len() > 0 && l.tasks.first().run.gone {
		l.tasks.pop()
	}
}

// lineOf is the line for what a node uses; nil for nothing.
func (h *house) lineOf(uses []Use) *line {
	if len(uses) == 0 {
		return nil
	}
	name := fmt.Sprint(uses)
	l := h.lines[name]
	if l == nil {
		l = &line{uses: uses, tasks: heap[*task]{less: before}}
		h.lines[name] = l
		for _, u := range uses {
			h.resources[u.Resource].lines = append(h.resources[u.Resource].lines, l)
		}
	}
	return l
}

// blocker is the first resource that has no room for a line's next, or -1. Where that is only a matter of time, somebody looks again then.
func (h *house) blocker(l *line) int {
	for _, u := range l.uses {
		r := &h.resources[u.Resource]
		if r.Capacity < Unlimited && r.used+u.Weight > r.Capacity {
			return u.Resource
		}
		if r.Every > 0 && r.due() > h.now {
			if !r.woken {
				r.woken = true
				h.push(event{at: r.due(), turn: wakes, resource: u.Resource})
			}
			return u.Resource
		}
	}
	return -1
}

// enter starts a task at once if nothing is in its way, and otherwise puts it in its line.
func (h *house) enter(t *task) {
	if t.line == nil {
		h.start(t)
		return
	}
	t.line.forget()
	blocked := h.blocker(t.line)
	if blocked < 0 && t.line.tasks.len() == 0 {
		h.start(t)
		return
	}
	// What has room, but others before it, waits for the first of what it uses.
	if t.blocked = blocked; blocked < 0 {
		t.blocked = t.line.uses[0].Resource
	}
	t.line.tasks.push(t)
	h.record.wait(h, t, 1)
}

// admitAll starts what waits for any of what a line uses.
func (h *house) admitAll(l *line) {
	if l == nil {
		return
	}
	for _, u := range l.uses {
		h.admit(u.Resource)
	}
}

// admit starts what waits for a resource, the most urgent first, then the longest waiting, while there is room (S24). What does not fit
// holds up nobody in other lines.
func (h *house) admit(place int) {
	for {
		var best *line
		for _, l := range h.resources[place].lines {
			l.forget()
			if l.tasks.len() > 0 && (best == nil || before(l.tasks.first(), best.tasks.first())) && h.blocker(l) < 0 {
				best = l
			}
		}
		if best == nil {
			return
		}
		t := best.tasks.pop()
		h.record.wait(h, t, -1)
		t.blocked = -1
		h.start(t)
	}
}

// before orders tasks: by priority, then by age.
func before(a, b *task) bool {
	if a.priority != b.priority {
		return a.priority < b.priority
	}
	return a.seq < b.seq
}

// take and release move a task's share of what it uses.
func (h *house) take(t *task) {
	if t.line == nil {
		return
	}
	for _, u := range t.line.uses {
		r := &h.resources[u.Resource]
		h.record.use(h, u.Resource, u.Weight)
		r.used += u.Weight
		if r.Every > 0 {
			r.next = max(r.next, h.now) + r.Every
		}
	}
}

func (h *house) release(t *task) {
	if t.line == nil {
		return
	}
	for _, u := range t.line.uses {
		h.record.use(h, u.Resource, -u.Weight)
		h.resources[u.Resource].used -= u.Weight
	}
}

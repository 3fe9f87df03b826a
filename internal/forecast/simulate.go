package forecast

import (
	"cmp"
	"slices"
	"time"
)

// Simulate tells what will happen. It is told twice, with typical and with slow durations: the second telling is where Late and possible misses
// come from.
func Simulate(w World) Result {
	usual, dragging := newHouse(&w, func(n *Node) time.Duration { return n.Typical }), newHouse(&w, func(n *Node) time.Duration { return n.Slow })
	if usual.certain() > w.MaxSteps {
		return Result{Full: true}
	}
	for _, h := range []*house{usual, dragging} {
		if h.run(); h.full {
			return Result{Full: true}
		}
	}
	return tell(&w, usual, dragging)
}

// certain is how many steps there will be at the least: those of all runs that nothing refuses.
func (h *house) certain() (steps int) {
	for i := range h.world.Fires {
		f := &h.world.Fires[i]
		w := &h.world.Workflows[f.Workflow]
		if steps++; w.MaxRuns == 0 || w.Overflow == Queue && w.MaxQueued >= len(h.world.Fires) {
			steps += h.plans[f.Workflow].steps
		}
		if steps > h.world.MaxSteps {
			break
		}
	}
	return steps
}

// house is a world while it is simulated. All instants are distances from the World's From.
type house struct {
	world *World
	takes func(*Node) time.Duration
	// origin is From; until ends the starts.
	until  time.Duration
	now    time.Duration
	events heap[event]
	seq    int64

	flows     []flow
	resources []resource
	lines     map[string]*line
	runs      []*run
	full      bool
	// budget is how many more steps may be simulated.
	budget int
	record *record
	plans  []plan
}

// plan is what does not change of a workflow's runs.
type plan struct {
	steps    int // copies counted apart
	children [][]int
	lines    []*line
}

// flow is a workflow's runs that are there.
type flow struct {
	running []*run
	queued  []*run
	// crowd begins when runs wait for each other.
	crowd crowd
	// downstream are the workflows that wait for this one; sets are its own half-met conditions.
	downstream []int
	sets       map[string]map[int]bool
}

// run is one that is there, or was.
type run struct {
	Run
	fire  *Fire
	left  int
	steps []step
	// active are its tasks that wait or run.
	active []*task
	gone   bool
	missed time.Duration // when a node's patience ended first; 0 for none
}

// step is a node of a run: how many parents it waits for, and then how many of its copies have not ended.
type step struct{ parents, copies int }

// task is a node, or a copy of one, that is ready.
type task struct {
	run  *run
	node int
	// since is when it became ready; seq its place among those of the same moment.
	since    time.Duration
	seq      int64
	line     *line
	priority int
	// blocked is the resource it is counted as waiting for; -1 once it runs.
	blocked int
}

func newHouse(w *World, takes func(*Node) time.Duration) *house {
	h := &house{events: heap[event]{less: sooner}, world: w, takes: takes, until: w.Until.Sub(w.From), lines: make(map[string]*line), flows: make([]flow, len(w.Workflows))}
	h.budget = w.MaxSteps
	h.resources = make([]resource, len(w.Resources))
	for i := range h.resources {
		h.resources[i] = resource{Resource: w.Resources[i]}
	}
	h.record = newRecord(w)
	h.plans = make([]plan, len(w.Workflows))
	for i := range w.Workflows {
		h.plans[i] = h.plan(&w.Workflows[i])
		if up := w.Workflows[i].Upstream; up != nil {
			h.flows[i].sets = make(map[string]map[int]bool)
			for _, term := range slices.Compact(slices.Sorted(slices.Values(up.Terms))) {
				h.flows[term].downstream = append(h.flows[term].downstream, i)
			}
		}
	}
	for i, f := range w.Fires {
		h.push(event{at: f.At.Sub(w.From), turn: fires, fire: &w.Fires[i]})
	}
	return h
}

func (h *house) plan(w *Workflow) plan {
	p := plan{children: make([][]int, len(w.Nodes)), lines: make([]*line, len(w.Nodes))}
	for i := range w.Nodes {
		for _, parent := range w.Nodes[i].Needs {
			p.children[parent] = append(p.children[parent], i)
		}
		p.lines[i] = h.lineOf(w.Nodes[i].Uses)
		p.steps += max(w.Nodes[i].Copies, 1)
	}
	return p
}

// run lets everything happen until nothing does any more, or it is too much.
func (h *house) run() {
	for h.events.len() > 0 && !h.full {
		h.step()
	}
	h.record.close(h)
}

// step lets the next thing happen.
func (h *house) step() {
	e := h.events.pop()
	h.now = e.at
	switch e.turn {
	case ends:
		h.end(e.task)
	case wakes:
		h.resources[e.resource].woken = false
		h.admit(e.resource)
	case fires:
		if h.now < h.until {
			h.fire(e.fire)
		}
	}
}

// ready makes a node due.
func (h *house) ready(r *run, node int) {
	n := &h.world.Workflows[r.Workflow].Nodes[node]
	r.steps[node].copies = max(n.Copies, 1)
	for range max(n.Copies, 1) {
		h.seq++
		t := &task{run: r, node: node, since: h.now, seq: h.seq, line: h.plans[r.Workflow].lines[node], priority: n.Priority, blocked: -1}
		r.active = append(r.active, t)
		h.enter(t)
	}
}

// start lets a task run.
func (h *house) start(t *task) {
	n := &h.world.Workflows[t.run.Workflow].Nodes[t.node]
	if waited := h.now - t.since; waited > 0 {
		t.run.Waited += waited
		if n.Patience > 0 && waited > n.Patience && t.run.missed == 0 {
			t.run.missed = t.since + n.Patience
		}
	}
	h.take(t)
	h.push(event{at: h.now + max(h.takes(n), 0), turn: ends, task: t})
}

// end lets a task's children follow.
func (h *house) end(t *task) {
	r := t.run
	if r.gone {
		return
	}
	r.active = remove(r.active, t)
	h.release(t)
	h.admitAll(t.line) // those who wait are older than what follows from this end
	if r.steps[t.node].copies--; r.steps[t.node].copies == 0 {
		for _, child := range h.plans[r.Workflow].children[t.node] {
			if r.steps[child].parents--; r.steps[child].parents == 0 {
				h.ready(r, child)
			}
		}
		if r.left--; r.left == 0 {
			h.finish(r)
		}
	}
}

func remove[T comparable](all []T, one T) []T {
	i := slices.Index(all, one)
	if i < 0 {
		return all
	}
	return slices.Delete(all, i, i+1)
}

// byFire orders runs as they are told.
func byFire(a, b *run) int {
	return cmp.Or(a.Fired.Compare(b.Fired), cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Schedule, b.Schedule), a.Scheduled.Compare(b.Scheduled))
}

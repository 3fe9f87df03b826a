package forecast

import (
	"slices"
	"time"
)

// record gathers what is told of load while a house is simulated.
type record struct {
	world  *World
	width  time.Duration
	tracks []track
	found  []Collision
}

// track is a resource's load so far.
type track struct {
	Load
	// since is when used and waiting became what they are.
	since         time.Duration
	used, waiting int
	crowd         crowd
}

// crowd is a time of waiting that may still go on.
type crowd struct {
	open      bool
	from, to  time.Duration
	most      int
	workflows []int
}

// named is how many of those who wait a collision names.
const named = 5

func newRecord(w *World) *record {
	r := &record{world: w, width: max(w.Until.Sub(w.From)/time.Duration(max(w.Points, 1)), 1), tracks: make([]track, len(w.Resources))}
	for i := range r.tracks {
		points := make([]Point, max(w.Points, 1))
		for j := range points {
			points[j].At = w.From.Add(time.Duration(j) * r.width)
		}
		r.tracks[i].Points = points
	}
	return r
}

// use notes that more of a resource is in use from now on, or less.
func (r *record) use(h *house, resource, more int) {
	t := &r.tracks[resource]
	t.pass(r, h.now)
	t.used += more
	t.peak(r, h.now)
}

// wait notes that one more task waits from now on, or one less.
func (r *record) wait(h *house, t *task, more int) {
	k := &r.tracks[t.blocked]
	k.pass(r, h.now)
	k.waiting += more
	k.peak(r, h.now)
	r.note(&k.crowd, Collision{Resource: t.blocked, Workflow: -1}, moment{h.now, k.waiting, t.run.Workflow})
}

// crowd notes how many runs of a workflow wait for each other from now on.
func (r *record) crowd(h *house, workflow int) {
	r.note(&h.flows[workflow].crowd, Collision{Resource: -1, Workflow: workflow}, moment{h.now, len(h.flows[workflow].queued), workflow})
}

// moment says how many wait from an instant on, and a workflow of which one came or went.
type moment struct {
	at       time.Duration
	waiting  int
	workflow int
}

// note follows a crowd. One that gathers again within a point of time is the same.
func (r *record) note(c *crowd, who Collision, m moment) {
	switch {
	case m.waiting == 0:
		c.open, c.to = false, m.at
		return
	case c.most > 0 && !c.open && m.at-c.to > r.width:
		r.tell(c, who)
		fallthrough
	case c.most == 0:
		*c = crowd{from: m.at}
	}
	c.open, c.most = true, max(c.most, m.waiting)
	if len(c.workflows) < named && !slices.Contains(c.workflows, m.workflow) {
		c.workflows = append(c.workflows, m.workflow)
	}
}

// tell writes a crowd down, if it was there within the stretch and for any time at all.
func (r *record) tell(c *crowd, who Collision) {
	if c.most == 0 || c.to <= 0 || c.to <= c.from || c.from >= r.world.Until.Sub(r.world.From) {
		return
	}
	who.From, who.To, who.Most, who.Workflows = r.world.From.Add(max(c.from, 0)), r.world.From.Add(c.to), c.most, c.workflows
	r.found = append(r.found, who)
}

// close ends what is still open when nothing happens any more.
func (r *record) close(h *house) {
	end := max(h.now, h.until)
	for i := range r.tracks {
		r.tracks[i].pass(r, end)
		r.shut(&r.tracks[i].crowd, Collision{Resource: i, Workflow: -1}, end)
	}
	for i := range h.flows {
		r.shut(&h.flows[i].crowd, Collision{Resource: -1, Workflow: i}, end)
	}
}

func (r *record) shut(c *crowd, who Collision, end time.Duration) {
	if c.open {
		c.to = end
	}
	r.tell(c, who)
}

// pass adds the time since the last change to the points that it lies in.
func (t *track) pass(r *record, now time.Duration) {
	from, to := max(t.since, 0), min(now, r.width*time.Duration(len(t.Points)))
	t.since = now
	if to <= from {
		return
	}
	t.Busy += time.Duration(t.used) * (to - from)
	t.Waited += time.Duration(t.waiting) * (to - from)
	t.Peak = max(t.Peak, t.used)
	if t.used == 0 && t.waiting == 0 {
		return
	}
	for i := int(from / r.width); i < len(t.Points) && from < to; i++ {
		until := min(to, time.Duration(i+1)*r.width)
		p := &t.Points[i]
		p.Mean += float64(t.used) * float64(until-from) / float64(r.width)
		p.Peak, p.Waiting = max(p.Peak, t.used), max(p.Waiting, t.waiting)
		from = until
	}
}

// peak notes what is there at this very moment.
func (t *track) peak(r *record, now time.Duration) {
	i := int(now / r.width)
	if now < 0 || i >= len(t.Points) {
		return
	}
	t.Peak = max(t.Peak, t.used)
	t.Points[i].Peak, t.Points[i].Waiting = max(t.Points[i].Peak, t.used), max(t.Points[i].Waiting, t.waiting)
}

package engine

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// write gathers the rows that a run's steps ask for.
func (m *movement) write(r *moving, steps []progress.Step) {
	change := store.RunChange{ID: r.row.ID, Timeout: time.Duration(r.plan.graph.Definition().Timeout)}
	if r.cancel != nil {
		change.CanceledBy, change.CancelReason = r.cancel.Actor, r.cancel.Reason
	}
	for _, s := range steps {
		switch {
		case s.Start != nil:
			m.begin(r, s.Start)
		case s.End != nil:
			m.end(r, s.End)
		case s.Expand != nil:
			m.expand(r, s.Expand)
		case s.Reset != nil:
			m.reset(r, s.Reset)
		case s.Reopen != nil:
			change.Reopened = true
		case s.Run != nil:
			change.Reason, change.Warnings = string(s.Run.Reason), s.Run.Warnings
			m.runEnded(r, s.Run.State)
		}
	}
	change.State, change.Canceling, change.TimedOut = r.snap.Run.State, r.snap.Run.Canceling, r.snap.Run.TimedOut
	change.Held = r.held && !change.State.Terminal()
	change.Idle = r.idle()
	if change.Reopened && change.State == progress.Queued {
		m.freed = append(m.freed, r.row.Workflow)
	}
	m.changes.Runs = append(m.changes.Runs, change)
}

// idle reports whether a run only waits for people and instants: its clock stands meanwhile (S17).
func (r *moving) idle() bool {
	parked := false
	for i := range r.snap.Nodes {
		n, node := &r.snap.Nodes[i], r.plan.graph.At(i).Node
		switch {
		case !n.State.Live():
		case n.State != progress.Retrying && (node.Approval != nil || node.Wait != nil):
			parked = true
		default:
			return false
		}
	}
	return parked
}

// attempt names one of a run.
func (r *moving) attempt(at spot, generation, number int) store.Attempt {
	return store.Attempt{Run: r.row.ID, Node: r.plan.graph.At(at.node).Name, Shard: at.shard, Generation: generation, Number: number}
}

func (m *movement) begin(r *moving, s *progress.Start) {
	b := m.engine.begin(r.plan, r.row.ID, r.row.Priority, s)
	if r.held && b.Mode != store.ModeDue {
		b.Mode = store.ModeHold
	}
	if b.Mode == store.ModeChild {
		m.children = append(m.children, child{parent: b.Attempt, run: r, node: s.Node})
	}
	if b.Mode == store.ModeWait {
		b.Delay = r.eval.wait(s.Node)
	}
	m.changes.Begins = append(m.changes.Begins, b)
}

// end makes the row of history that a step asks for.
func (m *movement) end(r *moving, s *progress.End) {
	at := spot{s.Node, s.Shard}
	rec := store.Record{
		Attempt: r.attempt(at, s.Generation, s.Attempt), State: s.State, Outcome: outcomeName(s), Tolerated: s.Tolerated, Actor: "engine",
		Reason: string(s.Reason), Note: s.Note, Err: s.Err,
	}
	if s.Live {
		m.withdraw(&rec)
		m.changes.Drops = append(m.changes.Drops, rec.Attempt) // also what has slots and, in this movement, no live row
		if l := r.live[at]; l != nil {
			rec.JobID, rec.QueuedAt, rec.StartedAt, rec.Worker, rec.Holds = l.JobID, l.QueuedAt, l.StartedAt, l.Worker, l.Holds
		}
	}
	switch {
	case r.cancel != nil && s.Reason == progress.ReasonCanceled:
		rec.Actor = r.cancel.Actor
	case (s.Reason == progress.ReasonMarked || s.Reason == progress.ReasonRerun) && len(r.acts) > 0:
		rec.Actor, rec.Note = r.acts[0].act.Actor, r.acts[0].act.Note
	case s.Reason == progress.ReasonBranch:
		rec.Output = r.takenNames(s.Taken)
	}
	if got, ok := r.results[at]; ok && s.Reported {
		report(&rec, got, s)
	}
	m.changes.Records = append(m.changes.Records, rec)
}

// branchOutput is what a branch gives: the names of the nodes it chose.
type branchOutput struct {
	Taken []string `json:"taken"`
}

// takenNames is a branch's output.
func (r *moving) takenNames(taken []int) []byte {
	names := make([]string, len(taken))
	for i, t := range taken {
		names[i] = r.plan.graph.At(t).Name
	}
	out, err := json.Marshal(branchOutput{Taken: names})
	if err != nil {
		return nil // names are always JSON
	}
	return out
}

// expand freezes the shards of a node's generation.
func (m *movement) expand(r *moving, s *progress.Expand) {
	e := store.Expansion{Run: r.row.ID, Node: r.plan.graph.At(s.Node).Name, Generation: s.Generation}
	if !s.Keep {
		e.Total, e.Items = s.Total, r.eval.items[s.Node]
	}
	m.changes.Expansions = append(m.changes.Expansions, e)
}

// reset writes the row that begins a node's next generation, and takes away what is live of the old one. An open dead letter of it is
// answered by that.
func (m *movement) reset(r *moving, s *progress.Reset) {
	at := spot{s.Node, s.Shard}
	rec := store.Record{Attempt: r.attempt(at, s.Generation, 0), State: progress.Pending, Outcome: "reset", Actor: "engine", Reason: string(s.Reason)}
	if len(r.acts) > 0 {
		rec.Actor, rec.Note = r.acts[0].act.Actor, r.acts[0].act.Note
	}
	m.changes.Records = append(m.changes.Records, rec)
	m.changes.Resolved = append(m.changes.Resolved, rec)
}

// withdraw takes back what the same movement made due or sent elsewhere: what ends before it is stored leaves no live row.
func (m *movement) withdraw(rec *store.Record) {
	m.changes.Begins = slices.DeleteFunc(m.changes.Begins, func(b store.Begin) bool { return b.Attempt == rec.Attempt })
	m.children = slices.DeleteFunc(m.children, func(c child) bool { return c.parent == rec.Attempt })
	m.changes.Remotes = slices.DeleteFunc(m.changes.Remotes, func(r store.Remote) bool {
		if r.Attempt != rec.Attempt {
			return false
		}
		rec.QueuedAt, rec.StartedAt, rec.Worker = r.QueuedAt, r.StartedAt, r.Worker
		return true
	})
}

func (m *movement) runEnded(r *moving, s progress.State) {
	r.ended = s
	if r.row.Limited {
		m.freed = append(m.freed, r.row.Workflow)
	}
	if r.row.Parent != "" {
		m.changes.Signals = append(m.changes.Signals, store.Signal{Parent: r.row.Parent, Child: r.row.ID})
	}
}

// outcomeName is how the attempt itself ended, whatever state the node is in now.
func outcomeName(s *progress.End) string {
	switch {
	case s.Err == nil:
		return string(s.State)
	case s.Err.Class == progress.Timeout, s.Err.Class == progress.Lost, s.Err.Class == progress.HandedBack:
		return string(s.Err.Class)
	}
	return string(progress.Failed)
}

// report fills a row with what the attempt's worker and live row knew.
func report(rec *store.Record, got accepted, s *progress.End) {
	rec.JobID, rec.QueuedAt, rec.StartedAt, rec.Holds = got.taken.JobID, got.taken.QueuedAt, got.taken.StartedAt, got.taken.Holds
	rec.Worker = cmp.Or(got.f.worker, got.taken.Worker)
	rec.Output = got.f.outcome.Output
	switch {
	case got.f.actor != "":
		rec.Actor = got.f.actor
	case s.Err == nil || s.Err.Class != progress.Lost:
		if rec.Worker != "" {
			rec.Actor = "worker:" + rec.Worker
		}
	}
}

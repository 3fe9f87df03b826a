package engine

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// moving is one run of a movement: what it is, and what happened to it.
type moving struct {
	row    store.LockedRun
	plan   *plan
	snap   progress.Snapshot
	events []progress.Event
	eval   *evaluation
	// results are the accepted things, live the rows of what is queued, running or held, by place.
	results map[spot]accepted
	live    map[spot]*store.Live
	// cancel is the wish to cancel that came with this movement; acts are what people do in it.
	cancel *progress.Cancel
	acts   []*finished
	// open are the dead letters that acts are to answer and that are open.
	open []store.Attempt
	held bool
	// shifts means that held has just changed.
	shifts bool
	// wishes is how much somebody wants of it; touched means that there is anything to decide: a result that was refused is nothing.
	wishes  int
	touched bool
	// probe is what is odd about it, where it is looked at for that; decides means that everything is to be decided again.
	probe   *probe
	decides bool
	ended   progress.State
}

// spot is a node, or one of its shards, in a run.
type spot struct{ node, shard int }

type accepted struct {
	f     *finished
	taken store.Taken
}

// recall turns what was read of the locked runs into one snapshot and its events a run.
func (m *movement) recall(ctx context.Context, tx pgx.Tx, locked *store.Locked) error {
	m.byID = make(map[store.RunID]*moving)
	for _, row := range locked.Runs {
		p, err := m.engine.plans.get(ctx, row.Version)
		if err != nil {
			return err
		}
		r := &moving{row: row, plan: p, snap: progress.Fresh(p.graph, row.Now, int64(row.ID)), held: row.Held,
			results: make(map[spot]accepted), live: make(map[spot]*store.Live), probe: m.probes[row.ID]}
		r.snap.Run = progress.Run{State: row.State, Canceling: row.Canceling, TimedOut: row.TimedOut, Limited: row.Limited}
		r.eval = &evaluation{ctx: ctx, tx: tx, engine: m.engine, run: r}
		r.snap.Eval = r.eval
		m.byID[row.ID] = r
		m.runs = append(m.runs, r)
	}
	if len(m.probes) > 0 {
		m.weed(locked)
	}
	m.remember(locked)
	m.accept(locked.Taken)
	for _, i := range locked.Intents {
		if r := m.byID[i.Run]; r != nil {
			r.wishes++
			r.want(i)
			m.changes.Intents = append(m.changes.Intents, i)
		}
	}
	return nil
}

// remember fills the snapshots with history first, then with what is live.
func (m *movement) remember(locked *store.Locked) {
	for i := range locked.Facts {
		if f := &locked.Facts[i]; f.Shard == store.WholeNode {
			m.byID[f.Run].remember(f)
		}
	}
	for i := range locked.Expansions {
		m.byID[locked.Expansions[i].Run].expand(&locked.Expansions[i])
	}
	for i := range locked.Facts {
		if f := &locked.Facts[i]; f.Shard != store.WholeNode {
			m.byID[f.Run].remember(f)
		}
	}
	for i := range locked.Live {
		l := &locked.Live[i]
		r := m.byID[l.Attempt.Run]
		if at, ok := r.spot(l.Attempt); ok {
			r.revive(at, l.Attempt, l.State)
			r.live[at] = l
		}
	}
}

// spot finds the place of an attempt; false when the version or the expansion has none such.
func (r *moving) spot(a store.Attempt) (spot, bool) {
	i, ok := r.plan.graph.Index(a.Node)
	if !ok || a.Shard != store.WholeNode && a.Shard >= len(r.snap.Nodes[i].Shards) {
		return spot{}, false
	}
	return spot{i, a.Shard}, true
}

func (r *moving) facts(at spot) *progress.Node {
	if at.shard == store.WholeNode {
		return &r.snap.Nodes[at.node]
	}
	return &r.snap.Nodes[at.node].Shards[at.shard]
}

// remember sets a node or shard to what history says.
func (r *moving) remember(f *store.Fact) {
	at, ok := r.spot(store.Attempt{Node: f.Node, Shard: f.Shard})
	if !ok {
		return
	}
	n := r.facts(at)
	if at.shard != store.WholeNode && f.Generation < n.Generation {
		return // of an expansion that is no more
	}
	shards := n.Shards
	*n = progress.Node{State: f.State, Tolerated: f.Tolerated, Generation: f.Generation, Attempt: f.Attempt, Failures: f.Failures, Lost: f.Lost,
		Shards: shards}
	if f.State.Terminal() {
		n.Reason, n.Taken = f.Reason, r.takenBy(f.Taken)
	}
}

// takenBy reads a branch's output, as takenNames wrote it, back into positions.
func (r *moving) takenBy(output []byte) []int {
	var chosen branchOutput
	if len(output) == 0 || json.Unmarshal(output, &chosen) != nil {
		return nil
	}
	var taken []int
	for _, name := range chosen.Taken {
		if i, ok := r.plan.graph.Index(name); ok {
			taken = append(taken, i)
		}
	}
	return taken
}

// expand gives a node the shards of its generation; while it has not ended, it runs.
func (r *moving) expand(e *store.Expansion) {
	i, ok := r.plan.graph.Index(e.Node)
	if !ok || r.snap.Nodes[i].Generation != e.Generation {
		return
	}
	n := &r.snap.Nodes[i]
	n.Shards = make([]progress.Node, e.Total)
	for s := range n.Shards {
		n.Shards[s] = progress.Node{State: progress.Pending, Generation: e.Base}
	}
	if !n.State.Terminal() {
		n.State = progress.Running
	}
}

// revive sets a node to what its live row says; the failures of its generation stay.
func (r *moving) revive(at spot, a store.Attempt, s progress.State) {
	n := r.facts(at)
	if n.Generation != a.Generation {
		*n = progress.Node{Generation: a.Generation}
	}
	n.State, n.Attempt, n.Tolerated, n.Reason = s, a.Number, false, ""
}

// accept matches results with the live rows that were removed for them; the others are stale.
func (m *movement) accept(removed []store.Taken) {
	taken := make(map[store.Attempt]store.Taken, len(removed))
	for _, t := range removed {
		taken[t.Attempt] = t
	}
	for _, f := range m.batch {
		r := m.byID[f.claim.Attempt.Run]
		if f.wake {
			m.moved = append(m.moved, f)
			if r != nil {
				r.touched = true
			}
			if r != nil && f.act != nil {
				r.acts = append(r.acts, f)
			}
			continue
		}
		key := f.claim.Attempt
		key.Generation = 0
		t, ok := taken[key]
		if !ok || r == nil {
			m.stale = append(m.stale, f)
			continue
		}
		delete(taken, key)
		m.moved = append(m.moved, f)
		m.take(r, accepted{f: f, taken: t})
	}
}

// take makes an accepted thing an event, or the held row of an attempt that runs elsewhere from now on.
func (m *movement) take(r *moving, got accepted) {
	a := got.f.claim.Attempt
	at, ok := r.spot(a)
	if !ok {
		return
	}
	r.touched = true
	r.revive(at, a, progress.Running)
	if acc := got.f.outcome.Accepted; acc != nil {
		m.changes.Remotes = append(m.changes.Remotes, store.Remote{Attempt: a, Place: r.plan.place(at.node, r.row.Priority), Worker: acc.Worker,
			QueuedAt: got.taken.QueuedAt, StartedAt: got.taken.StartedAt, Deadline: acc.Left, Holds: got.taken.Holds})
		return
	}
	r.results[at] = got
	o := got.f.outcome
	r.events = append(r.events, progress.Event{Result: &progress.Result{Node: at.node, Shard: at.shard, Err: o.Err, Skipped: o.Skipped, Note: o.Reason}})
}

// want makes a wish an event.
func (r *moving) want(i store.Intent) {
	switch i.Kind {
	case store.IntentCancel:
		r.cancel = &progress.Cancel{Actor: i.Actor, Reason: i.Reason}
		r.events = append(r.events, progress.Event{Cancel: r.cancel})
	case store.IntentDeadline:
		if r.row.PastDeadline {
			r.events = append(r.events, progress.Event{Deadline: true})
		}
	}
}

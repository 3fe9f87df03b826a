package engine

import (
	"fmt"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// newestFacts are the newest rows of history by node and shard.
type newestFacts map[store.Attempt]*store.Fact

func newest(locked *store.Locked) newestFacts {
	facts := make(newestFacts, len(locked.Facts))
	for i := range locked.Facts {
		f := &locked.Facts[i]
		facts[store.Attempt{Run: f.Run, Node: f.Node, Shard: f.Shard}] = f
	}
	return facts
}

// of is what history says of a node or shard; nil is nothing.
func (n newestFacts) of(a store.Attempt) *store.Fact {
	return n[store.Attempt{Run: a.Run, Node: a.Node, Shard: a.Shard}]
}

// weed takes out of what is live what belongs to nothing that is current, in the runs that are looked at. So the rest can be read back as
// if it had never been there.
func (m *movement) weed(locked *store.Locked) {
	facts := newest(locked)
	splits := make(map[store.Attempt]*store.Expansion)
	for i := range locked.Expansions {
		e := &locked.Expansions[i]
		at := store.Attempt{Run: e.Run, Node: e.Node}
		if splits[at] == nil || splits[at].Generation < e.Generation {
			splits[at] = e
		}
	}
	kept := locked.Live[:0]
	for _, l := range locked.Live {
		r := m.byID[l.Attempt.Run]
		if r == nil || r.probe == nil || r.keeps(&l, facts, splits[store.Attempt{Run: l.Attempt.Run, Node: l.Attempt.Node}]) {
			kept = append(kept, l)
		}
	}
	locked.Live = kept
	for _, r := range m.runs {
		if r.probe != nil {
			r.lookAtTwins(kept)
		}
	}
}

// keeps says whether a live row is current. One that is not is a trouble, and so are attempts that are missing before it.
func (r *moving) keeps(l *store.Live, facts newestFacts, split *store.Expansion) bool {
	a := l.Attempt
	for _, j := range r.probe.jobs {
		if l.JobID != 0 && l.JobID == j.JobID {
			return false // looked at with what River has put away
		}
	}
	if why := r.outdated(a, facts, split); why != "" {
		row := l.Taken
		r.probe.add(attemptTrouble(findingLeftLive, a, fmt.Sprintf("it is %s, but %s", l.State, why), func(m *movement, _ *moving) {
			m.discards = append(m.discards, row)
		}))
		return false
	}
	i, ok := r.plan.graph.Index(a.Node)
	switch f := facts.of(a); {
	case !ok || a.Shard != store.WholeNode && (split == nil || a.Shard >= split.Total) || a.Shard == store.WholeNode && r.plan.graph.At(i).Node.Split():
		r.probe.add(attemptTrouble(findingUnknown, a, fmt.Sprintf("it is %s, but its run has no such node or shard", l.State), nil))
	case f != nil && f.Generation == a.Generation && a.Number != f.Attempt+1, f == nil && a.Number != 1,
		(f == nil || f.Generation != a.Generation) && a.Number != 1:
		r.probe.add(attemptTrouble(findingGap, a, fmt.Sprintf("it is %s, but attempts before it are missing", l.State), nil))
	}
	return true
}

// outdated says why a live row is not current; "" when it is.
func (r *moving) outdated(a store.Attempt, facts newestFacts, split *store.Expansion) string {
	f := facts.of(a)
	whole := facts.of(store.Attempt{Run: a.Run, Node: a.Node, Shard: store.WholeNode})
	switch {
	case r.row.State.Terminal():
		return fmt.Sprintf("its run has %s", r.row.State)
	case r.row.State == progress.Queued:
		return "its run has not started"
	case f != nil && f.Generation > a.Generation, a.Shard != store.WholeNode && split != nil && a.Generation < split.Base:
		return "its node has begun anew since"
	case f != nil && f.Generation == a.Generation && (f.Attempt >= a.Number || f.State.Terminal()):
		return fmt.Sprintf("history says that attempt %d has %s", f.Attempt, f.State)
	case a.Shard != store.WholeNode && split != nil && whole != nil && whole.Generation >= split.Generation && whole.State.Terminal():
		return fmt.Sprintf("its node has %s", whole.State)
	}
	return ""
}

// lookAtTwins finds nodes that are live twice (I2). What only waits to be queued gives way to the job.
func (r *moving) lookAtTwins(live []store.Live) {
	seen := make(map[store.Attempt]*store.Live)
	for i := range live {
		l := &live[i]
		key := store.Attempt{Run: l.Attempt.Run, Node: l.Attempt.Node, Shard: l.Attempt.Shard}
		if l.Attempt.Run != r.row.ID {
			continue
		}
		if seen[key] == nil {
			seen[key] = l
			continue
		}
		job, other := seen[key], l
		if job.JobID == 0 {
			job, other = other, job
		}
		var mend func(*movement, *moving)
		switch other.Kind {
		case store.ModeWorker, store.ModePool, store.ModeQueue, store.ModeDue, store.ModeHold:
			row := other.Taken
			mend = func(m *movement, _ *moving) { m.discards = append(m.discards, row) }
		}
		r.probe.add(attemptTrouble(findingTwice, other.Attempt, fmt.Sprintf("it is %s as a job and held as %s too", job.State, other.Kind), mend))
	}
}

// lookAtNodes finds what should be live and is not, and what should have been decided and was not.
func (r *moving) lookAtNodes() error {
	for i := range r.snap.Nodes {
		n := &r.snap.Nodes[i]
		if n.Shards == nil {
			r.lookForLive(spot{i, store.WholeNode})
		}
		for s := range n.Shards {
			r.lookForLive(spot{i, s})
		}
	}
	snap := r.snap.Clone()
	steps := progress.Advance(r.plan.graph, &snap, nil)
	if r.eval.err != nil {
		return r.eval.err
	}
	for k, s := range steps {
		if s.Start == nil {
			r.probe.add(runTrouble(findingUndecided, r.row.ID, "what has ended decides more than was decided: "+r.told(&steps[k]), func(_ *movement, r *moving) {
				r.decides = true
			}))
			break
		}
		r.lost(spot{s.Start.Node, s.Start.Shard}, s.Start.Attempt)
	}
	if r.probe.undue {
		r.probe.add(runTrouble(findingUndue, r.row.ID, "it is running and has no deadline", nil))
	}
	for _, a := range r.probe.endless {
		r.probe.add(attemptTrouble(findingEndless, a, "it is held, and nothing would ever end that", nil))
	}
	return nil
}

// told names what a step would do.
func (r *moving) told(s *progress.Step) string {
	switch {
	case s.End != nil:
		return fmt.Sprintf("node %s is %s", r.plan.graph.At(s.End.Node).Name, s.End.State)
	case s.Expand != nil:
		return fmt.Sprintf("node %s is to be split", r.plan.graph.At(s.Expand.Node).Name)
	}
	return "the run is over"
}

// lookForLive finds an attempt that follows from history and is not there.
func (r *moving) lookForLive(at spot) {
	if n := r.facts(at); n.State.Live() && r.live[at] == nil {
		r.lost(at, n.Attempt+1)
	}
}

// lost is the trouble of an attempt of which nothing is there.
func (r *moving) lost(at spot, number int) {
	a := r.attempt(at, r.facts(at).Generation, number)
	detail, row := "it is due, and there is neither a job nor a held row for it", store.Taken{Attempt: a}
	for _, j := range r.probe.jobs {
		if j.Attempt == a {
			detail, row = fmt.Sprintf("River has its job as %s, and no result of it is stored", j.State), j.Taken
		}
	}
	r.probe.add(attemptTrouble(findingLost, a, detail, func(m *movement, r *moving) { m.lose(r, a, row) }))
}

// lookAtJobs finds jobs that River has put away after their end was stored.
func (r *moving) lookAtJobs() {
	for _, j := range r.probe.jobs {
		known := false
		for _, t := range r.probe.found {
			known = known || t.Kind == findingLost && t.Subject == fmt.Sprintf("%s/%d", j.Attempt.ExecutionID(), j.Attempt.Number)
		}
		if !known {
			row := j.Taken
			r.probe.add(attemptTrouble(findingLeftJob, j.Attempt, fmt.Sprintf("River has its job as %s, though the attempt is over", j.State), func(m *movement, _ *moving) {
				m.discards = append(m.discards, row)
			}))
		}
	}
}

// lookAtCounters compares the join counters of a clean run with what has arrived.
func (r *moving) lookAtCounters() {
	if !r.row.Clean {
		return
	}
	arrived := make(map[string]int)
	most := make(map[string]int)
	for i := range r.snap.Nodes {
		targets, plain := r.plan.arrivals.Of(i)
		if r.snap.Nodes[i].State != progress.Succeeded || !plain {
			continue
		}
		for _, t := range targets {
			name, total := "", t.Need
			if t.Node != progress.EndOfRun {
				name, total = r.plan.graph.At(t.Node).Name, len(r.plan.graph.At(t.Node).Parents)
			}
			arrived[name]++
			most[name] = total
		}
	}
	for _, c := range r.probe.counters {
		if arrived[c.Node] != c.Arrived {
			r.miscounted(c.Node, c.Arrived, arrived[c.Node])
		}
		delete(arrived, c.Node)
	}
	for name, n := range arrived {
		if n < most[name] { // what arrives all at once is never counted
			r.miscounted(name, 0, n)
		}
	}
}

// miscounted is the trouble of a counter. The general path does without: the run goes on by it.
func (r *moving) miscounted(node string, counted, arrived int) {
	what := "node " + node
	if node == "" {
		what = "its end"
	}
	r.probe.add(runTrouble(findingCount, r.row.ID, fmt.Sprintf("%d arrivals are counted at %s, and there were %d", counted, what, arrived), func(_ *movement, r *moving) {
		r.decides = true
	}))
}

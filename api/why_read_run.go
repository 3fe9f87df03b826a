package api

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// readNodes reads how the nodes of the run are, and all of the one that matters.
func (q *inquiry) readNodes(ctx context.Context) error {
	row, err := q.api.run(ctx, OfRun{InNamespace{q.namespace}, q.run.ID})
	if err != nil {
		return err
	}
	g, err := q.api.graphs.of(ctx, row.VersionID)
	if err != nil {
		return err
	}
	positions := make([]int, g.Len())
	for i := range positions {
		positions[i] = i
	}
	facts, err := q.api.nodeFacts(ctx, row.ID, g, positions, 0)
	if err != nil {
		return err
	}
	q.nodes = make([]NodeRun, g.Len())
	for i := range q.nodes {
		q.nodes[i] = nodeView(row.ID, g, i, facts[g.At(i).Name].newest())
	}
	at := focus(q.run, q.nodes)
	if q.forced || at < 0 {
		return nil
	}
	return q.readNode(ctx, g, row.ID.String()+":"+g.At(at).Name)
}

// mostLogLines is how many lines of an attempt's log are looked through.
const mostLogLines = 1000

// readNode reads a node run, who could work on it, and what its last attempt wrote.
func (q *inquiry) readNode(ctx context.Context, g *dag.Graph, id string) error {
	n, err := q.api.nodeRun(ctx, q.namespace, id)
	if err != nil {
		return err
	}
	detail, err := q.api.nodeDetailOf(ctx, n, 0)
	if err != nil {
		return err
	}
	q.node, q.policy = &detail, g.At(n.at).Node
	own, newest, err := q.api.nodeRunFacts(ctx, n, 0)
	if err != nil {
		return err
	}
	if own.empty() {
		own = newest
	}
	live := own.live
	if live == nil {
		live = q.stuckShard(&own)
	}
	if live != nil {
		q.queue, q.kind = live.Queue, live.Kind
		if q.workers, err = q.api.Store.WorkersAbout(ctx, live.Attempt); err != nil {
			return err
		}
	}
	return q.readLog(ctx, n)
}

// stuckShard is the first shard that waits, where none runs: what holds it holds the node.
func (q *inquiry) stuckShard(f *nodeFacts) *store.LiveNode {
	if q.node.Shards == nil || q.node.Shards.Running > 0 {
		return nil
	}
	for _, s := range f.shardFacts() {
		if s.live == nil {
			continue
		}
		if b := blockedNode(s.live); b != nil {
			b.Message = fmt.Sprintf("shard %d: %s", s.shard, b.Message)
			q.node.BlockedBy = b
			return s.live
		}
	}
	return nil
}

// readLog reads the log of the last attempt that began.
func (q *inquiry) readLog(ctx context.Context, n nodeRun) error {
	if !q.node.works() || !q.node.began() || q.node.State == string(progress.Succeeded) {
		return nil
	}
	of := store.Attempt{Run: n.run.ID, Node: n.id.Node, Shard: n.id.Shard, Generation: q.node.Generation}
	last := q.node.Attempts
	if k := len(q.node.History); k > 0 && q.node.Worker == "" {
		last = q.node.History[k-1].Attempt
	}
	if q.node.Shards != nil && len(q.node.Shards.Failures) > 0 {
		failed, err := store.ParseExecutionID(q.node.Shards.Failures[0].ID)
		if err != nil {
			return err
		}
		of.Shard, of.Generation, last = failed.Shard, failed.Generation, 1
	}
	lines, err := q.api.Store.Logs(ctx, of, store.LogMark{Attempt: last}, mostLogLines)
	if err != nil {
		return err
	}
	for _, l := range lines {
		q.log = append(q.log, lineView(l))
	}
	return nil
}

// lookAtUpstream reads how far a workflow is, for the date of the moment, that starts when others complete.
func (q *inquiry) lookAtUpstream(ctx context.Context) error {
	return q.lookAtUpstreamOf(ctx, q.clock.base.In(q.clock.zone).Format(time.DateOnly))
}

func (q *inquiry) lookAtUpstreamOf(ctx context.Context, date string) error {
	terms, anyOf, err := q.api.Store.NamedTerms(ctx, q.workflow.ID)
	if err != nil || len(terms) == 0 {
		return err
	}
	u := &upstreamFacts{date: date, terms: terms, anyOf: anyOf}
	keys := []string{date, q.clock.base.UTC().Format(time.RFC3339Nano)}
	from := q.clock.base
	if !q.moment.Exact.IsZero() {
		from = q.moment.Exact
	}
	sets, err := q.api.Store.SetsAbout(ctx, q.workflow.ID, keys, from, from.Add(max(q.moment.Within, time.Minute)))
	if err != nil {
		return err
	}
	if at := q.bestSet(sets); at >= 0 {
		view := setView(sets[at], terms, anyOf, q.namespace)
		u.set = &view
	}
	q.upstream = u
	if u.set != nil && u.set.Run != "" && q.run == nil {
		id, err := store.ParseRunID(u.set.Run)
		if err != nil {
			return err
		}
		if err := q.readRun(ctx, id); err != nil {
			return err
		}
	}
	return q.readLacks(ctx)
}

// bestSet is the set that the moment is about: that of its logical time, else the newest; -1 for none.
func (q *inquiry) bestSet(sets []store.UpstreamSet) int {
	for i, s := range sets {
		if !s.ScheduledAt.Before(q.clock.base) && s.ScheduledAt.Before(q.clock.base.Add(q.moment.Within)) {
			return i
		}
	}
	return min(len(sets), 1) - 1
}

// lackWindow is how far around its date the runs of a term are looked for.
const lackWindow = 7 * 24 * time.Hour

// readLacks reads what there is of the terms that are not satisfied.
func (q *inquiry) readLacks(ctx context.Context) error {
	u := q.upstream
	for i, t := range u.terms {
		if u.set != nil && i < len(u.set.Terms) && u.set.Terms[i].Satisfied {
			continue
		}
		l := lack{name: termName(t, q.namespace), term: t}
		query := store.RunQuery{Workflow: t.Upstream, From: q.clock.base.Add(-lackWindow), Limit: 1}
		if t.Match != "latest" {
			query.LogicalDate = u.date
		}
		rows, err := q.api.Store.Runs(ctx, query)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			l.run = &rows[0]
		}
		u.lacks = append(u.lacks, l)
	}
	return nil
}

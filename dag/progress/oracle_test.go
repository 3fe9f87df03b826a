package progress_test

import (
	"slices"

	"github.com/ax-run/ax/dag/progress"
)

// oracle says what a shape's expressions do, for the generation that its snapshot has come to.
type oracle struct {
	shape
	snap *progress.Snapshot
}

var errExpression = &progress.Error{Class: progress.Permanent, Code: "expression_error"}

func (s shape) answer(i, generation int) answer {
	all := s.nodes[i].answers
	return all[generation%len(all)]
}

func (o *oracle) answer(i int) answer { return o.shape.answer(i, o.snap.Nodes[i].Generation) }

// When implements progress.Evaluator.
func (o *oracle) When(i int) (bool, *progress.Error) {
	says := o.answer(i).when
	if says == fails {
		return false, errExpression
	}
	return says == holds, nil
}

// Branch implements progress.Evaluator.
func (o *oracle) Branch(i int) ([]int, *progress.Error) {
	if o.answer(i).work == fails {
		return nil, errExpression
	}
	return o.answer(i).taken, nil
}

// Expand implements progress.Evaluator.
func (o *oracle) Expand(i int) (int, *progress.Error) {
	if o.answer(i).work == fails {
		return 0, errExpression
	}
	return o.answer(i).total, nil
}

// Until implements progress.Evaluator.
func (o *oracle) Until(i int) *progress.Error {
	if o.answer(i).work == fails {
		return errExpression
	}
	return nil
}

// fork is a copy of a snapshot that shares nothing with it.
func (s shape) fork(snap *progress.Snapshot) *progress.Snapshot {
	out := *snap
	out.Nodes = slices.Clone(out.Nodes)
	for i := range out.Nodes {
		out.Nodes[i].Shards = slices.Clone(out.Nodes[i].Shards)
	}
	out.Eval = &oracle{shape: s, snap: &out}
	return &out
}

// plain is a snapshot as the reference speaks of it: what there is, but not why it ended, nor who evaluates.
func (s shape) plain(snap *progress.Snapshot) progress.Snapshot {
	out := *s.fork(snap)
	out.Eval = nil
	for i := range out.Nodes {
		out.Nodes[i].Reason = ""
		for j := range out.Nodes[i].Shards {
			out.Nodes[i].Shards[j].Reason = ""
		}
	}
	return out
}

// spot is a node, or one of its shards.
type spot struct{ node, shard int }

func factsOf(s *progress.Snapshot, at spot) *progress.Node {
	if at.shard == progress.Whole {
		return &s.Nodes[at.node]
	}
	return &s.Nodes[at.node].Shards[at.shard]
}

// spots are all nodes and shards there are, in order.
func spots(s *progress.Snapshot) (all []spot) {
	for i := range s.Nodes {
		all = append(all, spot{i, progress.Whole})
		for j := range s.Nodes[i].Shards {
			all = append(all, spot{i, j})
		}
	}
	return all
}

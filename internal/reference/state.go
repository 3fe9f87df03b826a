package reference

import (
	"slices"

	"github.com/ax-run/ax/dag/progress"
)

// Spot is a node, or one of its shards.
type Spot struct{ Node, Shard int }

// At is the facts of a spot.
func At(s *progress.Snapshot, at Spot) *progress.Node {
	if at.Shard == progress.Whole {
		return &s.Nodes[at.Node]
	}
	return &s.Nodes[at.Node].Shards[at.Shard]
}

// Spots are all nodes and shards there are, in order.
func Spots(s *progress.Snapshot) (all []Spot) {
	for i := range s.Nodes {
		all = append(all, Spot{i, progress.Whole})
		for j := range s.Nodes[i].Shards {
			all = append(all, Spot{i, j})
		}
	}
	return all
}

// Plain is a copy of a snapshot as the reference speaks of it: what there is, but not why it ended, nor who evaluates.
func Plain(s *progress.Snapshot) progress.Snapshot {
	out := *s
	out.Eval = nil
	out.Nodes = slices.Clone(out.Nodes)
	for i := range out.Nodes {
		out.Nodes[i].Shards = slices.Clone(out.Nodes[i].Shards)
	}
	for _, at := range Spots(&out) {
		At(&out, at).Reason = ""
	}
	return out
}

// Live reports whether something is queued, running or held.
func Live(s progress.State) bool {
	return slices.Contains([]progress.State{progress.Waiting, progress.Queued, progress.Running, progress.Retrying}, s)
}

// Answer is what a node's expressions say in one of its generations.
func (s Shape) Answer(i, generation int) Answer {
	all := s.Nodes[i].Answers
	return all[(generation-1)%len(all)]
}

// Generations is the sum of the generations of all nodes: it rises whenever one is begun anew.
func (r *Twin) Generations() (sum int) {
	for i := range r.Snapshot.Nodes {
		sum += r.Snapshot.Nodes[i].Generation
	}
	return sum
}

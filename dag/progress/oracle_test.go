package progress_test

import (
	"slices"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/reference"
)

// oracle says what a shape's expressions do, for the generation that its snapshot has come to.
type oracle struct {
	reference.Shape
	snap *progress.Snapshot
}

var errExpression = &progress.Error{Class: progress.Permanent, Code: "expression_error"}

func (o *oracle) answer(i int) reference.Answer { return o.Answer(i, o.snap.Nodes[i].Generation) }

// When implements progress.Evaluator.
func (o *oracle) When(i int) (bool, *progress.Error) {
	says := o.answer(i).When
	if says == reference.Breaks {
		return false, errExpression
	}
	if says == reference.IfOutput {
		parent := o.snap.Nodes[o.Nodes[i].Needs[0]]
		return parent.State == progress.Succeeded && parent.Reason != progress.ReasonMarked, nil
	}
	return says == reference.Holds, nil
}

// Branch implements progress.Evaluator.
func (o *oracle) Branch(i int) ([]int, *progress.Error) {
	return o.answer(i).Taken, o.Until(i)
}

// Expand implements progress.Evaluator.
func (o *oracle) Expand(i int) (int, *progress.Error) {
	return o.answer(i).Total, o.Until(i)
}

// Until implements progress.Evaluator.
func (o *oracle) Until(i int) *progress.Error {
	if o.answer(i).Work == reference.Breaks {
		return errExpression
	}
	return nil
}

// fork is a copy of a snapshot that shares nothing with it.
func fork(s reference.Shape, snap *progress.Snapshot) *progress.Snapshot {
	out := *snap
	out.Nodes = slices.Clone(out.Nodes)
	for i := range out.Nodes {
		out.Nodes[i].Shards = slices.Clone(out.Nodes[i].Shards)
	}
	out.Eval = &oracle{Shape: s, snap: &out}
	return &out
}

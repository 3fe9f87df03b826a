package progress

import "github.com/ax-run/ax/dag"

// Tally counts a node's direct parents by class (S14): S succeeded or tolerated
// failure, F failed, U upstream_failed, C canceled, K skipped.
type Tally struct {
	S, F, U, C, K int
	Total         int
}

// add counts one terminal parent.
func (t *Tally) add(n *Node) {
	switch {
	case n.State == Succeeded, n.State == Failed && n.Tolerated:
		t.S++
	case n.State == Failed:
		t.F++
	case n.State == UpstreamFailed:
		t.U++
	case n.State == Canceled:
		t.C++
	case n.State == Skipped:
		t.K++
	}
}

// bad is how many parents did not get their work done.
func (t Tally) bad() int { return t.F + t.U + t.C }

func (t Tally) all() bool { return t.S+t.F+t.U+t.C+t.K == t.Total }

// Decide applies a trigger rule (S14). It answers Queued (may run), UpstreamFailed, Skipped, or
// Pending when it is too early to tell. Only the rules marked early may answer Queued before
// every parent is terminal; nothing else is decided before that.
func Decide(rule dag.Rule, t Tally) State {
	r := rules[rule]
	if (r.early || t.all()) && r.runs(t) {
		return Queued
	}
	if !t.all() {
		return Pending
	}
	if r.upstreamFailed != nil && r.upstreamFailed(t) {
		return UpstreamFailed
	}
	return Skipped
}

// ruling is one row of the table of S14; what neither runs nor is upstream_failed is skipped.
type ruling struct {
	early          bool
	runs           func(Tally) bool
	upstreamFailed func(Tally) bool
}

func anyBad(t Tally) bool { return t.bad() > 0 }

var rules = map[dag.Rule]ruling{
	dag.AllSuccess:  {false, func(t Tally) bool { return t.S == t.Total }, anyBad},
	dag.AllFailed:   {false, func(t Tally) bool { return t.bad() == t.Total }, nil},
	dag.AllDone:     {false, func(Tally) bool { return true }, nil},
	dag.OneSuccess:  {true, func(t Tally) bool { return t.S > 0 }, anyBad},
	dag.OneFailed:   {true, func(t Tally) bool { return t.bad() > 0 }, nil},
	dag.OneDone:     {true, func(t Tally) bool { return t.S+t.F > 0 }, anyBad},
	dag.NoneFailed:  {false, func(t Tally) bool { return t.bad() == 0 }, anyBad},
	dag.NoneSkipped: {false, func(t Tally) bool { return t.K == 0 }, nil},
	dag.Always:      {true, func(Tally) bool { return true }, nil},
	dag.NoneFailedMinOneSuccess: {false,
		func(t Tally) bool { return t.bad() == 0 && t.S > 0 }, anyBad},
}

// Need is how many successes among n parents start a node of this rule while a run is clean (all
// its outcomes are successes), or 0 when successes alone never start it. It lets the fast path
// count arrivals instead of reading every parent.
func Need(rule dag.Rule, n int) int {
	switch {
	case !rules[rule].runs(Tally{S: n, Total: n}):
		return 0
	case rules[rule].early:
		return 1
	}
	return n
}

package progress

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ax-run/ax/dag"
)

// expand splits a node (S21): its shards start, each with attempts and retries of its own, and it runs until they have ended.
func (a *advance) expand(i int) {
	n := &a.snap.Nodes[i]
	total, err := a.snap.Eval.Expand(i)
	switch {
	case err != nil:
		a.broken(i, err)
		return
	case total == 0:
		a.derive(i, Skipped, ReasonEmpty)
		return
	}
	n.State, n.Shards = Running, make([]Node, total)
	a.steps = append(a.steps, Step{Expand: &Expand{Node: i, Generation: n.Generation, Total: total}})
	for s := range n.Shards {
		n.Shards[s] = Node{State: Pending, Generation: n.Generation}
	}
	a.startShards(i)
}

// startShards starts the shards that have not begun.
func (a *advance) startShards(i int) {
	for s := range a.snap.Nodes[i].Shards {
		if a.snap.Nodes[i].Shards[s].State == Pending {
			a.start(i, s, ReasonShards)
		}
	}
}

// endShards ends a split node whose shards have all ended.
func (a *advance) endShards(i int) {
	if n := &a.snap.Nodes[i]; n.Shards != nil {
		if _, open := countShards(n); open == 0 {
			a.shardEnded(i)
		}
	}
}

// shardEnded ends a split node when its last shard has ended; with fail_fast it stops the others as soon as it cannot succeed any more.
func (a *advance) shardEnded(i int) {
	n := &a.snap.Nodes[i]
	if n.State != Running {
		return
	}
	node := a.g.At(i).Node
	good, open := countShards(n)
	need := Needed(node.Success, len(n.Shards))
	if open > 0 && node.FailFast && good+open < need {
		a.stopShards(i, ReasonFailFast)
		return
	}
	if open > 0 {
		return
	}
	end := End{Node: i, Shard: Whole, Generation: n.Generation, Attempt: n.Attempt + 1, State: Succeeded, Reason: ReasonShards}
	if good >= need {
		a.end(end)
		return
	}
	end.Err = &Error{Class: Permanent, Code: "shards_failed", Message: fmt.Sprintf("%d of %d shards succeeded, %d had to", good, len(n.Shards), need)}
	a.giveUp(end)
}

// countShards tells how many shards did their work, or had none, and how many have not ended.
func countShards(n *Node) (good, open int) {
	for s := range n.Shards {
		switch state := n.Shards[s].State; {
		case state == Succeeded, state == Skipped:
			good++
		case !state.Terminal():
			open++
		}
	}
	return good, open
}

// stopShards cancels the shards that have not ended; the last of them ends the node, if it runs.
func (a *advance) stopShards(i int, why Reason) {
	n := &a.snap.Nodes[i]
	for s := range n.Shards {
		f := &n.Shards[s]
		if f.State.Terminal() {
			continue
		}
		a.end(End{Node: i, Shard: s, Generation: f.Generation, Attempt: max(f.Attempt, 1), State: Canceled, Live: f.State.Live(), Reason: why})
	}
}

// Needed is how many of total shards must succeed under a success rule: all, any, at_least N or at_least P%.
func Needed(rule dag.Success, total int) int {
	switch rule {
	case "", "all":
		return total
	case "any":
		return min(1, total)
	}
	text := strings.TrimPrefix(string(rule), "at_least ")
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.ParseFloat(percent, 64)
		if err != nil {
			return total
		}
		return min(total, int(p*float64(total)/100+0.999999))
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return total
	}
	return min(n, total)
}

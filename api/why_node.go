package api

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ax-run/ax/dag/progress"
)

// focus is the node of a run that matters: what failed first and was not tolerated; while it runs else what waits, then what runs; where
// it succeeded what failed and was tolerated. -1 for none.
func focus(run *RunDetail, nodes []NodeRun) int {
	best, rank := -1, 0
	for i := range nodes {
		r := weight(run, &nodes[i])
		if r > rank || r == rank && r > 0 && before(&nodes[i], &nodes[best]) {
			best, rank = i, r
		}
	}
	return best
}

// weight is how much a node matters; 0 is not at all.
func weight(run *RunDetail, n *NodeRun) int {
	over := progress.State(run.State).Terminal()
	switch state := progress.State(n.State); {
	case state == progress.Failed && !n.Tolerated:
		return 9
	case state == progress.Failed && run.State == string(progress.Succeeded):
		return 8
	case state == progress.Canceled && n.Reason == string(progress.ReasonRunTimeout):
		return 7
	case over:
		return 0
	case state == progress.Waiting:
		return 6
	case state == progress.Retrying:
		return 5
	case state == progress.Queued:
		return 4
	case state == progress.Running && n.Shards != nil && n.Shards.Waiting > 0 && n.Shards.Running == 0:
		return 4
	case state == progress.Running:
		return 3
	case state == progress.Pending:
		return 1
	}
	return 0
}

// before reports whether a node came to its state before another; where that is not known their order stays.
func before(a, b *NodeRun) bool {
	for _, pair := range [][2]*time.Time{{a.FinishedAt, b.FinishedAt}, {a.StartedAt, b.StartedAt}, {a.QueuedAt, b.QueuedAt}} {
		if pair[0] != nil && pair[1] != nil {
			return pair[0].Before(*pair[1])
		}
	}
	return false
}

// nodeStep tells how the node is that matters.
func (f *whyFacts) nodeStep() finding {
	if f.node == nil {
		if f.run == nil {
			return finding{WhyStep: WhyStep{State: stepNotReached}}
		}
		return fine(Reason(f.run.State), f.counts())
	}
	n := f.node
	got := f.nodeFinding()
	got.Message = n.Node + ": " + got.Message
	return got.by(Evidence{NodeRun: n.ID, BlockedBy: n.BlockedBy, Attempts: n.History})
}

func (f *whyFacts) nodeFinding() finding {
	n := f.node
	switch state := progress.State(n.State); {
	case state == progress.Failed && n.Tolerated:
		return fine(f.failure(), strings.TrimSpace(f.failedText()+", tolerated"))
	case state == progress.Failed:
		return off(f.failure(), f.failedText())
	case state == progress.UpstreamFailed:
		return off(FailedAbove, f.aboveText())
	case state == progress.Skipped:
		reason, text := f.skippedText()
		return off(reason, text)
	case state == progress.Canceled:
		reason, text := f.stoppedText()
		return off(reason, text)
	case state == progress.Succeeded:
		return fine(RunSucceeded, "succeeded"+f.onAttempt())
	case n.BlockedBy != nil:
		text, _ := f.blockedText()
		return holds(n.BlockedBy.Reason, text)
	case state == progress.Queued:
		return holds(AllSaturated, fmt.Sprintf("queued since %s, and no worker has had room for it", f.clock.brief(*n.QueuedAt)))
	}
	return fine(NowRunning, f.runningText())
}

// failure is the reason of a node that failed.
func (f *whyFacts) failure() Reason {
	n := f.node
	switch {
	case n.Shards != nil && n.Shards.Total > 0:
		return ShardsPartial
	case n.Error == nil:
		return NodeFailed
	case slices.Contains([]Reason{PoolFull, QueueFull, ExpiredWaiting}, Reason(n.Error.Code)):
		return Reason(n.Error.Code)
	case n.Error.Class == string(progress.Timeout):
		return TimedOut
	case n.Error.Class == string(progress.Lost):
		return HeartbeatLost
	}
	return NodeFailed
}

func (f *whyFacts) failedText() string {
	n := f.node
	text := "failed" + f.onAttempt()
	switch {
	case n.Shards != nil && len(n.Shards.Failures) > 0:
		first := n.Shards.Failures[0]
		text += fmt.Sprintf(": %d of %s did, the first of them shard %d", n.Shards.Failed, plural(n.Shards.Total, "shard"), first.Shard)
		if first.Error != nil {
			text += ": " + oneLine(first.Error.Message)
		}
	case n.Error != nil:
		text += ": " + n.Error.text()
	case n.Reason == string(progress.ReasonMarked):
		text = "was marked as failed" + f.markedBy()
	}
	return text
}

// text is an error in a sentence.
func (e *NodeError) text() string {
	if e.Message != "" {
		return oneLine(e.Message)
	}
	return strings.TrimSpace(e.Class + " " + e.Code)
}

func (f *whyFacts) markedBy() string {
	if k := len(f.node.History); k > 0 {
		last := f.node.History[k-1]
		if last.Note != "" {
			return fmt.Sprintf(" by %s (%s)", last.Actor, oneLine(last.Note))
		}
		return " by " + last.Actor
	}
	return ""
}

// onAttempt says which attempt of how many it was, where there may be several.
func (f *whyFacts) onAttempt() string {
	most := 1
	if f.policy != nil && f.policy.Retry != nil {
		most = f.policy.Retry.MaxAttempts
	}
	switch {
	case f.node.Attempts == 0 || f.node.Shards != nil || most <= 1 && f.node.Attempts <= 1:
		return ""
	case f.node.Attempts > most: // attempts that a dead worker lost do not count
		return fmt.Sprintf(" on attempt %d", f.node.Attempts)
	}
	return fmt.Sprintf(" on attempt %d of %d", f.node.Attempts, most)
}

// nodeCause is a node that failed or was stopped, as part of a sentence.
func (f *whyFacts) nodeCause() string {
	if progress.State(f.node.State) == progress.Failed {
		return fmt.Sprintf("node %s %s", f.node.Node, f.failedText())
	}
	_, text := f.stoppedText()
	return fmt.Sprintf("node %s %s", f.node.Node, text)
}

// aboveText names the node whose failure kept this one from running.
func (f *whyFacts) aboveText() string {
	if root := f.failedAbove(); root != nil {
		text := fmt.Sprintf("did not run because node %s failed", root.Node)
		if root.Error != nil {
			text += ": " + root.Error.text()
		}
		return text
	}
	return "did not run because of what came before it"
}

// failedAbove is the nearest node above that failed or was canceled; nil for none.
func (f *whyFacts) failedAbove() *NodeRun {
	at := make(map[string]*NodeRun, len(f.nodes))
	for i := range f.nodes {
		at[f.nodes[i].Node] = &f.nodes[i]
	}
	seen := map[string]bool{}
	for level := f.node.Needs; len(level) > 0; {
		var above []string
		for _, name := range level {
			n := at[name]
			if n == nil || seen[name] {
				continue
			}
			seen[name] = true
			if n.State == string(progress.Failed) && !n.Tolerated {
				return n
			}
			above = append(above, n.Needs...)
		}
		level = above
	}
	return nil
}

func (f *whyFacts) skippedText() (Reason, string) {
	switch progress.Reason(f.node.Reason) {
	case progress.ReasonCondition:
		when := ""
		if f.policy != nil && f.policy.When != "" {
			when = fmt.Sprintf(" (when: %s)", oneLine(f.policy.When))
		}
		return ConditionFalse, "was skipped because its condition is false" + when
	case progress.ReasonBranch:
		return BranchNotTaken, "was skipped because a branch took another way"
	case progress.ReasonEmpty:
		return SkippedByRule, "was skipped because it was split into nothing"
	case progress.ReasonMarked:
		return SkippedByRule, "was marked as skipped" + f.markedBy()
	case progress.ReasonTest:
		return SkippedByRule, "was not part of the test run"
	case progress.ReasonOverlap:
		return SkippedOverlap, "was skipped because too many runs waited already"
	case progress.ReasonResult:
		return SkippedByRule, "said itself that there was nothing to do"
	}
	return SkippedByRule, "was skipped because what it needs was (" + names(f.node.Needs, "and") + ")"
}

func (f *whyFacts) stoppedText() (Reason, string) {
	verb := f.progressText()
	switch progress.Reason(f.node.Reason) {
	case progress.ReasonRunTimeout:
		return TimedOut, verb + " when the run's timeout came"
	case progress.ReasonAborted:
		return AbortedByPolicy, verb + " when another node's on_failure aborted the run"
	case progress.ReasonFailFast:
		return AbortedByPolicy, verb + " when too few shards were left to succeed"
	}
	return WasCanceled, verb + " when it was canceled"
}

// progressText is how far the node was that ended without a result of its own.
func (f *whyFacts) progressText() string {
	if f.node.StartedAt != nil {
		return "was running"
	}
	return "had not begun"
}

func (f *whyFacts) runningText() string {
	n := f.node
	if n.Shards != nil {
		return fmt.Sprintf("%d of %s have ended, %d run", n.Shards.Total-n.Shards.Running-n.Shards.Waiting, plural(n.Shards.Total, "shard"), n.Shards.Running)
	}
	text := "running" + f.onAttempt()
	if n.StartedAt != nil {
		text += " since " + f.clock.brief(*n.StartedAt)
	}
	return text
}

package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ax-run/ax/dag/progress"
)

// nodeNow is how the node is of a run that goes on, as part of a sentence, and what may help.
func (f *whyFacts) nodeNow() (text string, do []string) {
	n := f.node
	switch state := progress.State(n.State); {
	case state == progress.Failed:
		return "goes on, and will fail: " + f.nodeCause(), []string{"ax rerun " + f.run.ID}
	case n.BlockedBy != nil:
		text, do = f.blockedText()
		return fmt.Sprintf("waits at node %s: %s", n.Node, text), do
	case state == progress.Queued:
		return fmt.Sprintf("waits at node %s, which is queued since %s: no worker of queue %s has had room for it", n.Node, f.clock.brief(*n.QueuedAt), f.queue),
			[]string{"ax queues list"}
	}
	ended := 0
	for i := range f.nodes {
		if progress.State(f.nodes[i].State).Terminal() {
			ended++
		}
	}
	return fmt.Sprintf("goes on: %d of %s have ended, and node %s is %s", ended, plural(len(f.nodes), "node"), n.Node, f.runningText()), nil
}

// blockedText says what holds the node, and what may help.
func (f *whyFacts) blockedText() (text string, do []string) {
	n, b := f.node, f.node.BlockedBy
	text = b.Message
	switch b.Reason {
	case NoMatchingWorker:
		text = f.workerText()
		do = []string{"ax worker"}
	case PoolWait:
		if len(b.Holders) > 0 {
			text += "; they are held by " + names(b.Holders, "and")
		}
		do = withWord("ax pools show", b.Pools)
	case RateLimited:
		text += ", and lets this one start at " + f.clock.brief(*b.Until)
	case RetryBackoff:
		text = fmt.Sprintf("attempt %d is due at %s", n.Attempts+1, f.dueText(b.Until))
		if n.Error != nil {
			text += fmt.Sprintf("; attempt %d failed: %s", n.Attempts, n.Error.text())
		}
	case AwaitingSignal:
		text = "it waits for somebody to approve it"
		do = []string{"ax approve " + f.run.ID + ":" + n.Node}
	case NotYetDue:
		text = "it waits until " + f.dueText(b.Until)
	case Paused:
		do = f.resumeText(b)
	}
	if b.Since != nil && b.Reason != RetryBackoff && b.Reason != NotYetDue {
		text += fmt.Sprintf(" (since %s)", f.clock.brief(b.Since.Truncate(time.Second)))
	}
	return text, do
}

func (f *whyFacts) dueText(at *time.Time) string {
	if at == nil {
		return "a time to come"
	}
	return f.clock.brief(at.Truncate(time.Second))
}

// resumeText is what lets go on what is paused.
func (f *whyFacts) resumeText(b *BlockedBy) []string {
	switch {
	case len(b.Pools) > 0:
		return withWord("ax pools resume", b.Pools)
	case strings.HasPrefix(b.Message, "queue "):
		return []string{"ax queues resume " + f.queue}
	}
	return []string{"ax release " + f.run.ID}
}

// workerText says why no worker takes the node (S26, S27).
func (f *whyFacts) workerText() string {
	var unheard, draining, unfit, without []string
	for _, w := range f.workers {
		switch {
		case w.Takes && (w.State == "lost" || w.State == "suspect"):
			unheard = append(unheard, fmt.Sprintf("%s, which has it, is %s (heard last at %s)", w.Name, w.State, f.clock.brief(w.BeatAt.Truncate(time.Second))))
		case w.State == "draining":
			draining = append(draining, w.Name)
		case w.State == "online" && w.Takes && !w.Fits:
			unfit = append(unfit, w.Name)
		case w.State == "online":
			without = append(without, w.Name)
		}
	}
	text := fmt.Sprintf("no live worker takes %s on queue %s", work(f.kind), f.queue)
	switch {
	case len(unheard) > 0:
		return text + "; " + names(unheard, "and")
	case len(unfit) > 0:
		return text + fmt.Sprintf("; %s would, but %s", names(unfit, "and"), f.routeText())
	case len(without) > 0:
		return text + fmt.Sprintf("; the queue is taken by %s, without it", names(without, "and"))
	case len(draining) > 0:
		return text + fmt.Sprintf("; draining, and given nothing new: %s", names(draining, "and"))
	}
	return text + "; no worker takes that queue at all"
}

// routeText is what the node asks of its worker.
func (f *whyFacts) routeText() string {
	if f.policy == nil {
		return "the node's route asks for another"
	}
	var asks []string
	for _, name := range slices.Sorted(maps.Keys(f.policy.Labels)) {
		asks = append(asks, fmt.Sprintf("label %s=%s", name, f.policy.Labels[name]))
	}
	if r := f.policy.Route; r != nil && r.Worker != "" {
		asks = append(asks, "worker "+r.Worker)
	}
	if len(asks) == 0 {
		return "the node's route asks for another"
	}
	return "the node asks for " + names(asks, "and")
}

// workerReason is the reason for workerText.
func (f *whyFacts) workerReason() Reason {
	reason := NoMatchingWorker
	for _, w := range f.workers {
		switch {
		case w.Takes && (w.State == "lost" || w.State == "suspect"):
			return HeartbeatLost
		case w.State == "online" && !w.Takes:
			reason = HandlerNotRegistered
		}
	}
	return reason
}

// workerStep tells who worked on the node, or why nobody does.
func (f *whyFacts) workerStep() finding {
	if f.node == nil {
		return finding{WhyStep: WhyStep{State: stepNotReached}}
	}
	n := f.node
	var lost []string
	for _, h := range n.History {
		if h.Outcome == string(progress.Lost) {
			lost = append(lost, fmt.Sprintf("%s during attempt %d", h.Worker, h.Attempt))
		}
	}
	var takers []string
	for _, w := range f.workers {
		takers = append(takers, w.Name)
	}
	switch b := n.BlockedBy; {
	case b != nil && b.Reason == NoMatchingWorker:
		return holds(f.workerReason(), f.workerText()).by(Evidence{Workers: takers})
	case len(lost) > 0 && n.State != string(progress.Succeeded):
		return off(HeartbeatLost, "lost: "+names(lost, "and"))
	case n.Worker == "":
		return finding{WhyStep: WhyStep{State: stepNotReached}}
	}
	text := n.Worker
	if n.WaitMS != nil && *n.WaitMS > 0 {
		text += ", which took it after " + lasting(time.Duration(*n.WaitMS)*time.Millisecond)
	}
	if len(lost) > 0 {
		text += "; before it, lost: " + names(lost, "and")
	}
	return fine(WorkerFine, text).by(Evidence{Workers: []string{n.Worker}})
}

// works reports whether a worker runs the node, so that it has a log.
func (n *NodeRunDetail) works() bool {
	return n.Kind == "handler" || n.Kind == "http" || n.Kind == "command"
}

// began reports whether an attempt of the node has run.
func (n *NodeRunDetail) began() bool {
	return n.StartedAt != nil || slices.ContainsFunc(n.History, func(a Attempt) bool { return a.StartedAt != nil })
}

// logStep shows the line that says most likely what went wrong.
func (f *whyFacts) logStep() finding {
	if f.node == nil || !f.node.works() || !f.node.began() || f.node.State == string(progress.Succeeded) {
		return finding{WhyStep: WhyStep{State: stepNotReached}}
	}
	at := troubleLine(f.log)
	if at < 0 {
		return fine(NoOutput, "nothing was written")
	}
	const around = 2
	line := f.log[at]
	got := fine(FirstError, fmt.Sprintf("line %d of attempt %d: %s", at+1, line.Attempt, oneLine(line.Text)))
	if troubleWord.MatchString(line.Text) {
		got.State = stepProblem
	}
	return got.by(Evidence{NodeRun: f.node.ID, Line: at + 1, Lines: f.log[max(at-around, 0):min(at+around+1, len(f.log))]})
}

// nodeVerdict is the answer about one node run.
func (f *whyFacts) nodeVerdict() (verdict string, do []string) {
	n := f.node
	head := fmt.Sprintf("Node %s of run %s (%s) ", n.Node, f.run.ID, f.workflow.Code)
	switch state := progress.State(n.State); {
	case state == progress.Succeeded:
		return head + "succeeded" + f.onAttempt() + f.nodeTook(), nil
	case state == progress.Failed:
		text := head + f.failedText()
		if n.Tolerated {
			return text + ", which is tolerated", nil
		}
		return text, []string{"ax rerun " + f.run.ID + " " + n.Node}
	case state == progress.UpstreamFailed:
		return head + f.aboveText(), []string{"ax rerun " + f.run.ID}
	case state == progress.Skipped:
		_, text := f.skippedText()
		return head + text, nil
	case state == progress.Canceled:
		_, text := f.stoppedText()
		return head + "was stopped: it " + text, []string{"ax rerun " + f.run.ID + " " + n.Node}
	case n.BlockedBy != nil:
		text, do := f.blockedText()
		return head + "waits: " + text, do
	case state == progress.Queued:
		return fmt.Sprintf("%sis queued since %s: no worker of queue %s has had room for it", head, f.clock.brief(*n.QueuedAt), f.queue), nil
	}
	return head + "is " + f.runningText(), nil
}

func (f *whyFacts) nodeTook() string {
	if f.node.TotalMS == nil {
		return ""
	}
	return " after " + lasting(time.Duration(*f.node.TotalMS)*time.Millisecond)
}

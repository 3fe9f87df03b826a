package api

import (
	"context"
	"fmt"
	"strings"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// maxAwaited is how many nodes are named that another waits for.
const maxAwaited = 10

// explainPending says of pending nodes which nodes they wait for (S25).
func (a *API) explainPending(ctx context.Context, run store.RunRow, g *dag.Graph, nodes []NodeRun) error {
	var parents []int
	seen := make(map[int]bool)
	for i := range nodes {
		for _, p := range awaited(g, &nodes[i]) {
			if !seen[p] {
				seen[p] = true
				parents = append(parents, p)
			}
		}
	}
	facts, err := a.nodeFacts(ctx, run.ID, g, parents, 0)
	if err != nil {
		return err
	}
	for i := range nodes {
		var open []string
		for _, p := range awaited(g, &nodes[i]) {
			name := g.At(p).Name
			if v := nodeView(run.ID, g, p, facts[name].newest()); !progress.State(v.State).Terminal() {
				open = append(open, name)
			}
		}
		nodes[i].awaits(run, open)
	}
	return nil
}

// awaited are the parents of a pending node.
func awaited(g *dag.Graph, n *NodeRun) []int {
	at, ok := g.Index(n.Node)
	if !ok || n.State != string(progress.Pending) {
		return nil
	}
	return g.At(at).Parents
}

// awaits says what a pending node waits for: its run, the nodes that have not ended, or only the engine.
func (n *NodeRun) awaits(run store.RunRow, open []string) {
	if n.State != string(progress.Pending) || run.State.Terminal() {
		return
	}
	b := &BlockedBy{Reason: UpstreamRunning, Message: "it is decided next"}
	switch {
	case run.State == progress.Queued:
		b.Reason, b.Message = QueuedMaxActive, "its run has not begun"
	case n.Finally:
		b.Message = "it starts when every other node has ended"
	case len(open) > 0:
		b.Nodes = open[:min(len(open), maxAwaited)]
		b.Message = "it waits for " + strings.Join(b.Nodes, ", ")
		if more := len(open) - len(b.Nodes); more > 0 {
			b.Message += fmt.Sprintf(" and %d more", more)
		}
	}
	n.BlockedBy = b
}

package sdk

import (
	"time"

	"github.com/ax-run/ax/dag"
)

// Queue names the queue whose workers run the node.
func Queue(name string) NodeOption {
	return nodeOption(func(n *node) { n.Queue = name })
}

// Pool makes the node take a slot of a pool while it is queued or runs (S23); of several pools it takes all at once.
func Pool(name string) NodeOption { return PoolWeight(name, 1) }

// PoolWeight makes the node take so many slots of a pool at once.
func PoolWeight(name string, weight int) NodeOption {
	return nodeOption(func(n *node) { n.Pools = append(n.Pools, dag.PoolUse{Pool: name, Weight: weight}) })
}

// QueueTimeout is how long an attempt may wait to begin (S17).
func QueueTimeout(d time.Duration) NodeOption {
	return nodeOption(func(n *node) { n.QueueTimeout = dag.Duration(d) })
}

// HandlerName names the node's function among the handlers of all workers. Without it the name is workflow.node.
func HandlerName(name string) NodeOption {
	return nodeOption(func(n *node) { n.Handler = name })
}

// The choices of OnFailure.
const (
	AbortChain = dag.AbortChain
	SkipNode   = dag.SkipNode
	AbortRun   = dag.AbortRun
)

// OnFailure says what the node's final failure does to the run (S16). After SkipNode the node's output may be null:
// those that take it must be able to hold null, see Maybe.
func OnFailure(policy dag.OnFailure) NodeOption {
	return nodeOption(func(n *node) { n.OnFailure = policy })
}

// Finally makes the node run when all ordinary nodes have ended, whatever became of them (S16). What it takes from
// them may be null, see Maybe.
func Finally() NodeOption {
	return nodeOption(func(n *node) { n.Finally = true })
}

// The choices of TriggerRule.
const (
	AllSuccess = dag.AllSuccess
	AllDone    = dag.AllDone
	OneFailed  = dag.OneFailed
)

// TriggerRule says which ends of its parents start the node (S14). With any rule but AllSuccess what it takes from
// them may be null, see Maybe.
func TriggerRule(rule dag.Rule) NodeOption {
	return nodeOption(func(n *node) { n.TriggerRule = rule })
}

// After makes the node wait for others without taking their outputs.
func After(parents ...Declared) NodeOption {
	return nodeOption(func(n *node) {
		for _, p := range parents {
			if p == nil {
				n.wrong("needs", dag.CodeUnknownNode, "After names a node that was never declared")
				continue
			}
			n.need(p.declared())
		}
	})
}

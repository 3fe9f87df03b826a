package dag

import (
	"slices"
)

// maxJoinBranches bounds the look for joins behind branches, which costs a pass over the graph for each
// branch and only gives warnings.
const maxJoinBranches = 500

// branches checks every branch against its neighbours: what it takes are its children, each child is
// taken by some case, and the arms do not meet in a join that wants them all.
func (c *checker) branches(e edges, order []int) {
	count := 0
	for i, name := range c.names {
		n := c.def.Nodes[name]
		if n == nil || n.Branch == nil {
			continue
		}
		arms := c.arms(i, n.Branch, e)
		for _, child := range e.children[i] {
			c.taken(i, child, arms)
		}
		if count++; count <= maxJoinBranches {
			c.joins(i, arms, e, order)
		}
	}
}

// arms checks the names that a branch takes, and returns for each child the set of cases that take it,
// one bit each; the default is the last. Cases beyond the 63rd share a bit.
func (c *checker) arms(i int, b *Branch, e edges) map[int]uint64 {
	at := c.at(c.names[i]).key("branch")
	arms := map[int]uint64{}
	read := func(at *place, to []string, arm int) {
		for k, name := range to {
			child, ok := c.index[name]
			switch {
			case !ok:
				c.unknownNode(at.at(k), name)
			case !slices.Contains(e.children[i], child):
				c.add(at.at(k), CodeNotChild, "the branch takes %s, which does not need it", clip(name)).
					hint("add %s to the needs of %s", clip(c.names[i]), clip(name)).value(name)
			case c.def.Nodes[name].Finally:
				c.add(at.at(k), CodeFinally, "%s is a finally node and starts whatever the branch takes", clip(name)).value(name)
			default:
				arms[child] |= 1 << min(arm, 63)
			}
		}
	}
	for k, arm := range b.Cases {
		read(at.key("cases").at(k).key("to"), arm.To, k)
	}
	read(at.key("default"), b.Default, len(b.Cases))
	return arms
}

// taken refuses a child that no case takes and whose rule cannot do without it: an edge not taken counts as skipped.
func (c *checker) taken(branch, child int, arms map[int]uint64) {
	name := c.names[child]
	n := c.def.Nodes[name]
	if n == nil || n.Finally || arms[child] != 0 {
		return
	}
	switch n.TriggerRule {
	case "", AllSuccess, AllFailed, NoneSkipped:
	case OneSuccess, OneFailed, OneDone, NoneFailedMinOneSuccess:
		if len(n.Needs) > 1 {
			return
		}
	default:
		return
	}
	c.add(c.at(name), CodeNeverRuns, "the node can never run: no case of branch %s takes it", clip(c.names[branch])).
		hint("add it to a case's to, or to default")
}

// joins warns of nodes that want all of several parents which a branch never takes together: such a node is
// skipped whenever the branch takes less. reached holds for each node behind the branch the cases in
// which it may run; 0 is every other node.
func (c *checker) joins(branch int, arms map[int]uint64, e edges, order []int) {
	reached := make([]uint64, len(c.names))
	for _, v := range order {
		n := c.def.Nodes[c.names[v]]
		if n == nil || n.Finally || or(n.TriggerRule, AllSuccess) != AllSuccess {
			reached[v] = arms[v]
			continue
		}
		all, some := ^uint64(0), arms[v]
		if some != 0 {
			all = some
		}
		for _, p := range e.parents[v] {
			if reached[p] != 0 {
				all, some = all&reached[p], some|reached[p]
			}
		}
		if some == 0 {
			continue
		}
		reached[v] = all
		if all != some {
			c.join(branch, v)
		}
	}
}

func (c *checker) join(branch, child int) {
	name := c.names[child]
	c.add(c.at(name), CodeJoinOfBranch, "%s waits for the success of nodes that branch %s never takes together, and is skipped when one of them is",
		clip(name), clip(c.names[branch])).warn().
		hint("write trigger_rule: %s", NoneFailedMinOneSuccess)
}

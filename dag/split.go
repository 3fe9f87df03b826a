package dag

// Split reports whether the node splits into shards (S21).
func (n *Node) Split() bool { return n.Shards != "" || n.ForEach != "" }

// Special reports whether a node needs more than a job when its rule holds: a condition, shards, a pool, or a kind that no worker
// runs.
func (v *Vertex) Special() bool {
	return len(v.Node.Pools) > 0 || v.Undecided()
}

// Undecided reports whether more is to be found out before a node whose rule holds begins, than where.
func (v *Vertex) Undecided() bool {
	n := v.Node
	return v.When != nil || n.Split() || n.Branch != nil || n.Wait != nil || n.Approval != nil || n.Child != nil
}

package dag

// Split reports whether the node splits into shards (S21).
func (n *Node) Split() bool { return n.Shards != "" || n.ForEach != "" }

// Special reports whether a node needs more than a job when its rule holds: a condition, shards, a pool, or a kind that no worker
// runs.
func (v *Vertex) Special() bool {
	n := v.Node
	return v.When != nil || n.Split() || len(n.Pools) > 0 || n.Branch != nil || n.Wait != nil || n.Approval != nil || n.Child != nil
}

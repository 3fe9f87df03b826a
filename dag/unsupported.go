package dag

// unsupported notes what the definition language has and this version does not run yet. Each entry of
// the tables goes when the thing is built.
func (c *checker) unsupported() {
	var root *place
	for _, f := range workflowFeatures {
		if key := f.used(c.def); key != "" {
			c.refuse(root.key(key), f.what)
		}
	}
	for _, name := range c.names {
		n := c.def.Nodes[name]
		for _, f := range nodeFeatures {
			if n == nil {
				break
			}
			if key := f.used(n); key != "" {
				c.refuse(c.at(name).key(key), f.what)
			}
		}
	}
}

func (c *checker) refuse(at *place, what string) {
	c.add(at, CodeNotSupported, "this version of ax does not run %s yet", what)
}

// feature is something of a T that is not run yet; used names the key that asks for it, or "".
type feature[T any] struct {
	what string
	used func(*T) string
}

// keyIf is the key where a condition holds.
func keyIf(key string, used bool) string {
	if used {
		return key
	}
	return ""
}

var workflowFeatures = []feature[Definition]{}

var nodeFeatures = []feature[Node]{
	{"a shard for each worker or slot", func(n *Node) string { return keyIf("shards", n.Shards == "workers" || n.Shards == "capacity") }},
	{"labels", func(n *Node) string { return keyIf("labels", len(n.Labels) > 0) }},
	{"a route other than any", func(n *Node) string { return keyIf("route", n.Route != nil && or(n.Route.Kind, RouteAny) != RouteAny) }},
}

package dag

import (
	"regexp"
	"strconv"
)

// place is where something stands in a definition: a path from the root, which is nil.
type place struct {
	up *place
	// name is the key in an object; index is the position in a list when name is not used.
	name   string
	index  int
	inList bool
}

func (p *place) key(name string) *place { return &place{up: p, name: name} }

func (p *place) at(i int) *place { return &place{up: p, index: i, inList: true} }

// under follows keys one after another.
func (p *place) under(names ...string) *place {
	for _, n := range names {
		p = p.key(n)
	}
	return p
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,59}$`)

// String is the path as people read it: nodes.clean.retry.delays[2], nodes["a.b"].
func (p *place) String() string {
	switch {
	case p == nil:
		return ""
	case p.inList:
		return p.up.String() + "[" + strconv.Itoa(p.index) + "]"
	case !plainKey.MatchString(p.name):
		return p.up.String() + "[" + strconv.Quote(clip(p.name)) + "]"
	case p.up == nil:
		return p.name
	}
	return p.up.String() + "." + p.name
}

// clip shortens what a document says before it is said back.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

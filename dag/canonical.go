package dag

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// String is the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// EncodeDefinition writes a definition as canonical JSON: keys sorted, lists in their order, numbers exactly
// as they are. Equal definitions give equal bytes.
func EncodeDefinition(def *Definition) ([]byte, error) {
	e := encoder{}
	if e.value(reflect.ValueOf(def)); e.err != nil {
		return nil, fmt.Errorf("encode definition: %w", e.err)
	}
	return e.out, nil
}

// DecodeDefinition reads what EncodeDefinition wrote. It has no limit of size.
func DecodeDefinition(data []byte) (*Definition, error) {
	c := &collector{}
	t := readJSON(data, c)
	if t == nil {
		return nil, fmt.Errorf("decode definition: %w", c.problems())
	}
	def := &Definition{}
	decoder{c}.value(t, nil, reflect.ValueOf(def).Elem())
	if err := c.problems().Err(); err != nil {
		return nil, fmt.Errorf("decode definition: %w", err)
	}
	return def, nil
}

// UnmarshalJSON reads a definition as DecodeDefinition does: strictly, numbers exact.
func (d *Definition) UnmarshalJSON(data []byte) error {
	def, err := DecodeDefinition(data)
	if err != nil {
		return err
	}
	*d = *def
	return nil
}

// Rebuild makes the graph of a stored version. The definition passed Build before it was stored, so that
// nothing is checked again but what the graph cannot do without.
func Rebuild(canonical []byte) (*Graph, error) {
	def, err := DecodeDefinition(canonical)
	if err != nil {
		return nil, err
	}
	c := newChecker(def, BuildOptions{})
	e := c.edges()
	order, knots := e.order(c.finally)
	if knots != nil {
		return nil, fmt.Errorf("rebuild graph of %s: it has a cycle", def.Workflow)
	}
	compiled := c.compileAll(e)
	if err := c.problems().Err(); err != nil {
		return nil, fmt.Errorf("rebuild graph of %s: %w", def.Workflow, err)
	}
	g := assemble(resolve(def), layout{names: c.names, edges: e, order: order}, compiled)
	return g, g.seal("")
}

// seal takes the digest, and only then writes the zone into schedules that name none.
func (g *Graph) seal(zone string) error {
	var err error
	if g.canonical, err = EncodeDefinition(g.def); err != nil {
		return err
	}
	g.digest = sha256.Sum256(g.canonical)
	for i := range g.def.Schedules {
		if s := &g.def.Schedules[i]; s.Timezone == "" {
			s.Timezone, g.zone = zone, zone
		}
	}
	return nil
}

// MarshalJSON writes a number of shards as a number.
func (s Shards) MarshalJSON() ([]byte, error) {
	if n, err := strconv.Atoi(string(s)); err == nil {
		return json.Marshal(n)
	}
	return json.Marshal(string(s))
}

// MarshalJSON writes how many must succeed as {at_least: …}.
func (s Success) MarshalJSON() ([]byte, error) {
	count, ok := strings.CutPrefix(string(s), atLeast)
	if !ok {
		return json.Marshal(string(s))
	}
	if n, err := strconv.Atoi(count); err == nil {
		return json.Marshal(map[string]int{"at_least": n})
	}
	return json.Marshal(map[string]string{"at_least": count})
}

// MarshalJSON writes a route as documents have it.
func (r Route) MarshalJSON() ([]byte, error) {
	switch r.Kind {
	case RouteConsistentHash:
		return json.Marshal(map[string]string{RouteConsistentHash: r.Key})
	case RouteWorker:
		return json.Marshal(map[string]string{RouteWorker: r.Worker})
	}
	return json.Marshal(or(r.Kind, RouteAny))
}

package dag

import (
	"reflect"
	"strings"
)

// Parse reads a definition from YAML or JSON, strictly: an unknown key, a key said twice or a value of
// the wrong type is a problem. The definition is nil when the document could not be read at all
// (Problems.Unparsable); otherwise it holds whatever was understood, so that Build can look for
// further problems. Numbers in free values are json.Number, exactly as written.
func Parse(data []byte) (*Definition, Problems) {
	c := &collector{}
	t := read(data, c)
	if t == nil {
		return nil, c.problems()
	}
	c.text = t
	def := &Definition{}
	if t.kind == kindNull {
		c.add(nil, CodeUnparsable, "the document is empty")
		return nil, c.problems()
	}
	decoder{c}.value(t, nil, reflect.ValueOf(def).Elem())
	def.text = t
	return def, c.problems()
}

// Load is Parse and Build in one step: everything wrong with the text and with its meaning, in
// one list. The graph is nil when the definition is refused.
func Load(data []byte, opt BuildOptions) (*Graph, Problems) {
	def, written := Parse(data)
	if def == nil || def.text.kind != kindObject {
		return nil, written
	}
	g, meant := Build(def, opt)
	all := written
	for _, p := range meant {
		if !follows(p, written) {
			all = append(all, p)
		}
	}
	if all.Failed() {
		g = nil
	}
	return g, all.sorted()
}

// follows reports whether a problem of meaning only repeats that something could not be read: at its
// own place, or, where something is missing, in it. One without a place is about the whole.
func follows(p Problem, written Problems) bool {
	for _, w := range written {
		rest, within := strings.CutPrefix(w.Path, p.Path)
		switch {
		case p.Path == "":
			return true
		case !within:
		case rest == "", p.Code == CodeMissing && (rest[0] == '.' || rest[0] == '['):
			return true
		}
	}
	return false
}

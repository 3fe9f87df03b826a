package dag

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// MaxNodes is the most nodes a workflow may have.
const MaxNodes = 10_000

// maxHandler is shorter than other names because a handler's name is part of a job's kind.
const maxHandler = 120

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// ValidName reports whether a workflow, node, handler, queue, pool or the like may be called so.
func ValidName(name string) bool { return namePattern.MatchString(name) }

// checker finds what is wrong with the meaning of a definition. It reads the definition as it was
// written; a zero value means "not said".
type checker struct {
	*collector
	def   *Definition
	opt   BuildOptions
	names []string       // of the nodes, sorted
	index map[string]int // position in names
	// guesses is how many misspelt node names were still compared with all others: a bound for hostile input.
	guesses int
}

const maxGuesses = 50

func newChecker(def *Definition, opt BuildOptions) *checker {
	c := &checker{collector: &collector{text: def.text}, def: def, opt: opt}
	c.names = slices.Sorted(maps.Keys(def.Nodes))
	c.index = make(map[string]int, len(c.names))
	for i, name := range c.names {
		c.index[name] = i
	}
	return c
}

// name checks a name that must be there.
func (c *checker) name(at *place, what, name string) {
	switch {
	case name == "":
		c.add(at, CodeMissing, "%s has no name", what)
	case !ValidName(name):
		c.add(at, CodeInvalidName, "%q cannot be the name of %s", clip(name), what).value(name).
			hint("use 1 to 128 letters, digits, dots, underscores and hyphens, a letter or digit first")
	}
}

// nameIfSaid checks a name that may be left out.
func (c *checker) nameIfSaid(at *place, what, name string) {
	if name != "" {
		c.name(at, what, name)
	}
}

// choice checks a word that is left out or one of those that choices has for the key.
func (c *checker) choice(at *place, got, key string) { c.among(at, got, choices[key]...) }

func (c *checker) among(at *place, got string, allowed ...string) {
	if got == "" || slices.Contains(allowed, got) {
		return
	}
	p := c.add(at, CodeInvalidChoice, "%q is not one of %s", clip(got), strings.Join(allowed, ", ")).value(got)
	if near := Nearest(got, allowed); near != "" {
		p.hint("did you mean %q?", near)
	}
}

// number checks a number that is left out or within bounds.
func (c *checker) number(at *place, n, least, most int) {
	if n != 0 && (n < least || n > most) {
		c.add(at, CodeOutOfRange, "%d is not between %d and %d", n, least, most).value(n)
	}
}

// duration checks a duration that is left out or at least so long.
func (c *checker) duration(at *place, d, least Duration) {
	switch {
	case d == 0:
	case d < 0:
		c.add(at, CodeOutOfRange, "a duration cannot be negative").value(d.String())
	case d < least:
		c.add(at, CodeOutOfRange, "%s is too short; the least is %s", d, least).value(d.String())
	case d > maxDuration:
		c.add(at, CodeOutOfRange, "%s is too long; the most is %s", d, maxDuration).value(d.String())
	}
}

// exactlyOne notes it when not exactly one of some keys is said.
func (c *checker) exactlyOne(at *place, what string, said map[string]bool) bool {
	var have []string
	for _, key := range slices.Sorted(maps.Keys(said)) {
		if said[key] {
			have = append(have, key)
		}
	}
	switch len(have) {
	case 1:
		return true
	case 0:
		c.add(at, CodeMissing, "%s needs exactly one of %s", what, strings.Join(slices.Sorted(maps.Keys(said)), ", "))
	default:
		c.add(at, CodeConflict, "%s has %s, and only one of them is possible", what, strings.Join(have, " and ")).hint("keep one of them")
	}
	return false
}

// unknownNode notes a name that no node has.
func (c *checker) unknownNode(at *place, name string) {
	p := c.add(at, CodeUnknownNode, "there is no node %q", clip(name)).value(name)
	if c.guesses++; c.guesses > maxGuesses {
		return
	}
	if near := Nearest(name, c.names); near != "" {
		p.hint("did you mean %q?", near)
	}
}

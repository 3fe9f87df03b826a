package dag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The limits on a document. All but the first keep small documents from becoming large values: a definition
// of 10,000 nodes and 50,000 edges has less than 200,000.
const (
	MaxBytes  = 4 << 20
	maxDepth  = 100
	maxValues = 500_000
)

// read turns a document into a tree, or notes why that is impossible.
func read(data []byte, c *collector) *tree {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(data) > MaxBytes {
		c.add(nil, CodeTooLarge, "the document has %d bytes; at most %d (4 MiB) are read", len(data), MaxBytes)
		return nil
	}
	if message := unreadable(data); message != "" {
		c.add(nil, CodeUnparsable, "%s", message)
		return nil
	}
	var t *tree
	if looksJSON(data) {
		t = readJSON(data, c)
	} else {
		t = readYAML(data, c)
	}
	if t == nil {
		return nil
	}
	a := auditor{c: c}
	if a.visit(t, nil, 0); a.refused {
		return nil
	}
	return t
}

// unreadable says why bytes are no text, or "".
func unreadable(data []byte) string {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return "the document is empty"
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "the document is UTF-16; save it as UTF-8"
	case bytes.IndexByte(data, 0) >= 0:
		return "the document is not text: it holds NUL bytes"
	case !utf8.Valid(data):
		return "the document is not text: it is not valid UTF-8"
	case bytes.Count(data, []byte("\n"))+bytes.Count(data, []byte(",")) > maxValues:
		return fmt.Sprintf("the document has more than %d lines and list elements", maxValues)
	}
	return ""
}

// looksJSON tells JSON from YAML's own flow style, which also starts with a brace but is rarely valid JSON.
func looksJSON(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	if data[0] != '{' {
		return false
	}
	next := bytes.TrimLeft(data[1:], " \t\r\n")
	return len(next) > 0 && next[0] == '"' || json.Valid(data)
}

// auditor walks a whole tree once, aliases followed, and notes what could not be stored.
type auditor struct {
	c       *collector
	values  int
	refused bool
}

func (a *auditor) visit(t *tree, at *place, depth int) {
	a.values++
	switch {
	case a.refused:
		return
	case a.values > maxValues:
		a.refuse(at, "the document has more than %d values, aliases followed", maxValues)
	case depth > maxDepth:
		a.refuse(nil, "the document nests deeper than %d levels", maxDepth)
	case t.kind == kindText:
		a.text(t.text, t.pos, at)
	case t.kind == kindNumber:
		a.number(t, at)
	}
	for i, item := range t.items {
		a.visit(item, at.at(i), depth+1)
	}
	for _, f := range t.fields {
		a.text(f.name, f.pos, at)
		a.visit(f.value, at.key(f.name), depth+1)
	}
}

// number refuses what cannot be stored exactly. A number in a form that JSON does not have, such as 0777, could
// mean two things, so it means none.
func (a *auditor) number(t *tree, at *place) {
	switch {
	case len(t.text) > maxDigits || hugeExponent(t.text):
		a.c.addAt(t.pos, at, CodeOutOfRange, "the number is too long to be stored exactly").
			hint("at most %d characters and an exponent of at most %d; quote it to pass it on as text", maxDigits, maxExponent)
	case !jsonNumber.MatchString(t.text):
		a.c.addAt(t.pos, at, CodeWrongType, "%s is not a number as JSON has it", t.text).
			hint("write it in plain decimal digits, or quote it to mean text")
	}
}

func (a *auditor) refuse(at *place, format string, args ...any) {
	a.refused = true
	a.c.add(at, CodeUnparsable, format, args...)
}

// text refuses what Postgres cannot hold in a JSON text.
func (a *auditor) text(s string, where pos, at *place) {
	if strings.ContainsRune(s, 0) {
		a.c.addAt(where, at, CodeInvalidText, "the text holds a NUL character (\\0), which cannot be stored").hint("remove it")
	}
}

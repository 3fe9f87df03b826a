package dag

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlReader turns YAML text into a tree. Each anchor is converted once and shared by its
// aliases, so that a document cannot grow here; auditor then counts what it would be in full.
type yamlReader struct {
	c      *collector
	shared map[*yaml.Node]*tree
	open   map[*yaml.Node]bool // anchors whose conversion has begun and not ended
	merged int                 // fields copied by merge keys
}

func readYAML(data []byte, c *collector) *tree {
	if i := directive(data); i > 0 {
		c.addAt(pos{i, 1}, nil, CodeUnparsable, "the document has a YAML directive (%%), which has no use here").hint("remove the line")
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		c.add(nil, CodeUnparsable, "the document is empty")
		return nil
	} else if err != nil {
		refuseYAML(c, data, err)
		return nil
	}
	if err := dec.Decode(&second); err == nil {
		c.addAt(pos{second.Line, second.Column}, nil, CodeUnparsable, "the file holds several documents").
			hint("one document holds one workflow: put each in a file of its own")
		return nil
	} else if !errors.Is(err, io.EOF) {
		refuseYAML(c, data, err)
		return nil
	}
	r := &yamlReader{c: c, shared: map[*yaml.Node]*tree{}, open: map[*yaml.Node]bool{}}
	t, err := r.value(doc.Content[0], 0)
	if err != nil {
		c.addAt(err.where, nil, CodeUnparsable, "%s", err.message).Hint = err.hint
		return nil
	}
	return t
}

// directive returns the line of the first directive, or 0. Directives are refused before parsing because
// the parser takes quadratic time over many of them.
func directive(data []byte) int {
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if text[0] == '%' {
			return line
		}
	}
	return 0
}

var (
	yamlError     = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)
	parserError   = regexp.MustCompile(`^did not find expected (key|node content|'-'|',')`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.+)' referenced`)
)

// refuseYAML notes what the YAML parser objects to. Its parsing stage counts lines from 0, and its
// composing stage names none.
func refuseYAML(c *collector, data []byte, err error) {
	m := yamlError.FindStringSubmatch(err.Error())
	if m == nil {
		m = []string{"", "", err.Error()}
	}
	line, _ := strconv.Atoi(m[1]) // 0 where there is none
	if parserError.MatchString(m[2]) {
		line++
	}
	if anchor := unknownAnchor.FindStringSubmatch(m[2]); anchor != nil {
		line = 1 + bytes.Count(data[:max(0, bytes.Index(data, []byte("*"+anchor[1])))], []byte("\n"))
	}
	where := pos{line, min(line, 1)}
	p := c.addAt(where, nil, CodeUnparsable, "the document is not valid YAML: %s", clip(m[2]))
	if strings.Contains(m[2], "cannot start any token") {
		p.hint("indent with spaces; quote texts that begin with @, ` or %%")
	}
}

// refusal is why a YAML document cannot be converted.
type refusal struct {
	where         pos
	message, hint string
}

func refuse(n *yaml.Node, hint, format string, args ...any) *refusal {
	return &refusal{pos{n.Line, n.Column}, fmt.Sprintf(format, args...), hint}
}

func (r *yamlReader) value(n *yaml.Node, depth int) (*tree, *refusal) {
	if depth > maxDepth {
		return nil, refuse(n, "", "the document nests deeper than %d levels", maxDepth)
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
		if r.open[n] {
			return nil, refuse(n, "", "the anchor &%s contains itself", clip(n.Anchor))
		}
		if t := r.shared[n]; t != nil {
			return t, nil
		}
	}
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!str" {
		return nil, refuse(n, "remove it", "the tag %s has no use here", clip(n.Tag))
	}
	t := &tree{pos: pos{n.Line, n.Column}}
	if n.Anchor == "" {
		return t, r.fill(t, n, depth)
	}
	r.open[n] = true
	err := r.fill(t, n, depth)
	delete(r.open, n)
	r.shared[n] = t
	return t, err
}

func (r *yamlReader) fill(t *tree, n *yaml.Node, depth int) *refusal {
	switch n.Kind {
	case yaml.SequenceNode:
		return r.list(t, n, depth)
	case yaml.MappingNode:
		return r.object(t, n, depth)
	}
	scalar(t, n)
	return nil
}

func (r *yamlReader) list(t *tree, n *yaml.Node, depth int) *refusal {
	t.kind, t.items = kindList, make([]*tree, len(n.Content))
	for i, item := range n.Content {
		var err *refusal
		if t.items[i], err = r.value(item, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (r *yamlReader) object(t *tree, n *yaml.Node, depth int) *refusal {
	t.kind, t.fields = kindObject, make([]field, 0, len(n.Content)/2)
	var merges []*tree
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		value, err := r.value(n.Content[i+1], depth+1)
		switch {
		case err != nil:
			return err
		case key.ShortTag() == "!!merge":
			merges = append(merges, value)
		case key.Kind != yaml.ScalarNode:
			return refuse(key, "write the key as plain text", "a key is text, not %s", keyKind(key))
		default:
			t.fields = append(t.fields, field{key.Value, pos{key.Line, key.Column}, value})
		}
	}
	return r.merge(t, n, merges)
}

func keyKind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "an object"
	case yaml.SequenceNode:
		return "a list"
	}
	return "an alias"
}

// merge adds the fields of `<<` that the object does not have itself; the first source wins.
func (r *yamlReader) merge(t *tree, n *yaml.Node, sources []*tree) *refusal {
	if len(sources) == 0 {
		return nil
	}
	has := make(map[string]bool, len(t.fields))
	for _, f := range t.fields {
		has[f.name] = true
	}
	for len(sources) > 0 {
		s := sources[0]
		sources = sources[1:]
		if r.merged += len(s.fields) + len(s.items); r.merged > maxValues {
			return refuse(n, "", "merge keys (<<) copy more than %d values", maxValues)
		}
		switch s.kind {
		case kindList:
			sources = append(s.items[:len(s.items):len(s.items)], sources...)
		case kindObject:
			for _, f := range s.fields {
				if !has[f.name] {
					has[f.name] = true
					t.fields = append(t.fields, f)
				}
			}
		default:
			return refuse(n, "", "<< merges objects, not %s", s.kind)
		}
	}
	return nil
}

// scalar reads a plain value as JSON would, and everything quoted as text.
func scalar(t *tree, n *yaml.Node) {
	t.text = n.Value
	tag := n.ShortTag()
	switch {
	case n.Style&^yaml.FlowStyle != 0:
		t.kind = kindText
	case tag == "!!null":
		t.kind = kindNull
	case tag == "!!bool":
		t.kind, t.text = kindBool, strings.ToLower(n.Value)
	case tag == "!!int", tag == "!!float", jsonNumber.MatchString(n.Value):
		t.kind = kindNumber
	default:
		t.kind = kindText
	}
}

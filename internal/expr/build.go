package expr

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// maxProblems is enough for anybody to read at once.
const maxProblems = 100

// builder compiles the templates of one tree.
type builder struct {
	compiler *compiler
	reads    reads
	problems []Problem
}

func (b *builder) report(path []string, err error) {
	b.problems = append(b.problems, Problem{Path: slices.Clone(path), Err: err})
}

// build gives the tree of a value; it is of no use once a problem is reported.
func (b *builder) build(v any, path []string) tree {
	if len(path) > maxNesting {
		b.report(path, fmt.Errorf("the value is nested more than %d levels deep", maxNesting))
	}
	if len(b.problems) >= maxProblems || len(path) > maxNesting {
		return constant("null")
	}
	switch v := v.(type) {
	case string:
		return b.text(v, path)
	case []string:
		return b.array(len(v), path, func(i int) any { return v[i] })
	case []any:
		return b.array(len(v), path, func(i int) any { return v[i] })
	case map[string]string:
		return b.object(slices.Sorted(maps.Keys(v)), path, func(k string) any { return v[k] })
	case map[string]any:
		return b.object(slices.Sorted(maps.Keys(v)), path, func(k string) any { return v[k] })
	}
	return b.constant(v, path)
}

func (b *builder) text(s string, path []string) tree {
	if !HasTemplate(s) {
		return b.constant(s, path)
	}
	t, problems := b.compiler.template(s)
	for _, problem := range problems {
		b.report(path, problem)
	}
	b.reads.merge(t.reads)
	return t
}

func (b *builder) constant(v any, path []string) tree {
	var e encoder
	if s, ok := v.(string); ok {
		if err := e.text(s); err != nil {
			b.report(path, err)
		}
		return constant(e.buf.Bytes())
	}
	raw, err := json.Marshal(v)
	if err != nil {
		b.report(path, fmt.Errorf("encode value: %w", err))
	}
	return constant(raw)
}

func (b *builder) array(n int, path []string, element func(int) any) tree {
	elements := make(array, n)
	for i := range elements {
		elements[i] = b.build(element(i), append(path, strconv.Itoa(i)))
	}
	return elements
}

func (b *builder) object(names []string, path []string, value func(string) any) tree {
	fields := make(object, len(names))
	for i, name := range names {
		at := append(path, name)
		if HasTemplate(name) {
			b.report(at, fmt.Errorf("the name of a member cannot hold ${{ }}: %s", clip(name)))
		}
		fields[i] = field{name, b.build(value(name), at)}
	}
	return fields
}

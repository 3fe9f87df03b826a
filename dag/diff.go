package dag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// ChangeKind says what happened to a place of a definition.
type ChangeKind string

// The kinds.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Changed ChangeKind = "changed"
)

// Change is one difference between two definitions. Path names the place as problems do; schedules stand under their names.
// Old and New are JSON, nil where the place is not there.
type Change struct {
	Path     string          `json:"path"`
	Kind     ChangeKind      `json:"kind"`
	Old, New json.RawMessage `json:"-"`
}

// Diff lists what is different in b, by path: each difference once, at the narrowest place that has it. Lists of plain values are
// compared as wholes. Definitions that went through Build are compared with all their defaults.
func Diff(a, b *Definition) ([]Change, error) {
	before, err := valuesOf(a)
	if err != nil {
		return nil, err
	}
	after, err := valuesOf(b)
	if err != nil {
		return nil, err
	}
	d := &differ{}
	d.objects("", before, after)
	return d.changes, d.err
}

// SameNode reports whether two nodes are defined alike.
func SameNode(a, b *Node) bool {
	one, other := encoder{}, encoder{}
	one.value(reflect.ValueOf(a))
	other.value(reflect.ValueOf(b))
	return one.err == nil && other.err == nil && bytes.Equal(one.out, other.out)
}

// valuesOf is a definition as JSON values, its numbers exact and its schedules by name.
func valuesOf(def *Definition) (map[string]any, error) {
	text, err := EncodeDefinition(def)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("compare definitions: %w", err)
	}
	if list, ok := out["schedules"].([]any); ok {
		named := make(map[string]any, len(list))
		for i, s := range list {
			named[or(def.Schedules[i].Name, DefaultSchedule)] = s
		}
		out["schedules"] = named
	}
	return out, nil
}

// differ gathers changes. The first error stays.
type differ struct {
	changes []Change
	err     error
}

func (d *differ) values(path string, a, b any) {
	switch old := a.(type) {
	case map[string]any:
		if now, ok := b.(map[string]any); ok {
			d.objects(path, old, now)
			return
		}
	case []any:
		if now, ok := b.([]any); ok && nested(old, now) {
			d.lists(path, old, now)
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		d.note(path, Changed, a, b)
	}
}

func (d *differ) objects(path string, a, b map[string]any) {
	names := slices.Sorted(maps.Keys(a))
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		at := name
		if path != "" {
			at = path + "." + name
		}
		old, was := a[name]
		now, is := b[name]
		switch {
		case !is:
			d.note(at, Removed, old, nil)
		case !was:
			d.note(at, Added, nil, now)
		default:
			d.values(at, old, now)
		}
	}
}

func (d *differ) lists(path string, a, b []any) {
	for i := range max(len(a), len(b)) {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= len(b):
			d.note(at, Removed, a[i], nil)
		case i >= len(a):
			d.note(at, Added, nil, b[i])
		default:
			d.values(at, a[i], b[i])
		}
	}
}

// nested reports whether lists hold objects or lists, which are compared one by one.
func nested(lists ...[]any) bool {
	for _, list := range lists {
		for _, v := range list {
			switch v.(type) {
			case map[string]any, []any:
				return true
			}
		}
	}
	return false
}

func (d *differ) note(path string, kind ChangeKind, a, b any) {
	d.changes = append(d.changes, Change{Path: path, Kind: kind, Old: d.text(kind != Added, a), New: d.text(kind != Removed, b)})
}

func (d *differ) text(there bool, v any) json.RawMessage {
	if !there {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("compare definitions: %w", err)
	}
	return text
}

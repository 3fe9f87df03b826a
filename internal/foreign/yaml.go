package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ax-run/ax/dag"
)

// YAML writes the workflow as a person would: only what is said, in the order of the reference, with its notes as a comment on top.
func (w Workflow) YAML() ([]byte, error) {
	root, err := w.tree(reflect.ValueOf(*w.Definition))
	if err != nil {
		return nil, fmt.Errorf("write workflow %q: %w", w.Definition.Workflow, err)
	}
	var b bytes.Buffer
	for _, n := range w.Notes {
		fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(n.String(), "\n", " "))
	}
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return nil, fmt.Errorf("write workflow %q: %w", w.Definition.Workflow, err)
	}
	return b.Bytes(), nil
}

// tree is a value with its fields in their order, without those that say nothing.
func (w Workflow) tree(v reflect.Value) (*yaml.Node, error) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || v.Type().Implements(reflect.TypeFor[json.Marshaler]()) {
		return leaf(v.Interface())
	}
	if c, ok := v.Interface().(dag.Command); ok && len(c.Env) == 0 && len(c.PermanentExitCodes) == 0 {
		return leaf(c.Run)
	}
	out := &yaml.Node{Kind: yaml.MappingNode}
	return out, w.fields(out, v)
}

func (w Workflow) fields(out *yaml.Node, v reflect.Value) error {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		if field.Anonymous {
			if err := w.fields(out, value); err != nil {
				return err
			}
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" || value.IsZero() {
			continue
		}
		inner, err := w.value(name, value)
		if err != nil {
			return err
		}
		out.Content = append(out.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, inner)
	}
	return nil
}

func (w Workflow) value(name string, v reflect.Value) (*yaml.Node, error) {
	if nodes, ok := v.Interface().(map[string]*dag.Node); ok && name == "nodes" {
		return w.nodes(nodes)
	}
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() != reflect.Struct {
		return w.tree(v)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range v.Len() {
		item, err := w.tree(v.Index(i))
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, item)
	}
	return list, nil
}

func (w Workflow) nodes(nodes map[string]*dag.Node) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range w.Order {
		inner, err := w.tree(reflect.ValueOf(nodes[name]))
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name, Style: quoted(name)}, inner)
	}
	return out, nil
}

// quoted is how a name is written: one that YAML would read as a number or a truth needs quotes.
func quoted(name string) yaml.Style {
	var any any
	if err := yaml.Unmarshal([]byte(name), &any); err == nil {
		if _, text := any.(string); text {
			return 0
		}
	}
	return yaml.DoubleQuotedStyle
}

// leaf is a value as its JSON says; text of several lines is written as a block, short lists on one line.
func leaf(v any) (*yaml.Node, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var read any
	if err := d.Decode(&read); err != nil {
		return nil, err
	}
	n := &yaml.Node{}
	if err := n.Encode(plain(read)); err != nil {
		return nil, err
	}
	if n.Kind == yaml.SequenceNode && short(n) {
		n.Style = yaml.FlowStyle
	}
	return n, nil
}

// plain makes numbers of JSON's, which YAML would write as text.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	}
	return v
}

func short(list *yaml.Node) bool {
	const most = 100
	size := 0
	return !slices.ContainsFunc(list.Content, func(n *yaml.Node) bool {
		size += len(n.Value) + 2
		return n.Kind != yaml.ScalarNode || strings.Contains(n.Value, "\n") || size > most
	})
}

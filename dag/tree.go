package dag

import "encoding/json"

// kind is what a value of a document is.
type kind string

const (
	kindNull   kind = "nothing"
	kindBool   kind = "true or false"
	kindNumber kind = "a number"
	kindText   kind = "text"
	kindList   kind = "a list"
	kindObject kind = "an object"
)

// pos is a place in the text; both count from 1, columns in characters.
type pos struct{ line, column int }

// tree is a document as it was written, YAML or JSON: keys in order with duplicates, numbers as
// text, and the place of everything. Parts shared through YAML aliases are shared pointers.
type tree struct {
	kind   kind
	pos    pos
	text   string // of a text, number or bool
	items  []*tree
	fields []field
}

type field struct {
	name  string
	pos   pos
	value *tree
}

// plain turns a tree into the values that encoding/json would give, numbers as json.Number.
func (t *tree) plain() any {
	switch t.kind {
	case kindBool:
		return t.text == "true"
	case kindNumber:
		return json.Number(t.text)
	case kindText:
		return t.text
	case kindList:
		list := make([]any, len(t.items))
		for i, item := range t.items {
			list[i] = item.plain()
		}
		return list
	case kindObject:
		object := make(map[string]any, len(t.fields))
		for _, f := range t.fields {
			object[f.name] = f.value.plain()
		}
		return object
	}
	return nil
}

// find answers where p stands in the text: at the value of a scalar, at the key of anything
// larger, or at the nearest thing around it that the text has.
func (t *tree) find(p *place) pos {
	_, where := t.walk(p)
	return where
}

// walk follows p as far as the text goes; the tree is nil when it does not go all the way.
func (t *tree) walk(p *place) (*tree, pos) {
	if t == nil {
		return nil, pos{}
	}
	if p == nil {
		return t, t.pos
	}
	up, where := t.walk(p.up)
	switch {
	case up == nil:
		return nil, where
	case p.inList && p.index < len(up.items):
		item := up.items[p.index]
		return item, item.pos
	case p.inList:
		return nil, where
	}
	for _, f := range up.fields {
		if f.name == p.name {
			return f.value, f.where()
		}
	}
	return nil, where
}

func (f field) where() pos {
	switch f.value.kind {
	case kindList, kindObject, kindNull:
		return f.pos
	}
	return f.value.pos
}

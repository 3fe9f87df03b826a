package dag

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decoder fills Go values from a tree, strictly: every key is known and said once, every value has the
// type of its field. What is wrong is noted and left at its zero value, so that one pass
// finds everything.
type decoder struct{ *collector }

func (d decoder) value(t *tree, at *place, out reflect.Value) {
	if t.kind == kindNull {
		return
	}
	if form, ok := forms[out.Type()]; ok {
		form(d, t, at, out)
		return
	}
	switch out.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(out.Type().Elem())
		d.value(t, at, fresh.Elem())
		out.Set(fresh)
	case reflect.Struct:
		d.object(t, at, out)
	case reflect.Map:
		d.entries(t, at, out)
	case reflect.Slice:
		d.list(t, at, out)
	case reflect.Interface:
		d.open(t, at)
		out.Set(reflect.ValueOf(t.plain()))
	default:
		d.scalar(t, at, out)
	}
}

func (d decoder) scalar(t *tree, at *place, out reflect.Value) {
	switch out.Kind() {
	case reflect.String:
		if d.want(t, at, kindText) {
			out.SetString(t.text)
		}
	case reflect.Bool:
		if d.want(t, at, kindBool) {
			out.SetBool(t.text == "true")
		}
	case reflect.Int:
		if !d.want(t, at, kindNumber) {
			return
		}
		n, err := strconv.ParseInt(t.text, 10, 32)
		if err != nil {
			d.add(at, CodeOutOfRange, "%s is not a whole number of this size", clip(t.text)).value(t.plain())
		}
		out.SetInt(n)
	case reflect.Float64:
		if !d.want(t, at, kindNumber) {
			return
		}
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			d.add(at, CodeOutOfRange, "%s is too large a number", clip(t.text)).value(t.plain())
		}
		out.SetFloat(f)
	default:
		panic(fmt.Sprintf("dag: a definition cannot hold a %s", out.Type()))
	}
}

// want notes a value of the wrong type.
func (d decoder) want(t *tree, at *place, want kind) bool {
	if t.kind == want {
		return true
	}
	p := d.addAt(t.pos, at, CodeWrongType, "this must be %s, not %s", want, t.kind)
	switch {
	case t.kind == kindNumber || t.kind == kindBool || t.kind == kindText:
		p.value(t.plain())
	}
	switch {
	case want == kindText && (t.kind == kindNumber || t.kind == kindBool):
		p.hint("quote it: %q", t.text)
	case want == kindBool && slices.Contains([]string{"yes", "on", "y"}, strings.ToLower(t.text)):
		p.hint("write true")
	case want == kindBool && slices.Contains([]string{"no", "off", "n"}, strings.ToLower(t.text)):
		p.hint("write false")
	case want == kindList && t.kind == kindText:
		p.hint("write [%s]", clip(t.text))
	}
	return false
}

func (d decoder) object(t *tree, at *place, out reflect.Value) {
	if !d.want(t, at, kindObject) {
		return
	}
	known := keysOf(out.Type())
	d.duplicates(t, at)
	for _, f := range t.fields {
		sf, ok := known.byName[f.name]
		if !ok {
			d.unknown(f, at, known)
			continue
		}
		before := len(d.found)
		v := out.FieldByIndex(sf.Index)
		d.value(f.value, at.key(f.name), v)
		if f.value.kind != kindNull && len(d.found) == before && saysNothing(v) {
			d.addAt(f.value.pos, at.key(f.name), CodeOutOfRange, "%s must be more than 0", f.name).
				hint("leave the key out for the default").value(f.value.plain())
		}
	}
}

// saysNothing reports an explicit zero where zero stands for "not said". Where zero has a meaning of its
// own the field is a pointer.
func saysNothing(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Int, reflect.Int64, reflect.Float64:
		return v.IsZero()
	}
	return false
}

func (d decoder) unknown(f field, at *place, known *keys) {
	p := d.addAt(f.pos, at.key(f.name), CodeUnknownKey, "unknown key %q", clip(f.name))
	if d.full() {
		return
	}
	names := known.names
	if known == nodeKeys {
		names = append(names[:len(names):len(names)], "pool")
	}
	if near := Nearest(f.name, names); near != "" {
		p.hint("did you mean %q?", near)
	} else {
		p.hint("known here: %s", strings.Join(names, ", "))
	}
}

var nodeKeys = keysOf(reflect.TypeFor[Node]())

func (d decoder) duplicates(t *tree, at *place) {
	first := make(map[string]pos, len(t.fields))
	for _, f := range t.fields {
		if was, again := first[f.name]; again {
			d.addAt(f.pos, at.key(f.name), CodeDuplicateKey, "%q is said twice; the first is on line %d", clip(f.name), was.line).
				hint("remove or rename one of them")
			continue
		}
		first[f.name] = f.pos
	}
}

// entries reads an object whose keys are names of the author's choice.
func (d decoder) entries(t *tree, at *place, out reflect.Value) {
	if !d.want(t, at, kindObject) {
		return
	}
	d.duplicates(t, at)
	m := reflect.MakeMapWithSize(out.Type(), len(t.fields))
	for _, f := range t.fields {
		v := reflect.New(out.Type().Elem()).Elem()
		d.value(f.value, at.key(f.name), v)
		m.SetMapIndex(reflect.ValueOf(f.name), v)
	}
	out.Set(m)
}

func (d decoder) list(t *tree, at *place, out reflect.Value) {
	if !d.want(t, at, kindList) {
		return
	}
	s := reflect.MakeSlice(out.Type(), len(t.items), len(t.items))
	for i, item := range t.items {
		if item.kind == kindNull {
			d.addAt(item.pos, at.at(i), CodeWrongType, "an element of this list is empty").hint("remove it or fill it in")
			continue
		}
		d.value(item, at.at(i), s.Index(i))
	}
	out.Set(s)
}

// open looks for duplicate keys in a value whose shape is the author's.
func (d decoder) open(t *tree, at *place) {
	if t.kind == kindObject {
		d.duplicates(t, at)
	}
	for i, item := range t.items {
		d.open(item, at.at(i))
	}
	for _, f := range t.fields {
		d.open(f.value, at.key(f.name))
	}
}

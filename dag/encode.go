package dag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// encoder writes canonical JSON. Structs of this package follow their json tags as in encoding/json,
// except that keys are sorted. The first error stays.
type encoder struct {
	out []byte
	err error
}

func (e *encoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			e.out = append(e.out, "null"...)
			return
		}
		e.value(v.Elem())
	case reflect.Interface:
		e.open(v.Interface())
	case reflect.Struct:
		if own, ok := v.Interface().(json.Marshaler); ok {
			e.foreign(own)
			return
		}
		e.object(v)
	case reflect.Map:
		e.entries(v)
	case reflect.Slice:
		e.list(v)
	case reflect.String:
		if own, ok := v.Interface().(json.Marshaler); ok {
			e.foreign(own)
			return
		}
		e.text(v.String())
	case reflect.Int64:
		e.text(Duration(v.Int()).String())
	default:
		e.foreign(v.Interface())
	}
}

// open writes a free value: what Parse makes is written as it is, anything else as encoding/json has it.
func (e *encoder) open(v any) {
	switch v := v.(type) {
	case nil:
		e.out = append(e.out, "null"...)
	case string:
		e.text(v)
	case json.Number:
		e.foreign(v)
	case bool:
		e.out = strconv.AppendBool(e.out, v)
	case map[string]any, []any:
		e.value(reflect.ValueOf(v))
	default:
		e.foreign(v)
	}
}

// foreign writes what encoding/json makes of a value, keys sorted.
func (e *encoder) foreign(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		e.fail(err)
		return
	}
	if b[0] != '{' && b[0] != '[' {
		e.out = append(e.out, b...)
		return
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		e.fail(err)
		return
	}
	e.open(tree)
}

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// text writes a string; only unusual ones need encoding/json.
func (e *encoder) text(s string) {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		e.out = append(append(append(e.out, '"'), s...), '"')
		return
	}
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		e.fail(fmt.Errorf("the text %q holds a NUL character or is not valid UTF-8, and cannot be stored", clip(s)))
		return
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	e.fail(enc.Encode(s))
	e.out = append(e.out, strings.TrimSuffix(b.String(), "\n")...)
}

func (e *encoder) object(v reflect.Value) {
	e.out = append(e.out, '{')
	first := true
	for _, m := range membersOf(v.Type()) {
		field := v.FieldByIndex(m.index)
		if m.omitEmpty && empty(field) {
			continue
		}
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		e.out = append(e.out, m.label...)
		e.value(field)
	}
	e.out = append(e.out, '}')
}

func (e *encoder) entries(v reflect.Value) {
	keys := make([]string, 0, v.Len())
	for _, k := range v.MapKeys() {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	e.out = append(e.out, '{')
	for i, k := range keys {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.text(k)
		e.out = append(e.out, ':')
		e.value(v.MapIndex(reflect.ValueOf(k)))
	}
	e.out = append(e.out, '}')
}

func (e *encoder) list(v reflect.Value) {
	e.out = append(e.out, '[')
	for i := range v.Len() {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.value(v.Index(i))
	}
	e.out = append(e.out, ']')
}

// empty is what omitempty means.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	}
	return v.IsZero()
}

// member is one key of a struct as it is written.
type member struct {
	label     string // `"key":`
	index     []int
	omitEmpty bool
}

var membersOfType sync.Map // reflect.Type → []member

// membersOf lists the keys of a struct in the order in which they are written.
func membersOf(t reflect.Type) []member {
	if m, ok := membersOfType.Load(t); ok {
		return m.([]member)
	}
	known := keysOf(t)
	var members []member
	for _, name := range slices.Sorted(slices.Values(known.names)) {
		f := known.byName[name]
		members = append(members, member{strconv.Quote(name) + ":", f.Index, strings.Contains(f.Tag.Get("json"), ",omitempty")})
	}
	loaded, _ := membersOfType.LoadOrStore(t, members)
	return loaded.([]member)
}

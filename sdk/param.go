package sdk

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/ax-run/ax/dag"
)

// declareParams makes the fields of a struct the workflow's parameters. Several structs may name one parameter if
// they say the same of it.
func (w *Workflow) declareParams(t reflect.Type) {
	if t.Kind() != reflect.Struct {
		w.wrong("params", dag.CodeWrongType, "parameters are the fields of a struct, and %s is none", t)
		return
	}
	for _, f := range fieldsOf(t) {
		path := "params." + f.name
		p, err := paramOf(f)
		if err != nil {
			w.wrong(path, dag.CodeWrongType, "%v", err)
			continue
		}
		if before, known := w.def.Params[f.name]; known && !reflect.DeepEqual(before, p) {
			w.wrong(path, dag.CodeDuplicateName, "the parameter is declared twice, and differently: as %s and as %s", describe(before), describe(p))
			continue
		}
		if w.def.Params == nil {
			w.def.Params = make(map[string]dag.Param)
		}
		w.def.Params[f.name] = p
	}
}

func describe(p dag.Param) string {
	text := p.Type
	if p.Default != nil {
		text += fmt.Sprintf(" with default %v", p.Default)
	}
	if p.Description != "" {
		text += fmt.Sprintf(" (%s)", p.Description)
	}
	return text
}

func paramOf(f field) (dag.Param, error) {
	p := dag.Param{Type: paramType(f.typ), Description: f.tag.Get("doc")}
	if p.Type == "" {
		return p, fmt.Errorf("%s is no type of a parameter: use a string, number, boolean, struct, map, slice or array", f.typ)
	}
	text, given := f.tag.Lookup("default")
	if !given {
		return p, nil
	}
	if p.Type == "string" {
		p.Default = text
		return p, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&p.Default); err != nil || d.More() {
		return p, fmt.Errorf("the default %q is no JSON", text)
	}
	return p, nil
}

// paramType is the name of a parameter's type (contract: string, integer, number, boolean, object or array); "" if its
// JSON could be anything.
func paramType(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[json.Number]():
		return "number"
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return "string"
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return ""
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice, reflect.Array:
		return listType(t)
	}
	return ""
}

// listType is array, but encoding/json writes a slice of bytes as text.
func listType(t reflect.Type) string {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return "string"
	}
	return "array"
}

package sdk

import (
	"reflect"
	"slices"
	"strings"
)

// field is a key of a struct as encoding/json has it.
type field struct {
	name string
	typ  reflect.Type
	tag  reflect.StructTag
	// optional fields may be left out of the JSON when it is written.
	optional bool
}

// fieldsOf lists the keys of a struct, those of embedded structs among them.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			fields = append(fields, fieldsOf(f.Type)...)
			continue
		}
		if !f.IsExported() || name == "-" && options == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		words := strings.Split(options, ",")
		optional := slices.Contains(words, "omitempty") || slices.Contains(words, "omitzero")
		fields = append(fields, field{name: name, typ: f.Type, tag: f.Tag, optional: optional})
	}
	return fields
}

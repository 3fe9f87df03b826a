package dag

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// Schema returns the JSON Schema (draft 2020-12) of a definition, for editors. It is made from the Go types,
// their choices and schema.txt, and is as strict as Parse about keys and types; what only Build
// can see is left to Build.
var Schema = sync.OnceValue(func() []byte {
	b := schemaBuilder{texts: schemaTexts(), defs: map[string]any{}}
	root := b.object(reflect.TypeFor[Definition]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = "https://github.com/ax-run/ax/schemas/workflow.json"
	root["title"] = "ax workflow"
	root["$defs"] = b.defs
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("dag: the schema did not encode: %v", err))
	}
	return append(out, '\n')
})

// schemaText describes each key, one a line: Type.key, a space, the description.
//
//go:embed schema.txt
var schemaText string

func schemaTexts() map[string]string {
	texts := map[string]string{}
	for line := range strings.Lines(schemaText) {
		key, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		texts[key] = text
	}
	return texts
}

type schemaBuilder struct {
	texts map[string]string
	defs  map[string]any
}

type schema = map[string]any

var namedBy = schema{"type": "string", "pattern": namePattern.String()}

// object describes a struct: its keys and no others.
func (b *schemaBuilder) object(t reflect.Type) schema {
	known := keysOf(t)
	properties, required := schema{}, []string{}
	for _, name := range known.names {
		f := known.byName[name]
		properties[name] = b.property(t.Name()+"."+name, f.Type)
		if !strings.Contains(f.Tag.Get("json"), ",omitempty") {
			required = append(required, name)
		}
	}
	out := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	if one, ok := exactlyOneOf[t]; ok {
		out["oneOf"] = requiring(one)
	}
	return out
}

// exactlyOneOf are the keys of which each object has one.
var exactlyOneOf = map[reflect.Type][]string{
	reflect.TypeFor[Node]():     {"handler", "http", "command", "workflow", "approval", "wait", "branch"},
	reflect.TypeFor[Schedule](): {"cron", "every", "delay", "at"},
	reflect.TypeFor[Wait]():     {"for", "until"},
	reflect.TypeFor[Upstream](): {"all", "any"},
}

func requiring(keys []string) []schema {
	out := make([]schema, len(keys))
	for i, key := range keys {
		out[i] = schema{"required": []string{key}}
	}
	return out
}

func (b *schemaBuilder) property(key string, t reflect.Type) schema {
	out := b.value(t)
	words := choices[key]
	if words != nil && t.Kind() == reflect.Slice {
		out["items"] = schema{"enum": words}
	} else if words != nil {
		out = schema{"enum": words}
	}
	if key == "Definition.workflow" {
		out = schema{"type": "string", "pattern": namePattern.String()}
	}
	if text := b.texts[key]; text != "" {
		out["description"] = text
	}
	return out
}

// value describes what a field of a type may hold. A number that is no pointer is more than 0, because 0
// would say nothing.
func (b *schemaBuilder) value(t reflect.Type) schema {
	if form, ok := b.form(t); ok {
		return form
	}
	switch t.Kind() {
	case reflect.Pointer:
		out := b.value(t.Elem())
		if _, number := out["exclusiveMinimum"]; number {
			delete(out, "exclusiveMinimum")
			out["minimum"] = 0
		}
		return out
	case reflect.Struct:
		return b.ref(t, func() schema { return b.object(t) })
	case reflect.Map:
		out := schema{"type": "object", "additionalProperties": b.value(t.Elem())}
		if t.Elem() == reflect.TypeFor[*Node]() || t.Elem() == reflect.TypeFor[Param]() {
			out["propertyNames"] = namedBy
		}
		return out
	case reflect.Slice:
		return schema{"type": "array", "items": b.value(t.Elem())}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int:
		return schema{"type": "integer", "exclusiveMinimum": 0}
	case reflect.Float64:
		return schema{"type": "number", "exclusiveMinimum": 0}
	}
	return schema{}
}

// ref puts a type's schema among the definitions once, and refers to it.
func (b *schemaBuilder) ref(t reflect.Type, describe func() schema) schema {
	if _, ok := b.defs[t.Name()]; !ok {
		b.defs[t.Name()] = nil
		b.defs[t.Name()] = describe()
	}
	return schema{"$ref": "#/$defs/" + t.Name()}
}

// form describes the types that a document may write in a way of their own.
func (b *schemaBuilder) form(t reflect.Type) (schema, bool) {
	switch t {
	case reflect.TypeFor[Duration]():
		return b.ref(t, func() schema {
			return schema{
				"description": b.texts["Duration"],
				"anyOf":       []schema{{"type": "string", "pattern": `^(0|([0-9]+d)?([0-9.]+(ns|us|µs|ms|s|m|h))*)$`}, {"const": 0}},
			}
		}), true
	case reflect.TypeFor[time.Time]():
		return schema{"type": "string", "format": "date-time"}, true
	case reflect.TypeFor[Shards]():
		return schema{"anyOf": []schema{{"type": "integer", "minimum": 1, "maximum": maxShards}, {"enum": []string{"workers", "capacity"}}}}, true
	case reflect.TypeFor[Success]():
		return b.success(), true
	case reflect.TypeFor[Command]():
		return schema{"anyOf": []schema{b.value(reflect.TypeFor[[]string]()), b.ref(t, func() schema { return b.object(t) })}}, true
	case reflect.TypeFor[Route]():
		return b.route(), true
	case reflect.TypeFor[PoolUse]():
		return schema{"anyOf": []schema{namedBy, b.ref(t, func() schema { return b.object(t) })}}, true
	case reflect.TypeFor[Node]():
		return b.ref(t, b.node), true
	}
	return nil, false
}

func (b *schemaBuilder) success() schema {
	count := schema{"anyOf": []schema{{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[0-9]+%?$"}}}
	return schema{"anyOf": []schema{{"enum": []string{"all", "any"}}, single("at_least", count)}}
}

func (b *schemaBuilder) route() schema {
	return schema{"anyOf": []schema{
		{"enum": []string{RouteAny, RouteRoundRobin}},
		single(RouteConsistentHash, schema{"type": "string"}),
		single(RouteWorker, namedBy),
	}}
}

// single describes an object with one key.
func single(key string, value schema) schema {
	return schema{
		"type": "object", "additionalProperties": false,
		"properties": schema{key: value}, "required": []string{key},
	}
}

// node describes a node, with the short form of pools.
func (b *schemaBuilder) node() schema {
	t := reflect.TypeFor[Node]()
	out := b.object(t)
	pool := b.value(reflect.TypeFor[PoolUse]())
	pool["description"] = b.texts["Node.pool"]
	out["properties"].(schema)["pool"] = pool
	return out
}

package dag

import (
	"reflect"
	"strings"
	"sync"
)

// keys are the keys that a struct has in a document, embedded structs flattened, in the order of declaration.
type keys struct {
	names  []string
	byName map[string]reflect.StructField
}

var keysOfType sync.Map // reflect.Type → *keys

func keysOf(t reflect.Type) *keys {
	if k, ok := keysOfType.Load(t); ok {
		return k.(*keys)
	}
	k := &keys{byName: map[string]reflect.StructField{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "" || name == "-" {
			continue
		}
		k.names = append(k.names, name)
		k.byName[name] = f
	}
	loaded, _ := keysOfType.LoadOrStore(t, k)
	return loaded.(*keys)
}

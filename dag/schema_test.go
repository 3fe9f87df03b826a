package dag_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ax-run/ax/dag"
)

func TestSchema(t *testing.T) {
	golden(t, "testdata/schema.golden.json", string(dag.Schema()))
}

// Every key that the schema knows is described, and every description is of a key.
func TestSchemaDescribesEveryKey(t *testing.T) {
	keys := []string{"Duration"}
	eachProperty(schemaTree(t), "Definition", func(path string, p map[string]any) {
		keys = append(keys, path)
		require.NotEmpty(t, p["description"], "describe %s in schema.txt", path)
	})
	text, err := os.ReadFile("schema.txt")
	require.NoError(t, err)
	var described []string
	for line := range strings.Lines(string(text)) {
		key, _, _ := strings.Cut(line, " ")
		described = append(described, key)
	}
	require.ElementsMatch(t, keys, described)
}

func eachProperty(tree any, path string, visit func(string, map[string]any)) {
	object, ok := tree.(map[string]any)
	if !ok {
		return
	}
	properties, _ := object["properties"].(map[string]any)
	for name, p := range properties {
		if p, ok := p.(map[string]any); ok {
			visit(path+"."+name, p)
		}
	}
	defs, _ := object["$defs"].(map[string]any)
	for name, def := range defs {
		eachProperty(def, name, visit)
	}
}

func schemaTree(t *testing.T) map[string]any {
	t.Helper()
	var tree map[string]any
	require.NoError(t, json.Unmarshal(dag.Schema(), &tree))
	return tree
}

// What Build accepts, the schema accepts; it also accepts what Build writes out.
func TestSchemaAcceptsValidDefinitions(t *testing.T) {
	root := schemaTree(t)
	for _, path := range files(t, "valid") {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Empty(t, faults(root, root, document(t, data), ""), path)
		g, problems := dag.Load(data, dag.BuildOptions{})
		require.Empty(t, problems)
		require.Empty(t, faults(root, root, document(t, g.Canonical()), ""), path)
	}
}

// What Parse alone refuses about keys and types, the schema refuses too.
func TestSchemaRefusesWhatParseRefuses(t *testing.T) {
	root := schemaTree(t)
	for _, name := range []string{"unknown_keys.yaml", "types.yaml", "work.yaml", "workflow.yaml", "retries.yaml", "missing.yaml", "list.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", "problems", name))
		require.NoError(t, err)
		require.NotEmpty(t, faults(root, root, document(t, data), ""), name)
	}
}

// document reads YAML as the values that JSON would give.
func document(t *testing.T, data []byte) any {
	t.Helper()
	if !json.Valid(data) {
		var v any
		require.NoError(t, yaml.Unmarshal(data, &v))
		var err error
		data, err = json.Marshal(v)
		require.NoError(t, err)
	}
	var out any
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

// faults validates a value against the few words of JSON Schema that the schema uses.
func faults(root, s map[string]any, v any, at string) []string {
	if ref, ok := s["$ref"].(string); ok {
		s = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	var found []string
	fault := func(format string, args ...any) { found = append(found, at+": "+fmt.Sprintf(format, args...)) }
	if want, ok := s["type"].(string); ok && !isType(v, want) {
		fault("not %s", want)
		return found
	}
	if words, ok := s["enum"].([]any); ok && !slices.Contains(words, v) {
		fault("not one of %v", words)
	}
	if word, ok := s["const"]; ok && word != v {
		fault("not %v", word)
	}
	found = append(found, choiceFaults(root, s, v, at)...)
	switch v := v.(type) {
	case string:
		if p, ok := s["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(v) {
			fault("does not match %s", p)
		}
	case float64:
		if least, ok := s["exclusiveMinimum"].(float64); ok && v <= least {
			fault("not more than %v", least)
		}
		if least, ok := s["minimum"].(float64); ok && v < least {
			fault("less than %v", least)
		}
	case []any:
		if items, ok := s["items"].(map[string]any); ok {
			for i, item := range v {
				found = append(found, faults(root, items, item, fmt.Sprintf("%s[%d]", at, i))...)
			}
		}
	case map[string]any:
		found = append(found, objectFaults(root, s, v, at)...)
	}
	return found
}

func choiceFaults(root, s map[string]any, v any, at string) []string {
	for _, word := range []string{"anyOf", "oneOf"} {
		options, ok := s[word].([]any)
		if !ok {
			continue
		}
		fit := 0
		for _, option := range options {
			if len(faults(root, option.(map[string]any), v, at)) == 0 {
				fit++
			}
		}
		if fit == 0 || word == "oneOf" && fit > 1 {
			return []string{fmt.Sprintf("%s: fits %d options of %s", at, fit, word)}
		}
	}
	return nil
}

func objectFaults(root, s, v map[string]any, at string) []string {
	var found []string
	required, _ := s["required"].([]any)
	for _, key := range required {
		if _, ok := v[key.(string)]; !ok {
			found = append(found, fmt.Sprintf("%s: no %s", at, key))
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for key, value := range v {
		here := at + "." + key
		if p, ok := properties[key].(map[string]any); ok {
			found = append(found, faults(root, p, value, here)...)
			continue
		}
		switch more := s["additionalProperties"].(type) {
		case bool:
			found = append(found, here+": unknown key")
		case map[string]any:
			found = append(found, faults(root, more, value, here)...)
		}
	}
	return found
}

func isType(v any, want string) bool {
	switch want {
	case "object":
		_, ok := v.(map[string]any)
		return ok
	case "array":
		_, ok := v.([]any)
		return ok
	case "string":
		_, ok := v.(string)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "integer":
		n, ok := v.(float64)
		return ok && n == float64(int64(n))
	case "number":
		_, ok := v.(float64)
		return ok
	}
	return false
}

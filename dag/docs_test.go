package dag_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
)

const (
	definitionPage = "../docs/definition.md"
	generatedFrom  = "<!-- From here on written by `go test ./dag -run TestDefinitionPage -update` from the schema. -->\n"
)

// The second part of docs/definition.md is what the schema says of every key.
func TestDefinitionPageIsFresh(t *testing.T) {
	page, err := os.ReadFile(definitionPage)
	require.NoError(t, err)
	byHand, _, found := strings.Cut(string(page), generatedFrom)
	require.True(t, found)
	golden(t, definitionPage, byHand+generatedFrom+keyTables(t))
}

// keyTables has a table for each object of the language, in the order of schema.txt.
func keyTables(t *testing.T) string {
	text, err := os.ReadFile("schema.txt")
	require.NoError(t, err)
	types := map[string]string{}
	required := map[string]bool{}
	eachProperty(schemaTree(t), "Definition", func(path string, p map[string]any) { types[path] = typeWord(p) })
	noteRequired(schemaTree(t), "Definition", required)
	var b strings.Builder
	last := ""
	for line := range strings.Lines(string(text)) {
		path, says, _ := strings.Cut(strings.TrimSpace(line), " ")
		object, key, isKey := strings.Cut(path, ".")
		if !isKey {
			continue
		}
		if object != last {
			fmt.Fprintf(&b, "\n### %s\n\n| key | value | meaning |\n| --- | --- | --- |\n", object)
			last = object
		}
		if required[path] {
			says += " Required."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, types[path], strings.ReplaceAll(says, "|", `\|`))
	}
	return b.String()
}

func noteRequired(tree any, path string, into map[string]bool) {
	object, _ := tree.(map[string]any)
	keys, _ := object["required"].([]any)
	for _, key := range keys {
		into[fmt.Sprintf("%s.%v", path, key)] = true
	}
	defs, _ := object["$defs"].(map[string]any)
	for name, def := range defs {
		noteRequired(def, name, into)
	}
}

// typeWord says in a few words what a value may be.
func typeWord(p map[string]any) string {
	if words, ok := p["enum"].([]any); ok {
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, fmt.Sprintf("`%v`", w))
		}
		return strings.Join(quoted, ", ")
	}
	if forms, ok := p["anyOf"].([]any); ok {
		var words []string
		for _, f := range forms {
			words = append(words, typeWord(f.(map[string]any)))
		}
		return strings.Join(words, " or ")
	}
	if ref, ok := p["$ref"].(string); ok {
		return linkTo(strings.TrimPrefix(ref, "#/$defs/"))
	}
	if p["format"] == "date-time" {
		return "an instant (RFC 3339)"
	}
	switch p["type"] {
	case "array":
		return "a list of " + typeWord(p["items"].(map[string]any))
	case "object":
		if more, ok := p["additionalProperties"].(map[string]any); ok {
			return "a map of names to " + typeWord(more)
		}
		if one, ok := p["required"].([]any); ok {
			return fmt.Sprintf("`{%v: …}`", one[0])
		}
	case nil:
		if only, ok := p["const"]; ok {
			return fmt.Sprintf("`%v`", only)
		}
		return "any value"
	}
	return fmt.Sprint(p["type"])
}

func linkTo(object string) string {
	if object == "Duration" {
		return "a duration"
	}
	return fmt.Sprintf("[%s](#%s)", object, strings.ToLower(object))
}

// Every definition that the page shows is a good one.
func TestDefinitionPageShowsGoodDefinitions(t *testing.T) {
	page, err := os.ReadFile(definitionPage)
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	require.NotEmpty(t, shown)
	for _, s := range shown {
		def, problems := dag.Parse(s[1])
		require.NoError(t, problems.Err(), "%s", s[1])
		_, problems = dag.Build(def, dag.BuildOptions{DefaultTimezone: dag.DefaultTimezone})
		require.NoError(t, problems.Err(), "%s", s[1])
	}
}

package api_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

var update = flag.Bool("update", false, "write openapi.json instead of comparing it")

func TestOpenAPIIsCommitted(t *testing.T) {
	t.Parallel()
	got, err := api.New(api.Config{}).OpenAPI()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("openapi.json", got, 0o644))
		return
	}
	want, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "openapi.json is stale: run go generate ./api")
}

// Clients are generated from the document: no array may be null, and every answer has a schema.
func TestOpenAPIHasNoNullableArrays(t *testing.T) {
	t.Parallel()
	text, err := api.New(api.Config{}).OpenAPI()
	require.NoError(t, err)
	var document any
	require.NoError(t, json.Unmarshal(text, &document))
	walk(t, document, "")
	require.NotContains(t, string(text), `"$schema"`)
	require.NotContains(t, string(text), "ErrorModel")
}

func walk(t *testing.T, v any, path string) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		if types, ok := v["type"].([]any); ok {
			require.NotContains(t, types, "array", path)
		}
		for name, child := range v {
			walk(t, child, path+"/"+strings.ReplaceAll(name, "/", "~1"))
		}
	case []any:
		for _, child := range v {
			walk(t, child, path)
		}
	}
}

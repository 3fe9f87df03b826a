package dag_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
)

func TestCheckValue(t *testing.T) {
	for value, want := range map[string]string{
		`null`: "", `[]`: "", `""`: "", `5`: "", ` {"a": 1, "a": 2} `: "",
		`"\ud83d\ude00"`: "", `"C:\\u0000"`: "", `"\\\\u0000 \\ud800"`: "",
		strings.Repeat("[", 512) + strings.Repeat("]", 512): "",

		``: "JSON", `NaN`: "JSON", `{} {}`: "JSON", `{"a":`: "JSON", "\"\x00\"": "JSON",
		"\"\xff\"": "UTF-8", "\"\xed\xa0\x80\"": "UTF-8",
		`"a\u0000b"`: "NUL", `"\\\u0000"`: "NUL", `{"\u0000": 1}`: "NUL", `["\n\u0000"]`: "NUL",
		`"\ud800"`: `\ud800`, `"\uDC00\ud800"`: `\uDC00`, `"\ud800\u0041"`: `\ud800`, `"\ud83d\ude00\ude00"`: `\ude00`, `["\uD800x"]`: `\uD800`,
		strings.Repeat("[", 10_000):                             "deeper",
		strings.Repeat(`{"a":`, 513) + strings.Repeat("}", 513): "deeper",
	} {
		err := dag.CheckValue([]byte(value))
		if want == "" {
			require.NoError(t, err, "%.40s", value)
			continue
		}
		require.ErrorContains(t, err, want, "%.40s", value)
	}
}

func TestCheckValueKeepsEveryText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		value, err := json.Marshal(map[string]string{text: text})
		require.NoError(t, err)
		require.Equal(t, strings.ContainsRune(text, 0), dag.CheckValue(value) != nil)
	})
}

func FuzzCheckValue(f *testing.F) {
	f.Add([]byte(`{"a": "\ud83d\ude00\\u0000"}`))
	f.Add([]byte(`"\ud800`))
	f.Fuzz(func(t *testing.T, value []byte) {
		if dag.CheckValue(value) != nil {
			return
		}
		var read any
		require.NoError(t, json.Unmarshal(value, &read))
		again, err := json.Marshal(read)
		require.NoError(t, err)
		require.NoError(t, dag.CheckValue(again), "what was read of it can be kept too")
	})
}

func TestResolveParams(t *testing.T) {
	def := &dag.Definition{Params: map[string]dag.Param{
		"n": {Type: "integer", Default: json.Number("1")},
		"o": {Type: "object", Default: map[string]any{}},
	}}
	for given, want := range map[string]string{
		``: `{"n":1,"o":{}}`, `null`: `{"n":1,"o":{}}`, ` {} `: `{"n":1,"o":{}}`,
		`{"n": -9223372036854775808}`:                                          `{"n":-9223372036854775808,"o":{}}`,
		`{"n": 123456789012345678901234567890, "o": {"a": 1e400, "b": "<&>"}}`: `{"n":123456789012345678901234567890,"o":{"a":1e400,"b":"<&>"}}`,
	} {
		got, err := def.ResolveParams([]byte(given))
		require.NoError(t, err, given)
		require.Equal(t, want, string(got))
	}
	for given, want := range map[string]string{
		`[]`: "want a JSON object", `{`: "JSON", `{"n": 1.5}`: "must be an integer", `{"n": "1"}`: "must be an integer", `{"n": null}`: "must be an integer",
		`{"x": 1}`: "not declared", `{"n": 1, "n": 2}`: "twice", `{"n": 1, "\u006e": 2}`: "twice", `{"o": {"a": "\u0000"}}`: "NUL", "{\"o\": {\"\xff\": 1}}": "UTF-8",
	} {
		_, err := def.ResolveParams([]byte(given))
		require.ErrorContains(t, err, want, given)
		require.ErrorAs(t, err, new(*dag.ParamError))
	}
}

package expr

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTemplate(t *testing.T) {
	for src, want := range map[string]string{
		``:                                         `""`,
		`plain }} text`:                            `"plain }} text"`,
		`a < b & "c"` + "\n":                       `"a < b & \"c\"\n"`,
		`${{ params.count }}`:                      `3`,
		`${{params.count}}`:                        `3`,
		` ${{ params.count }}`:                     `" 3"`,
		"${{ params.count }}\n":                    `"3\n"`,
		`${{ nodes.clean.output.big }}`:            `123456789012345678901234567890`,
		`n=${{ nodes.clean.output.big }}`:          `"n=123456789012345678901234567890"`,
		`${{ params.region }}/${{ logical_date }}`: `"cn/2026-12-01"`,
		`${{ params.region }}${{ params.count }}`:  `"cn3"`,
		`o=${{ {"a": {"b": 1}} }}`:                 `"o={\"a\":{\"b\":1}}"`,
		`${{ {"a": {"b": 1}}}}`:                    `{"a":{"b":1}}`,
		`${{ "}}" + '}}' }}`:                       `"}}}}"`,
		`${{ """a "}}" b""" }}`:                    `"a \"}}\" b"`,
		`${{ r"\" + "\"}}" }}`:                     `"\\\"}}"`,
		"${{ 1 // it's }}\n + 1 }}":                `2`,
		`${{ "${{" }} stays`:                       `"${{ stays"`,
		`list ${{ nodes["load-all"].output }}`:     `"list [1,2.0,-9223372036854775808]"`,
		`null is ${{ nodes.extract.output }}`:      `"null is null"`,
		`日报 ${{ params.region }} ok`:               `"日报 cn ok"`,
		`$${{ params.count }}`:                     `"$3"`,
		`${{ scheduled_at }} · ${{ previous_scheduled_at == null }}`: `"2026-12-01T02:30:00+08:00 · true"`,
	} {
		t.Run(src, func(t *testing.T) {
			tmpl, err := CompileTemplate(src, scope)
			require.NoError(t, err)
			raw, err := tmpl.Eval(t.Context(), vars())
			require.NoError(t, err)
			require.Equal(t, want, string(raw))
		})
	}
}

func TestTemplateRefuses(t *testing.T) {
	for src, want := range map[string]string{
		`${{`:            "1:1 this ${{ has no }}",
		"a\n b ${{ 1":    "2:4 this ${{ has no }}",
		`${{ "abc }}`:    "1:1 this ${{ has no }}",
		`${{ {"a": 1 }}`: "1:1 this ${{ has no }}",
		`${{ 1 // }}`:    "1:1 this ${{ has no }}",
		`${{ }}`:         "1:4 the expression is empty",
		"日报\n日 ${{ 1 }} ${{ params.regoin }}": `2:23 unknown parameter "regoin"; did you mean "region"?`,
		"${{ 1 +\n params.regoin }}":          `2:9 unknown parameter "regoin"`,
		`${{ ${{ 1 }} }}`:                     `1:5`,
		`${{ 1 } }}`:                          `1:`,
		"a\xff${{ 1 }}":                       "1:1 the string is not valid UTF-8",
		strings.Repeat("x", maxText+1):        "at most 1048576 are allowed",
		strings.Repeat("${{1}}", 1001):        "a string may have at most 1000 expressions",
	} {
		t.Run(clip(src), func(t *testing.T) {
			_, err := CompileTemplate(src, scope)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, fmt.Sprintf("%d:%d %s", e.Line, e.Column, e.Msg), want)
			require.Equal(t, src, e.Source)
		})
	}
}

func TestTemplateReportsAllProblems(t *testing.T) {
	_, err := CompileTemplate("${{ params.regoin }} ${{ nodes.claen.output }}", scope)
	require.ErrorContains(t, err, `"region"`)
	require.ErrorContains(t, err, `"clean"`)
}

func TestTemplateNotesWhatIsRead(t *testing.T) {
	tmpl, err := CompileTemplate("${{ params.region }} ${{ nodes.extract.output }} ${{ nodes.clean.output.rows + params.count }}", scope)
	require.NoError(t, err)
	require.Equal(t, []string{"clean", "extract"}, tmpl.Nodes())
	require.Equal(t, []string{"count", "region"}, tmpl.Params())
}

func TestTemplateFailure(t *testing.T) {
	tmpl, err := CompileTemplate("rows: ${{ nodes.clean.output.nope }}", scope)
	require.NoError(t, err)
	_, err = tmpl.Eval(t.Context(), vars())
	var failed *EvalError
	require.ErrorAs(t, err, &failed)
	require.ErrorContains(t, err, `nodes.clean.output has no "nope"`)
}

func TestHasTemplate(t *testing.T) {
	require.True(t, HasTemplate("a ${{ x }}"))
	require.False(t, HasTemplate("a $ {{ x }} ${x}"))
}

// Any JSON value goes through a template, alone, in a list and in text, without a change.
func TestTemplateKeepsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := jsonText(3).Draw(t, "value")
		v := Vars{Extra: map[string]json.RawMessage{"item": json.RawMessage(want)}}
		for src, unwrap := range map[string]func(json.RawMessage) (string, error){
			"${{ item }}":            func(raw json.RawMessage) (string, error) { return string(raw), nil },
			"${{ [item] }}":          element,
			"${{ [[item][0]] }}":     element,
			"${{ true ? item : 1 }}": func(raw json.RawMessage) (string, error) { return string(raw), nil },
		} {
			tmpl, err := CompileTemplate(src, scope)
			require.NoError(t, err)
			raw, err := tmpl.Eval(t.Context(), v)
			require.NoError(t, err)
			got, err := unwrap(raw)
			require.NoError(t, err)
			require.True(t, same(json.RawMessage(want), json.RawMessage(got)), "%s: want %s, got %s", src, want, got)
		}
	})
}

func element(raw json.RawMessage) (string, error) {
	var list []json.RawMessage
	err := json.Unmarshal(raw, &list)
	return string(list[0]), err
}

// same compares JSON, numbers by their exact value.
func same(a, b json.RawMessage) bool {
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && x.Equal(y).Value() == true
}

// jsonText draws JSON with numbers of every size.
func jsonText(depth int) *rapid.Generator[string] {
	scalars := rapid.OneOf(
		rapid.SampledFrom([]string{"null", "true", "false", "0", "-0.0", "1e400", "-1E-400", "0.10", "1.5e3", "18446744073709551616", "{}", "[]"}),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,4})?`),
		rapid.Custom(func(t *rapid.T) string {
			raw, err := json.Marshal(rapid.String().Draw(t, "string"))
			require.NoError(t, err)
			return string(raw)
		}),
	)
	if depth == 0 {
		return scalars
	}
	inner := jsonText(depth - 1)
	return rapid.OneOf(scalars,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(e []string) string { return "[" + strings.Join(e, ",") + "]" }),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-z]{1,5}`), inner, 0, 4), func(m map[string]string) string {
			var members []string
			for k, v := range m {
				members = append(members, `"`+k+`":`+v)
			}
			return "{" + strings.Join(members, ",") + "}"
		}))
}

// FuzzCompileTemplate looks for panics, hangs, and results that are not JSON.
func FuzzCompileTemplate(f *testing.F) {
	for _, seed := range []string{
		"", "plain", "${{ 1 }}", "a ${{ params.region }} b ${{ nodes.clean.output.rows + 1 }}", "${{", "${{ '}}' }}",
		"${{ {\"a\": {\"b\": 1}}}}", "${{ r'\\' }}", "${{ [1,2].map(x, x * 2) }}", "${{ 1 // c }}\n}}", "${{ \"\"\"a\"\"\" }}",
		"${{ nodes[\"load-all\"].output[0] }}", "${{ params[item] }}", "${{ 1.0/0.0 }}", "日${{ '报' }}", "${{ has(item.x) ? item.x : null }}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		tmpl, err := CompileTemplate(src, scope)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		raw, err := tmpl.Eval(t.Context(), vars())
		if err == nil {
			require.True(t, json.Valid(raw), "%q gives %q", src, raw)
		}
	})
}

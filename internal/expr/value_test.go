package expr

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValue(t *testing.T) {
	tree := map[string]any{
		"day":     "${{ logical_date }}",
		"rows":    "${{ nodes.clean.output.rows }}",
		"exact":   []any{"${{ nodes.clean.output.huge }}", json.Number("0.10"), 3, nil, true},
		"text":    "<${{ params.region }}>",
		"env":     map[string]string{"REGION": "${{ params.region }}"},
		"command": []string{"./run", "${{ params.count }}"},
		"empty":   []any{},
		"none":    map[string]any{},
		"fixed":   map[string]any{"b": 1, "a": "x & y"},
	}
	v, problems := CompileValue(tree, scope)
	require.Empty(t, problems)
	require.Equal(t, []string{"clean"}, v.Nodes())
	require.Equal(t, []string{"count", "region"}, v.Params())
	raw, err := v.Eval(t.Context(), vars())
	require.NoError(t, err)
	require.Equal(t, `{"command":["./run",3],"day":"2026-12-01","empty":[],"env":{"REGION":"cn"},`+
		`"exact":[1e400,0.10,3,null,true],"fixed":{"a":"x & y","b":1},"none":{},"rows":7,"text":"<cn>"}`, string(raw))
}

func TestValueScalars(t *testing.T) {
	for want, v := range map[string]any{
		`null`: nil, `1.5`: 1.5, `"x"`: "x", `7`: "${{ nodes.clean.output.rows }}", `{"N":1}`: struct{ N int }{1},
	} {
		value, problems := CompileValue(v, scope)
		require.Empty(t, problems)
		raw, err := value.Eval(t.Context(), vars())
		require.NoError(t, err)
		require.Equal(t, want, string(raw))
	}
}

func TestValueReportsAllProblemsWithPaths(t *testing.T) {
	_, problems := CompileValue(map[string]any{
		"a":        []any{"ok", "${{ params.regoin }}"},
		"b":        map[string]any{"c": "${{ nodes.claen.output }} ${{ 1 + }}"},
		"${{ 1 }}": "x",
		"nan":      math.NaN(),
	}, scope)
	var got []string
	for _, p := range problems {
		got = append(got, strings.Join(p.Path, "/")+": "+p.Err.Error())
	}
	require.Len(t, got, 5)
	require.Contains(t, got[0], "${{ 1 }}: the name of a member cannot hold")
	require.Contains(t, got[1], `a/1: unknown parameter "regoin"; did you mean "region"?`)
	require.Contains(t, got[2], `b/c: "claen" is not a node that comes before`)
	require.Contains(t, got[3], `b/c: the expression ends too early`)
	require.Contains(t, got[4], `nan: encode value`)
}

func TestValueIsBounded(t *testing.T) {
	deep := any("x")
	for range maxNesting + 10 {
		deep = []any{deep}
	}
	_, problems := CompileValue(deep, scope)
	require.Len(t, problems, 1)
	require.ErrorContains(t, problems[0].Err, "nested more than 500 levels deep")

	many := make([]any, maxExpressions+500)
	for i := range many {
		many[i] = fmt.Sprintf("${{ %d }}", i)
	}
	_, problems = CompileValue(many, scope)
	require.Len(t, problems, maxProblems)
	require.ErrorContains(t, problems[0].Err, "more than 1000 expressions")

	big := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	v, problems := CompileValue([]any{"${{ item }}", "${{ item }}", "${{ item }}", "${{ item }}", "${{ item }}"}, scope)
	require.Empty(t, problems)
	_, err := v.Eval(t.Context(), Vars{Extra: map[string]json.RawMessage{"item": big}})
	require.ErrorIs(t, err, ErrTooCostly)
}

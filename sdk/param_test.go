package sdk_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/sdk"
)

type place struct {
	Region string `json:"region" default:"cn"`
	hidden string
}

type everyType struct {
	place
	Plain    string
	Ignored  string            `json:"-"`
	Since    time.Time         `json:"since" default:"2026-11-30T00:00:00Z"`
	Bytes    []byte            `json:"bytes"`
	Count    *uint8            `json:"count" default:"3"`
	Exact    json.Number       `json:"exact" default:"12345678901234567890.5"`
	Share    float32           `json:"share"`
	Dry      bool              `json:"dry" default:"true"`
	Names    []string          `json:"names" default:"[\"a\"]"`
	Pair     [2]int            `json:"pair"`
	Labels   map[string]string `json:"labels" default:"{}"`
	Settings struct{ A int }   `json:"settings"`
}

func TestFieldsOfAStructAreParameters(t *testing.T) {
	wf := sdk.NewWorkflow("w", sdk.WithParams[everyType]())
	sdk.Node(wf, "n", func(_ context.Context, p everyType) (string, error) { return p.hidden, nil })
	def, err := wf.Definition()
	require.NoError(t, err)
	require.Equal(t, map[string]dag.Param{
		"region":   {Type: "string", Default: "cn"},
		"Plain":    {Type: "string"},
		"since":    {Type: "string", Default: "2026-11-30T00:00:00Z"},
		"bytes":    {Type: "string"},
		"count":    {Type: "integer", Default: json.Number("3")},
		"exact":    {Type: "number", Default: json.Number("12345678901234567890.5")},
		"share":    {Type: "number"},
		"dry":      {Type: "boolean", Default: true},
		"names":    {Type: "array", Default: []any{"a"}},
		"pair":     {Type: "array"},
		"labels":   {Type: "object", Default: map[string]any{}},
		"settings": {Type: "object"},
	}, def.Params)
}

func TestTwoParents(t *testing.T) {
	declare := func(wf *sdk.Workflow) {
		a, b := parent[int](wf, "a"), parent[string](wf, "b")
		n := sdk.Node2(wf, "n", func(_ context.Context, a int, b string) ([]any, error) { return []any{b, a}, nil }, a, b)
		require.Equal(t, "n", n.Name())
	}
	out, err := call(t, declare, sdk.Call{Inputs: json.RawMessage(`{"a": 1, "b": "x"}`)})
	require.NoError(t, err)
	require.Equal(t, `["x",1]`, out)
	_, err = call(t, declare, sdk.Call{Inputs: json.RawMessage(`{"a": 1}`)})
	require.ErrorContains(t, err, "read input b: it is missing")
}

func TestFieldsThatMayBeLeftOutNeedNoSource(t *testing.T) {
	type optional struct {
		Note string `json:"note,omitempty"`
	}
	out, err := call(t, func(wf *sdk.Workflow) {
		sdk.NodeIn(wf, "n", func(_ context.Context, in optional) (optional, error) { return in, nil }, nil)
	}, sdk.Call{})
	require.NoError(t, err)
	require.Equal(t, `{}`, out)
}

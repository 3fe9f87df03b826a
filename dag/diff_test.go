package dag_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
)

func TestDiff(t *testing.T) {
	before := load(t, `
workflow: w
tags: [a, b]
params: {day: {type: string, default: x}}
schedules:
  - {name: nightly, cron: "0 2 * * *", timezone: UTC}
  - {name: hourly, every: 1h, timezone: UTC}
nodes:
  a: {handler: h, inputs: {n: 9007199254740993, deep: {list: [1, {x: 1}]}}}
  b: {handler: h, needs: [a], timeout: 5m}
  gone: {handler: h}
`).Definition()
	after := load(t, `
workflow: w
tags: [b]
params: {day: {type: string, default: x}}
schedules:
  - {name: hourly, every: 1h, timezone: UTC}
  - {name: nightly, cron: "0 3 * * *", timezone: UTC}
nodes:
  a: {handler: h, inputs: {n: 9007199254740992, deep: {list: [1, {x: 2}, 3]}}}
  b: {handler: h, needs: [a], when: "true"}
  new: {handler: h}
`).Definition()
	changes, err := dag.Diff(before, after)
	require.NoError(t, err)
	var got []string
	for _, c := range changes {
		line := fmt.Sprintf("%s %s %.30s → %.30s", c.Kind, c.Path, c.Old, c.New)
		got = append(got, line)
	}
	require.Equal(t, []string{
		"changed nodes.a.inputs.deep.list[1].x 1 → 2",
		"added nodes.a.inputs.deep.list[2]  → 3",
		"changed nodes.a.inputs.n 9007199254740993 → 9007199254740992",
		`changed nodes.b.timeout "5m" → "1h"`,
		`added nodes.b.when  → "true"`,
		`removed nodes.gone {"handler":"h","idempotent":tr → `,
		`added nodes.new  → {"handler":"h","idempotent":tr`,
		`changed schedules.nightly.cron "0 2 * * *" → "0 3 * * *"`,
		`changed tags ["a","b"] → ["b"]`,
	}, got)

	none, err := dag.Diff(before, before)
	require.NoError(t, err)
	require.Empty(t, none)
	require.True(t, dag.SameNode(before.Nodes["a"], before.Nodes["a"]))
	require.False(t, dag.SameNode(before.Nodes["a"], after.Nodes["a"]))
}

func TestDiffOfEverythingWithNothing(t *testing.T) {
	data, err := os.ReadFile("testdata/valid/everything.yaml")
	require.NoError(t, err)
	all, small := load(t, string(data)).Definition(), load(t, "workflow: w\nnodes: {x: {handler: h}}").Definition()
	there, err := dag.Diff(small, all)
	require.NoError(t, err)
	back, err := dag.Diff(all, small)
	require.NoError(t, err)
	require.Len(t, back, len(there))
	require.NotEmpty(t, there)
}

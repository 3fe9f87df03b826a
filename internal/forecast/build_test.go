package forecast

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
)

func graph(t *testing.T, text string) *dag.Graph {
	t.Helper()
	g, problems := dag.Load([]byte(text), dag.BuildOptions{DefaultTimezone: "Asia/Shanghai"})
	require.NoError(t, problems.Err())
	return g
}

func builder() *Builder {
	return NewBuilder(World{From: noon, Until: at(60), Points: 60, MaxSteps: 1000}, time.UTC)
}

func TestAWorldIsMadeOfDefinitions(t *testing.T) {
	b := builder()
	b.Resource(Resource{Kind: PoolKind, Name: "erp", Capacity: 4})
	past := map[string]Past{"read": {Durations: Durations{minutes(1), minutes(2)}}, "load": {Durations: Durations{minutes(3), minutes(4)}, Copies: 5}}
	place := b.Workflow(graph(t, `
workflow: sales
timeout: 30m
concurrency: {max_runs: 2, overflow: skip}
nodes:
  read: {handler: x, pools: [{pool: erp, weight: 2}], queue_timeout: 10m, priority: 1}
  load: {handler: x, needs: [read], for_each: "[1]"}
  rest: {needs: [read], wait: {for: 7m}}
  choose: {needs: [read], branch: {cases: [{when: "true", to: [left]}], default: [left]}}
  left: {command: [x], needs: [choose], shards: 3, queue: big}
  repair: {handler: x, needs: [load], trigger_rule: all_failed}
  after: {handler: x, needs: [repair]}
  join: {handler: x, needs: [repair, load], trigger_rule: none_failed}
  clean: {handler: x, finally: true}
`), past, true)
	w := b.Done()
	flow := w.Workflows[place]
	require.Equal(t, []any{"sales", 2, Skip, minutes(30)}, []any{flow.Name, flow.MaxRuns, flow.Overflow, flow.Timeout})
	nodes := make(map[string]Node)
	names := func(places []int) (out []string) {
		for _, p := range places {
			out = append(out, flow.Nodes[p].Name)
		}
		return out
	}
	for _, n := range flow.Nodes {
		nodes[n.Name] = n
	}
	at := func(kind Kind, name string) int { return b.places[Resource{Kind: kind, Name: name}] }
	require.Equal(t, []Use{{at(QueueKind, "default"), 1}, {at(PoolKind, "erp"), 2}}, nodes["read"].Uses)
	require.Equal(t, []any{1, minutes(10), minutes(1), minutes(2)}, []any{nodes["read"].Priority, nodes["read"].Patience, nodes["read"].Typical, nodes["read"].Slow})
	require.Equal(t, 5, nodes["load"].Copies)
	require.Equal(t, minutes(7), nodes["rest"].Typical)
	require.Empty(t, nodes["rest"].Uses)
	require.Equal(t, []any{3, []Use{{at(QueueKind, "big"), 1}}}, []any{nodes["left"].Copies, nodes["left"].Uses})
	require.Zero(t, nodes["repair"].Typical+nodes["after"].Typical, "nothing fails, and what follows a failure does not run")
	require.Empty(t, nodes["repair"].Uses)
	require.NotEmpty(t, nodes["join"].Uses)
	require.Equal(t, minutes(1), nodes["join"].Typical, "of what is not known, the middle of what is")
	require.ElementsMatch(t, []string{"left", "join", "clean"}, b.Assumed[place])
	require.ElementsMatch(t, []string{"rest", "left", "after", "join"}, names(nodes["clean"].Needs))
	require.Equal(t, []int{4, Unlimited, Unlimited}, []int{w.Resources[0].Capacity, w.Resources[1].Capacity, w.Resources[2].Capacity})
}

func TestDeadlinesOfAlerts(t *testing.T) {
	b := builder()
	place := b.Workflow(graph(t, `
workflow: w
schedules: [{cron: "0 2 * * *", timezone: Asia/Shanghai}]
alerts: [{on: deadline, at: "06:00"}, {on: deadline, after: 5h}, {on: failed}]
nodes: {a: {handler: x}}
`), nil, true)
	due := b.Done().Workflows[place].Deadline
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	require.Equal(t, "2026-12-01T06:00:00+08:00", due(time.Date(2026, 12, 1, 2, 0, 0, 0, shanghai)).In(shanghai).Format(time.RFC3339))
	require.Equal(t, "2026-12-01T05:30:00+08:00", due(time.Date(2026, 12, 1, 0, 30, 0, 0, shanghai)).In(shanghai).Format(time.RFC3339))
	require.Equal(t, "2026-12-02T06:00:00+08:00", due(time.Date(2026, 12, 2, 5, 0, 0, 0, shanghai)).In(shanghai).Format(time.RFC3339))
	require.Equal(t, "2026-12-01T11:00:00+08:00", due(time.Date(2026, 12, 1, 6, 0, 0, 0, shanghai)).In(shanghai).Format(time.RFC3339))
}

func TestUpstreamTermsBecomePlaces(t *testing.T) {
	b := builder()
	down := func(code, terms string) int {
		return b.Workflow(graph(t, "workflow: "+code+"\nnodes: {a: {handler: x}}\nupstream: "+terms), nil, true)
	}
	first := b.Workflow(graph(t, "workflow: first\nnodes: {a: {handler: x}}"), nil, true)
	all := down("all", "{all: [{workflow: first, match: latest}, {workflow: any, match: scheduled_at}]}")
	any := down("any", "{any: [{workflow: first, match: latest}, {workflow: gone}]}")
	failure := down("failure", "{all: [{workflow: first, on: failure}]}")
	elsewhere := down("elsewhere", "{all: [{workflow: first, namespace: other}, {workflow: first}]}")
	paused := b.Workflow(graph(t, "workflow: paused\nnodes: {a: {handler: x}}\nupstream: {any: [{workflow: first}]}"), nil, false)
	w := b.Done()
	require.Equal(t, &Upstream{Terms: []int{first, any}, Match: ByInstant}, w.Workflows[all].Upstream)
	require.Equal(t, &Upstream{Terms: []int{first}, Any: true, Match: Latest}, w.Workflows[any].Upstream)
	for _, never := range []int{failure, elsewhere, paused} {
		require.Nil(t, w.Workflows[never].Upstream)
	}
}

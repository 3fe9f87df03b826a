package dag_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/expr"
)

func load(t require.TestingT, text string) *dag.Graph {
	g, problems := dag.Load([]byte(text), dag.BuildOptions{})
	require.Empty(t, problems)
	return g
}

// Both short and long forms mean the same, and so have the same digest.
func TestDigestIsOfTheMeaning(t *testing.T) {
	same := [][]string{
		{`pool: erp`, `pools: [erp]`, `pools: [{pool: erp, weight: 1}]`, `pool: {pool: erp}`},
		{`route: any`, ``},
		{`shards: 4`, `shards: "4"`},
		{`timeout: 90m`, `timeout: 1h30m`, `timeout: 5400s`},
		{`needs: [b, c]`, `needs: [c, b]`},
		{`retry: {delays: [1s]}`, `retry: {backoff: list, delays: [1s], max_attempts: 2}`, `retry: {backoff: list, delays: [1s], jitter: 0}`},
		{`retry: {max_attempts: 4}`, `retry: {}`, `retry:`, `idempotent: true`, `on_failure: abort_chain`, `trigger_rule: all_success`},
	}
	seen := map[dag.Digest]string{}
	for _, forms := range same {
		var want dag.Digest
		for i, form := range forms {
			g := load(t, "workflow: w\nnodes:\n  b: {handler: h}\n  c: {handler: h}\n  a:\n    handler: h\n    "+form+"\n")
			if i == 0 {
				want = g.Digest()
			}
			require.Equal(t, want, g.Digest(), "%q means the same as %q", form, forms[0])
		}
		if forms[0] == `route: any` {
			continue
		}
		require.Empty(t, seen[want], forms[0])
		seen[want] = forms[0]
	}
}

// The zone that the server fills in is no part of the content; one that the author wrote is (contract §1).
func TestDigestLeavesOutTheServersZone(t *testing.T) {
	const silent = "workflow: w\nschedules: [{every: 5m}]\nnodes: {a: {handler: h}}\n"
	in := func(text, zone string) *dag.Graph {
		g, problems := dag.Load([]byte(text), dag.BuildOptions{DefaultTimezone: zone})
		require.Empty(t, problems)
		return g
	}
	shanghai, berlin := in(silent, ""), in(silent, "Europe/Berlin")
	require.Equal(t, shanghai.Digest(), berlin.Digest())
	require.Equal(t, "Asia/Shanghai", shanghai.Definition().Schedules[0].Timezone)
	require.Equal(t, "Europe/Berlin", berlin.Definition().Schedules[0].Timezone)
	require.Equal(t, "Europe/Berlin", berlin.DefaultZone())

	said := in(strings.Replace(silent, "5m}", "5m, timezone: Europe/Berlin}", 1), "UTC")
	require.NotEqual(t, berlin.Digest(), said.Digest())
	require.Empty(t, said.DefaultZone())

	_, problems := dag.Load([]byte(silent), dag.BuildOptions{DefaultTimezone: "Local"})
	require.Equal(t, dag.CodeInvalidZone, problems[0].Code)
}

func TestDefaults(t *testing.T) {
	g := load(t, `
workflow: w
schedules: [{cron: "0 2 * * *"}]
nodes:
  plain: {handler: h}
  listed: {handler: h, retry: {delays: [0s, 1s]}}
  fixed: {handler: h, retry: {backoff: fixed, delay: 3s}}
  slow: {handler: h, retry: {delay: 10m}}
  exact: {handler: h, retry: {delay: 0s, jitter: 0, max_lost: 0}}
  asked: {approval: {}}
  child: {workflow: {code: c}}
  pause: {wait: {for: 5m}}
  last: {handler: h, finally: true}
`)
	def := g.Definition()
	require.Equal(t, dag.DefaultRunTimeout, def.Timeout)
	require.Equal(t, dag.DefaultPriority, def.Priority)
	require.Equal(t, &dag.Concurrency{MaxRuns: 1, Overflow: dag.OverflowQueue, MaxQueued: 100}, def.Concurrency)
	require.Equal(t, dag.Late{Catchup: dag.CatchupLatest, CatchupWindow: dag.DefaultCatchupWindow, CatchupLimit: 100,
		MisfireThreshold: dag.DefaultMisfireThreshold}, def.Schedules[0].Late)
	require.Equal(t, "default", def.Schedules[0].Name)
	require.Equal(t, dag.DSTStandard, def.Schedules[0].DST)

	plain := def.Nodes["plain"]
	require.Equal(t, dag.Retry{MaxAttempts: 4, Backoff: dag.BackoffExponential, Delay: new(dag.DefaultDelay), Factor: 2,
		MaxDelay: dag.DefaultMaxDelay, Jitter: new(0.1), MaxLost: new(3)}, *plain.Retry)
	require.Equal(t, dag.AllSuccess, plain.TriggerRule)
	require.Equal(t, dag.DefaultTimeout, plain.Timeout)
	require.Equal(t, dag.DefaultQueueTimeout, plain.QueueTimeout)
	require.Equal(t, "default", plain.Queue)
	require.True(t, *plain.Idempotent)
	require.Zero(t, plain.Priority, "the run's")

	require.Equal(t, dag.Retry{MaxAttempts: 3, Backoff: dag.BackoffList, Delay: new(dag.Duration(0)),
		Jitter: new(0.0), Delays: []dag.Duration{0, 1e9}, MaxLost: new(3)}, *def.Nodes["listed"].Retry)
	require.Equal(t, dag.Duration(3e9), *def.Nodes["fixed"].Retry.Delay)
	require.Zero(t, def.Nodes["fixed"].Retry.MaxDelay)
	require.Equal(t, dag.Duration(600e9), def.Nodes["slow"].Retry.MaxDelay, "never less than the delay")
	exact := def.Nodes["exact"].Retry
	require.Equal(t, []any{dag.Duration(0), 0.0, 0}, []any{*exact.Delay, *exact.Jitter, *exact.MaxLost})

	require.Equal(t, dag.DefaultApprovalTimeout, def.Nodes["asked"].Timeout)
	require.Equal(t, dag.DefaultRunTimeout, def.Nodes["child"].Timeout)
	require.Zero(t, def.Nodes["pause"].Timeout)
	require.Empty(t, def.Nodes["last"].TriggerRule)

	require.Nil(t, load(t, "workflow: w\nnodes: {a: {handler: h}}\n").Definition().Concurrency, "unlimited")
	require.Nil(t, load(t, "workflow: w\nschedules: [{at: 2026-12-24T02:00:00Z}]\nnodes: {a: {handler: h}}\n").Definition().Concurrency)
}

func TestDefaultsOfTheWorkflow(t *testing.T) {
	g := load(t, `
workflow: w
defaults:
  timeout: 10m
  queue: report
  retry: {max_attempts: 3, backoff: list, delays: [1s, 2s], max_lost: 9, jitter: 0.5}
nodes:
  plain: {handler: h}
  fewer: {handler: h, retry: {max_attempts: 2}}
  own: {handler: h, retry: {delays: [5s]}, timeout: 1m, queue: q}
  shape: {handler: h, retry: {backoff: exponential}}
`)
	n := g.Definition().Nodes
	require.Equal(t, dag.Duration(600e9), n["plain"].Timeout)
	require.Equal(t, "report", n["plain"].Queue)
	require.Equal(t, []dag.Duration{1e9, 2e9}, n["plain"].Retry.Delays)
	require.Equal(t, 0.5, *n["plain"].Retry.Jitter)
	require.Equal(t, []dag.Duration{1e9}, n["fewer"].Retry.Delays)
	require.Equal(t, dag.Retry{MaxAttempts: 2, Backoff: dag.BackoffList, Delay: new(dag.Duration(0)), Jitter: new(0.0),
		Delays: []dag.Duration{5e9}, MaxLost: new(9)}, *n["own"].Retry)
	require.Equal(t, "q", n["own"].Queue)
	require.Equal(t, 3, n["shape"].Retry.MaxAttempts)
	require.Nil(t, n["shape"].Retry.Delays)
	require.Nil(t, g.Definition().Defaults, "written into the nodes")
}

// Build leaves the definition as it was, and works without text.
func TestBuildOfValues(t *testing.T) {
	def := &dag.Definition{
		Meta: dag.Meta{Workflow: "w"},
		Nodes: map[string]*dag.Node{
			"a": {Work: dag.Work{Handler: "h"}, Inputs: map[string]any{"n": 1, "s": struct {
				B int `json:"b"`
				A int `json:"a"`
			}{1, 2}}},
			"b": {Work: dag.Work{Handler: "h"}, Flow: dag.Flow{Needs: []string{"a"}}, Policy: dag.Policy{Timeout: -1}},
		},
	}
	g, problems := dag.Build(def, dag.BuildOptions{})
	require.Nil(t, g)
	require.Equal(t, "nodes.b.timeout: a duration cannot be negative", problems.Error())
	def.Nodes["b"].Timeout = 0
	g, problems = dag.Build(def, dag.BuildOptions{})
	require.Empty(t, problems)
	require.Contains(t, string(g.Canonical()), `"inputs":{"n":1,"s":{"a":2,"b":1}}`)
	require.Nil(t, def.Nodes["a"].Retry)
	require.Zero(t, def.Timeout)

	def.Nodes["a"].Inputs["bad"] = "a\x00b"
	_, problems = dag.Build(def, dag.BuildOptions{})
	require.Equal(t, dag.CodeInvalidText, problems[0].Code)
	def.Nodes["a"].Inputs["bad"] = func() {}
	_, problems = dag.Build(def, dag.BuildOptions{})
	require.True(t, problems.Failed())
}

func TestExpressionsAreCompiled(t *testing.T) {
	data, err := os.ReadFile("testdata/valid/everything.yaml")
	require.NoError(t, err)
	g := load(t, string(data))
	at := func(name string) *dag.Vertex {
		i, ok := g.Index(name)
		require.True(t, ok)
		return g.At(i)
	}
	vars := expr.Vars{
		Params:      json.RawMessage(`{"region": "de", "count": 5, "exact": true}`),
		Nodes:       map[string]json.RawMessage{"extract": json.RawMessage(`{"rows": 7, "items": [1]}`)},
		LogicalDate: "2026-11-30",
	}
	inputs, err := at("extract").Inputs.Eval(context.Background(), vars)
	require.NoError(t, err)
	require.JSONEq(t, `{"region": "de", "day": "day 2026-11-30", "deep": {"list": [1, true, null, 5]}}`, string(inputs))
	work, err := at("load").Work.Eval(context.Background(), vars)
	require.NoError(t, err)
	require.JSONEq(t, `{"url": "https://erp.example/de", "headers": {"X-Region": "de"}, "body": {"rows": 7}}`, string(work))
	yes, err := at("child").When.EvalBool(context.Background(), vars)
	require.NoError(t, err)
	require.True(t, yes)
	require.Len(t, at("check").Cases, 2)
	require.NotNil(t, at("until").Until)
	require.NotNil(t, at("each").RouteKey)
	require.Equal(t, []string{"extract"}, at("each").Reads)
	require.Nil(t, at("report").Work, "no template")
	require.Equal(t, []string{"report"}, g.Output().Nodes())

	again, err := dag.Rebuild(g.Canonical())
	require.NoError(t, err)
	i, _ := again.Index("load")
	require.NotNil(t, again.At(i).Work)
}

func TestRebuildRefusesWhatIsNoDefinition(t *testing.T) {
	for _, text := range []string{``, `{`, `{"nodes": 5}`, `{"nodes": {"a": {"needs": ["b"]}, "b": {"needs": ["a"]}}}`, `{"nodes": {"a": {"needs": ["b"]}}}`} {
		_, err := dag.Rebuild([]byte(text))
		require.Error(t, err, text)
	}
}

func TestLimits(t *testing.T) {
	large := []byte("workflow: w\ndescription: " + strings.Repeat("x", 10<<20))
	_, problems := dag.Load(large, dag.BuildOptions{})
	require.True(t, problems.TooLarge() && problems.Unparsable())
	for _, crowd := range []string{strings.Repeat("a: b\n", 600_000), "a: [" + strings.Repeat("1,", 1_500_000) + "1]"} {
		_, problems = dag.Load([]byte(crowd), dag.BuildOptions{})
		require.True(t, problems.Unparsable() && !problems.TooLarge())
	}

	var b strings.Builder
	b.WriteString("workflow: w\nnodes:\n")
	for i := range dag.MaxNodes + 1 {
		fmt.Fprintf(&b, " n%d: {handler: h}\n", i)
	}
	_, problems = dag.Load([]byte(b.String()), dag.BuildOptions{})
	require.Equal(t, dag.CodeTooManyNodes, problems[0].Code)

	b.Reset()
	b.WriteString("workflow: w\nnodes:\n")
	for i := range 3000 {
		fmt.Fprintf(&b, " n%d: {handlr: h, needs: [m%d]}\n", i, i)
	}
	_, problems = dag.Load([]byte(b.String()), dag.BuildOptions{})
	require.Less(t, len(problems), 2100)
	require.Equal(t, dag.CodeTooManyProblems, problems[len(problems)-1].Code)
}

// A document of 10,000 nodes and 50,000 edges builds, and ten times the nodes cost about ten times as much:
// nothing is quadratic.
func TestLargeDefinitions(t *testing.T) {
	g, problems := dag.Load(wide(10_000), dag.BuildOptions{})
	require.Empty(t, problems)
	require.Equal(t, 10_000, g.Len())
	cost := func(n int) float64 {
		data := wide(n)
		return testing.AllocsPerRun(1, func() { dag.Load(data, dag.BuildOptions{}) })
	}
	require.Less(t, cost(2_000), 12*cost(200))
}

// The names of problems that JSON clients see do not change by accident.
func TestProblemAsJSON(t *testing.T) {
	_, problems := dag.Load([]byte("workflow: w\nnodes: {a: {handler: h, priority: 9}}\n"), dag.BuildOptions{})
	out, err := json.Marshal(problems)
	require.NoError(t, err)
	require.JSONEq(t, `[{"path": "nodes.a.priority", "line": 2, "column": 35, "severity": "error", "code": "out_of_range",
		"message": "9 is not between 1 and 4", "value": 9}]`, string(out))
}

// Building what Build wrote out changes nothing, whatever the definition.
func TestBuildIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := randomDefinition(t)
		first, problems := dag.Build(def, dag.BuildOptions{})
		require.False(t, problems.Failed(), "%v", problems)
		second, problems := dag.Build(first.Definition(), dag.BuildOptions{})
		require.False(t, problems.Failed(), "%v", problems)
		require.Equal(t, string(first.Canonical()), string(second.Canonical()))
		read, problems := dag.Parse(first.Canonical())
		require.Empty(t, problems)
		third, err := dag.EncodeDefinition(read)
		require.NoError(t, err)
		require.Equal(t, string(first.Canonical()), string(third))
	})
}

func randomDefinition(t *rapid.T) *dag.Definition {
	def := &dag.Definition{Meta: dag.Meta{Workflow: "w"}, Nodes: map[string]*dag.Node{}}
	if rapid.Bool().Draw(t, "defaults") {
		def.Defaults = &dag.Defaults{Timeout: 5e9, Retry: randomRetry(t)}
	}
	var names []string
	for i := range rapid.IntRange(1, 8).Draw(t, "nodes") {
		name := fmt.Sprintf("n%d", i)
		n := &dag.Node{Work: dag.Work{Handler: "h"}}
		for _, earlier := range names {
			if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
				n.Needs = append(n.Needs, earlier)
			}
		}
		if rapid.Bool().Draw(t, "retry") {
			n.Retry = randomRetry(t)
		}
		n.Shards = rapid.SampledFrom([]dag.Shards{"", "3", "workers"}).Draw(t, "shards")
		if n.Shards != "" {
			n.Success = rapid.SampledFrom([]dag.Success{"", "any", "at_least 2", "at_least 50%"}).Draw(t, "success")
		}
		n.Route = rapid.SampledFrom([]*dag.Route{nil, {}, {Kind: dag.RouteWorker, Worker: "w"}, {Kind: dag.RouteConsistentHash, Key: "1"}}).Draw(t, "route")
		n.Idempotent = rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(t, "idempotent")
		names = append(names, name)
		def.Nodes[name] = n
	}
	return def
}

func randomRetry(t *rapid.T) *dag.Retry {
	r := &dag.Retry{MaxAttempts: rapid.IntRange(0, 6).Draw(t, "max_attempts")}
	switch rapid.IntRange(0, 3).Draw(t, "shape") {
	case 0:
		r.Backoff = dag.BackoffFixed
	case 1:
		count := rapid.IntRange(1, 4).Draw(t, "delays")
		r.Delays = slices.Repeat([]dag.Duration{1e9}, count)
		r.MaxAttempts = rapid.SampledFrom([]int{0, count + 1, count + 3}).Draw(t, "list_attempts")
	case 2:
		r.Delay, r.Jitter = new(dag.Duration(rapid.IntRange(0, 1).Draw(t, "delay")*1e9)), new(0.0)
	}
	if rapid.Bool().Draw(t, "lost") {
		r.MaxLost = new(rapid.IntRange(0, 3).Draw(t, "max_lost"))
	}
	return r
}

func TestTheKeyOfARun(t *testing.T) {
	of := func(key, params string) (string, error) {
		g := load(t, fmt.Sprintf("workflow: w\nparams: {region: {type: string, default: cn}, n: {type: integer, default: 1}, o: {type: object, default: {}}}\n"+
			"concurrency: {max_runs: 1, key: %q}\nnodes: {a: {handler: h}}", key))
		return g.Key(t.Context(), expr.Vars{Params: json.RawMessage(params), LogicalDate: "2026-11-30"})
	}
	for key, want := range map[string]string{
		"params.region": "cn", "params.n": "9007199254740993", "${{ params.region }}/${{ logical_date }}": "cn/2026-11-30", "${{ params.o }}": `{"a":[1]}`,
		"params.n > 1 ? 'big' : 'small'": "big",
	} {
		got, err := of(key, `{"region": "cn", "n": 9007199254740993, "o": {"a":[1]}}`)
		require.NoError(t, err, key)
		require.Equal(t, want, got, key)
	}
	_, err := of("params.o.missing", `{"o": {}}`)
	require.ErrorContains(t, err, "concurrency.key")
	_, err = of("params.region", `{"region": "`+strings.Repeat("x", 600)+`"}`)
	require.ErrorContains(t, err, "600 bytes")
	none, err := load(t, "workflow: w\nnodes: {a: {handler: h}}").Key(t.Context(), expr.Vars{})
	require.NoError(t, err)
	require.Empty(t, none)
}

package sdk_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/sdk"
)

type (
	region struct {
		Region string  `json:"region" default:"cn" doc:"which market"`
		Top    int     `json:"top" default:"10"`
		Share  float64 `json:"share" default:"0.25"`
	}
	orders  struct{ Rows int }
	cleaned struct{ Rows, Dropped int }
	both    struct {
		Orders orders   `json:"orders"`
		Clean  *cleaned `json:"clean"`
		Day    string   `json:"day"`
		Note   string   `json:"note,omitempty"`
	}
	none = struct{}
)

func extract(context.Context, region) (orders, error)             { return orders{}, nil }
func clean(context.Context, orders) (cleaned, error)              { return cleaned{}, nil }
func compare(context.Context, orders, *cleaned) (bool, error)     { return true, nil }
func mix(context.Context, orders, *cleaned, bool) (string, error) { return "", nil }
func push(context.Context, both) (none, error)                    { return none{}, nil }
func cleanup(context.Context, none) (none, error)                 { return none{}, nil }
func build(t *testing.T, def *dag.Definition) *dag.Graph {
	t.Helper()
	g, problems := dag.Build(def, dag.BuildOptions{})
	require.NoError(t, problems.Err())
	return g
}

func declared() *sdk.Workflow {
	wf := sdk.NewWorkflow("report.daily",
		sdk.Title("Daily report"), sdk.Description("what it is for"), sdk.Owner("data-team"), sdk.Tags("report", "nightly"),
		sdk.Timeout(2*time.Hour), sdk.Priority(3), sdk.MaxRuns(2),
		sdk.Schedule(dag.Schedule{Name: "nightly", Cron: "0 30 2 * * ?", Timezone: "Asia/Shanghai", Params: map[string]any{"region": "us"}}),
		sdk.Schedule(dag.Schedule{Name: "often", Every: dag.Duration(time.Hour)}),
		sdk.Defaults(sdk.Timeout(10*time.Minute), sdk.Queue("slow"), sdk.MaxAttempts(3), sdk.Exponential(time.Second, 2, time.Minute)))
	orders := sdk.Node(wf, "extract", extract, sdk.Timeout(30*time.Minute), sdk.HandlerName("orders.extract"))
	clean := sdk.Node1(wf, "clean-up", clean, orders, sdk.OnFailure(sdk.SkipNode), sdk.Delays(0, 10*time.Second), sdk.Queue("fast"),
		sdk.Pool("erp"), sdk.PoolWeight("db", 3))
	same := sdk.Node2(wf, "compare", compare, orders, sdk.Maybe(clean), sdk.Title("Compare"), sdk.Priority(1), sdk.QueueTimeout(time.Hour))
	mixed := sdk.Node3(wf, "mix", mix, orders, sdk.Maybe(clean), same, sdk.Fixed(time.Second))
	pushed := sdk.NodeIn(wf, "push", push, sdk.Inputs{"orders": orders, "clean": clean, "day": sdk.Expr[string]("logical_date")},
		sdk.After(mixed), sdk.Retry(dag.Retry{MaxAttempts: 1}))
	sdk.Node(wf, "alarm", cleanup, sdk.After(orders, pushed), sdk.TriggerRule(sdk.OneFailed))
	sdk.Node(wf, "cleanup", cleanup, sdk.Finally())
	return wf
}

const written = `
workflow: report.daily
title: Daily report
description: what it is for
owner: data-team
tags: [report, nightly]
timeout: 2h
priority: 3
params:
  region: {type: string, default: cn, description: which market}
  top: {type: integer, default: 10}
  share: {type: number, default: 0.25}
schedules:
  - {name: nightly, cron: "0 30 2 * * ?", timezone: Asia/Shanghai, params: {region: us}}
  - {name: often, every: 1h}
concurrency: {max_runs: 2}
defaults: {timeout: 10m, queue: slow, retry: {max_attempts: 3, backoff: exponential, delay: 1s, factor: 2, max_delay: 1m}}
nodes:
  extract: {handler: orders.extract, timeout: 30m}
  clean-up:
    handler: report.daily.clean-up
    needs: [extract]
    inputs: {extract: "${{ nodes.extract.output }}"}
    on_failure: skip
    retry: {backoff: list, delays: [0s, 10s]}
    queue: fast
    pools: [erp, {pool: db, weight: 3}]
  compare:
    title: Compare
    handler: report.daily.compare
    needs: [clean-up, extract]
    inputs: {extract: "${{ nodes.extract.output }}", clean-up: "${{ nodes[\"clean-up\"].output }}"}
    priority: 1
    queue_timeout: 1h
  mix:
    handler: report.daily.mix
    needs: [clean-up, extract, compare]
    inputs:
      extract: "${{ nodes.extract.output }}"
      clean-up: "${{ nodes[\"clean-up\"].output }}"
      compare: "${{ nodes.compare.output }}"
    retry: {backoff: fixed, delay: 1s}
  push:
    handler: report.daily.push
    needs: [extract, clean-up, mix]
    inputs:
      orders: "${{ nodes.extract.output }}"
      clean: "${{ nodes[\"clean-up\"].output }}"
      day: "${{ logical_date }}"
    retry: {max_attempts: 1}
  alarm: {handler: report.daily.alarm, needs: [extract, push], trigger_rule: one_failed}
  cleanup: {handler: report.daily.cleanup, finally: true}
`

func TestTheSameWorkflowInYAMLIsTheSameVersion(t *testing.T) {
	def, problems := dag.Parse([]byte(written))
	require.NoError(t, problems.Err())
	want := build(t, def)
	made, err := declared().Definition()
	require.NoError(t, err)
	got := build(t, made)
	require.Equal(t, string(want.Canonical()), string(got.Canonical()))
	require.Equal(t, want.Digest(), got.Digest())
}

func TestEveryNodeHasItsHandler(t *testing.T) {
	wf := declared()
	def, err := wf.Definition()
	require.NoError(t, err)
	handlers := wf.Handlers()
	require.Len(t, handlers, len(def.Nodes))
	for name, n := range def.Nodes {
		require.Contains(t, handlers, n.Handler, name)
	}
	delete(handlers, "orders.extract")
	require.Contains(t, wf.Handlers(), "orders.extract", "what is returned is the caller's")
	def.Nodes["push"].Needs = nil
	again, err := wf.Definition()
	require.NoError(t, err)
	require.NotEmpty(t, again.Nodes["push"].Needs, "what is returned is the caller's")
}

func TestSchedules(t *testing.T) {
	at := time.Date(2026, 12, 24, 2, 0, 0, 0, time.FixedZone("", 8*3600))
	for text, option := range map[string]sdk.WorkflowOption{
		`{cron: "30 2 * * *", timezone: Europe/Berlin}`: sdk.Cron("30 2 * * *", "Europe/Berlin"),
		`{cron: "30 2 * * *"}`:                          sdk.Cron("30 2 * * *", ""),
		`{every: 15m}`:                                  sdk.Every(15 * time.Minute),
		`{at: 2026-12-24T02:00:00+08:00}`:               sdk.At(at),
	} {
		def, problems := dag.Parse([]byte("workflow: w\nschedules: [" + text + "]\nnodes: {a: {handler: w.a}}"))
		require.NoError(t, problems.Err())
		wf := sdk.NewWorkflow("w", option)
		sdk.Node(wf, "a", cleanup)
		made, err := wf.Definition()
		require.NoError(t, err)
		require.Equal(t, string(build(t, def).Canonical()), string(build(t, made).Canonical()))
	}
}

package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

func TestWorkflowsAreListedAndShown(t *testing.T) {
	w := api.Workflow{Workflow: "report.daily", Version: 3, Owner: "data-team", NextFireAt: moment(0), LastRun: &api.LastRun{ID: "38hcj", State: "failed"},
		Paused: &api.Pause{By: "user:li", Reason: "the source is down"}}
	s := newStage(t, map[string]http.HandlerFunc{
		"GET workflows": answer(api.Page[api.Workflow]{Items: []api.Workflow{w, {Workflow: "idle", Version: 1}}}),
		"GET workflows/report.daily": answer(api.WorkflowDetail{Workflow: w, Definition: api.Object("{}"), Schedules: []api.Schedule{
			{Name: "nightly", Spec: api.Object(`{"cron":"0 30 2 * * ?","timezone":"Asia/Shanghai"}`), NextFireAt: moment(0)},
			{Name: "once", Spec: api.Object(`{"at":"2026-01-01T00:00:00Z"}`)},
		}}),
	})
	sh := at(s.URL)
	golden(t, "workflows.golden", sh.ax("workflows").good(t)+"\n"+sh.ax("workflows", "report.daily").good(t))
}

func TestApplySaysThatAWorkflowIsPaused(t *testing.T) {
	c := shell{}.call(nil, nil)
	require.Contains(t, c.appliedText([]applied{{File: "x", Registered: &api.Registered{Workflow: "good", Version: 1, Paused: &api.Pause{By: "user:li"}}}}),
		"good is paused by user:li: its schedules start nothing until `ax resume good`")
}

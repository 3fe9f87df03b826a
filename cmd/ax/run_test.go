package main

import (
	"encoding/json"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

// oneRun is a stage with a run whose state changes after some looks.
func oneRun(t *testing.T, looks int64, last string) *stage {
	var looked atomic.Int64
	return newStage(t, map[string]http.HandlerFunc{
		"GET runs/r": func(w http.ResponseWriter, r *http.Request) {
			run := api.RunDetail{Run: api.Run{ID: "r", Workflow: "w", State: "running"}, Params: api.Object("{}")}
			if looked.Add(1) > looks {
				run.State = last
			}
			answer(run)(w, r)
		},
		"GET runs/r/nodes":        answer(api.Page[api.NodeRun]{Items: someNodes()}),
		"POST runs/r/cancel":      answer(api.RunDetail{Run: api.Run{ID: "r", State: "running"}, Params: api.Object("{}")}),
		"POST workflows/w/runs":   answer(api.RunDetail{Run: api.Run{ID: "r", Workflow: "w", State: "queued"}, Params: api.Object("{}")}),
		"GET workflows/w":         answer(api.WorkflowDetail{Definition: api.Object(`{}`)}),
		"POST workflows/w/pause":  answer(api.WorkflowDetail{Workflow: api.Workflow{Workflow: "w"}, Definition: api.Object("{}")}),
		"POST workflows/w/resume": answer(api.WorkflowDetail{Workflow: api.Workflow{Workflow: "w", NextFireAt: moment(0)}, Definition: api.Object("{}")}),
	})
}

func TestWaitExitsByTheOutcome(t *testing.T) {
	for state, code := range map[string]int{"succeeded": exitDone, "failed": exitUnsuccess, "canceled": exitUnsuccess, "skipped": exitUnsuccess} {
		for _, args := range [][]string{{"run", "r", "--wait"}, {"trigger", "w", "--wait"}, {"trigger", "w", "--wait", "-q"}} {
			d := at(oneRun(t, 1, state).URL).ax(args...)
			require.Equal(t, code, d.code, "%v: %s", args, d.err)
			require.NotEmpty(t, d.out)
		}
	}
}

func TestWaitThatEndsBeforeTheRun(t *testing.T) {
	s := oneRun(t, 1<<60, "")
	d := at(s.URL).ax("run", "r", "--wait", "--timeout", "120ms")
	d.fails(t, exitStillRuns, "run r has not ended after 120ms")
	require.Contains(t, d.out, "extract", "how far it is, is shown")
	at(s.URL).ax("run", "nope", "--wait").fails(t, exitNotFound, "there is no GET runs/nope")
}

// A server that goes away and comes back does not end a wait.
func TestWaitOutlivesTheServer(t *testing.T) {
	var looked atomic.Int64
	s := newStage(t, map[string]http.HandlerFunc{
		"GET runs/r": func(w http.ResponseWriter, r *http.Request) {
			switch looked.Add(1) {
			case 2, 3:
				refuse(http.StatusServiceUnavailable, "the database is away")(w, r)
			case 1:
				answer(api.RunDetail{Run: api.Run{ID: "r", State: "running"}, Params: api.Object("{}")})(w, r)
			default:
				answer(api.RunDetail{Run: api.Run{ID: "r", State: "succeeded"}, Params: api.Object("{}")})(w, r)
			}
		},
		"GET runs/r/nodes": answer(api.Page[api.NodeRun]{Items: []api.NodeRun{}}),
	})
	d := at(s.URL).ax("run", "r", "--wait")
	d.good(t)
	require.Contains(t, d.err, "trying again")
}

func TestRunAsJSON(t *testing.T) {
	var view struct {
		ID, State string
		Nodes     []struct{ Node, State string }
	}
	require.NoError(t, json.Unmarshal([]byte(at(oneRun(t, 0, "succeeded").URL).ax("run", "r", "-o", "json").good(t)), &view))
	require.Equal(t, "r", view.ID)
	require.Len(t, view.Nodes, len(someNodes()))
}

func TestCancelAsksFirst(t *testing.T) {
	s := oneRun(t, 1<<60, "")
	const does = "POST runs/r/cancel"
	at(s.URL).ax("cancel", "r").fails(t, exitDeclined, "add --yes")
	for answer, code := range map[string]int{"n\n": exitDeclined, "": exitDeclined, "maybe\n": exitDeclined} {
		d := shell{env: at(s.URL).env, person: true, input: answer}.ax("cancel", "r")
		d.fails(t, code, "cancel run r of w for , which is running? [y/N]")
	}
	require.NotContains(t, s.asked, does)
	require.Contains(t, shell{env: at(s.URL).env, person: true, input: "y\n"}.ax("cancel", "r").good(t), "is being canceled")
	require.Contains(t, at(s.URL).ax("cancel", "r", "--yes", "--reason", "because").good(t), "is being canceled")
	require.Contains(t, s.asked, does)
}

func TestPauseAndResume(t *testing.T) {
	s := at(oneRun(t, 0, "").URL)
	require.Contains(t, s.ax("pause", "w", "--reason", "because").good(t), "w is paused")
	require.Equal(t, "w is resumed; its next fire is 2026-11-30 09:00:00 +00:00\n", s.ax("resume", "w").good(t))
}

// triggerStage tells what a trigger sent.
func triggerStage(t *testing.T, sent *string) *stage {
	return newStage(t, map[string]http.HandlerFunc{
		"GET workflows/w": answer(api.WorkflowDetail{Definition: api.Object(`{"params": {"text": {"type": "string"}, "n": {"type": "integer"}, "on": {"type": "boolean"}}}`)}),
		"POST workflows/w/runs": func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(err)
			}
			*sent = string(body)
			answer(api.RunDetail{Run: api.Run{ID: "r", Workflow: "w"}, Params: api.Object("{}")})(w, r)
		},
	})
}

func TestTriggerParameters(t *testing.T) {
	var sent string
	s := at(triggerStage(t, &sent).URL)
	for _, c := range []struct {
		input string
		args  []string
		want  string
	}{
		{"", nil, `{}`},
		{"", []string{"--param", "text=12", "-p", "n=12", "-p", "on=true", "-p", "other=a=b"}, `{"params": {"text": "12", "n": 12, "on": true, "other": "a=b"}}`},
		{"text: 每日\nn: 12345678901234567890\n", []string{"--params-file", "-"}, `{"params": {"text": "每日", "n": 12345678901234567890}}`},
		{`{"text": "x", "n": 1}`, []string{"--params-file", "-", "--param", "n=2"}, `{"params": {"text": "x", "n": 2}}`},
		{"", []string{"--logical-time", "2001-01-15T02:30:00+08:00"}, `{"logical_time": "2001-01-15T02:30:00+08:00"}`},
	} {
		d := shell{env: s.env, input: c.input}.ax(append([]string{"trigger", "w"}, c.args...)...)
		require.Contains(t, d.good(t), "started run r of w")
		require.JSONEq(t, c.want, sent, c.args)
	}
	require.Contains(t, sent, "+08:00")
	require.Equal(t, "r\n", s.ax("trigger", "w", "-q").good(t))
}

func TestTriggerParametersThatAreWrong(t *testing.T) {
	var sent string
	s := at(triggerStage(t, &sent).URL)
	s.ax("trigger", "w", "-p", "n=x", "-p", "on").fails(t, exitUsage, "--param n=x: it must be integer, written as in JSON\n--param \"on\": write it as NAME=VALUE")
	for _, input := range []string{"[1]", "null", "a: [", ""} {
		shell{env: s.env, input: input}.ax("trigger", "w", "--params-file", "-").fails(t, exitUsage, "the parameters in -")
	}
	s.ax("trigger", "w", "--params-file", "/nowhere").fails(t, exitUsage, "read parameters")
	s.ax("trigger", "w", "--logical-time", "today").fails(t, exitUsage, `--logical-time "today" is no instant`)
	require.Empty(t, sent)
}

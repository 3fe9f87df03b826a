package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

// someAnswer is one with everything that an answer may have.
func someAnswer() api.Why {
	return api.Why{
		Workflow: "nightly", State: "problem", Reason: api.NodeFailed, Timezone: "Europe/Berlin", Run: "38hcj0w3c0002", NodeRun: "38hcj0w3c0002:load:1",
		Verdict: "nightly ran at 02:30 on Mon 30 Nov 2026 (Europe/Berlin) and failed after 11 min: node load failed on attempt 3 of 3: pq: too many connections.",
		Steps: []api.WhyStep{
			{Step: "schedule", State: "ok", Reason: api.Planned, Message: "it fires at 02:30 on Mon 30 Nov 2026 (Europe/Berlin): cron 30 2 * * * in Europe/Berlin"},
			{Step: "fired", State: "ok", Reason: api.WasFired, Message: "fired at 02:30"},
			{Step: "run", State: "problem", Reason: api.FailedNode, Message: "failed at 02:41, after 11 min; of 12 nodes 7 succeeded, 1 failed and 4 upstream failed"},
			{Step: "node", State: "problem", Reason: api.NodeFailed, Message: "load: failed on attempt 3 of 3: pq: too many connections"},
			{Step: "worker", State: "waiting", Reason: api.WorkerFine, Message: "etl-7f9c, which took it after 41 s"},
			{Step: "log", State: "not_reached", Evidence: &api.Evidence{Line: 822, Lines: []api.LogLine{{Text: "connecting"}, {Text: "ERROR pq:\ttoo many connections\x1b[31m"}}}},
		},
		Do: []string{"ax rerun 38hcj0w3c0002", "ax trigger nightly --logical-time 2026-11-30T02:30:00+01:00"},
	}
}

func TestWhyIsTheServersAnswer(t *testing.T) {
	var asked string
	s := newStage(t, map[string]http.HandlerFunc{
		"GET why": func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.Query().Encode()
			got := someAnswer()
			switch r.URL.Query().Get("workflow") {
			case "good":
				got.State, got.Reason = "ok", api.RunSucceeded
			case "38hcj0w3c0003":
				got.Verdict = "a workflow of that name"
			case "none":
				w.WriteHeader(http.StatusNotFound)
				return
			}
			if r.URL.Query().Get("run") == "38hcj0w3c0003" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			answer(got)(w, r)
		},
	})
	sh := at(s.URL)
	golden(t, "why.golden", sh.ax("why", "nightly", "--at", "02:30").good(t))
	require.Equal(t, "at=02%3A30&workflow=nightly", asked)
	require.Contains(t, sh.ax("why", "nightly", "-o", "json").good(t), `"verdict": "nightly ran`)
	require.Equal(t, "workflow=nightly", asked)
	for want, args := range map[string][]string{
		"at=02%3A30%5BAsia%2FShanghai%5D&workflow=nightly": {"nightly", "--at", "02:30", "--tz", "Asia/Shanghai"},
		"run=38hcj0w3c0002":                 {"38hcj0w3c0002"},
		"at=-2h&workflow=38hcj0w3c0002":     {"38hcj0w3c0002", "--at=-2h"},
		"node_run=38hcj0w3c0002%3Aload":     {"38hcj0w3c0002", "load"},
		"node_run=38hcj0w3c0002%3Aload%3A1": {"38hcj0w3c0002:load:1"},
	} {
		sh.ax(append([]string{"why"}, args...)...).good(t)
		require.Equal(t, want, asked)
	}
	require.Contains(t, sh.ax("why", "38hcj0w3c0003").good(t), "a workflow of that name")
	sh.ax("why", "nightly", "load").fails(t, exitUsage, "is no run")
	sh.ax("why", "38hcj0w3c0002", "load", "--at", "02:30").fails(t, exitUsage, "--at")
	sh.ax("why", "nightly", "--tz", "UTC").fails(t, exitUsage, "--tz")
	sh.ax("why", "none", "--at", "02:30").fails(t, exitNotFound, "")
	require.Equal(t, exitUnsuccess, sh.ax("why", "nightly", "--exit-status").code)
	sh.ax("why", "good", "--exit-status").good(t)
}

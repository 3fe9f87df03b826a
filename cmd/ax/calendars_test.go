package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

func TestCalendarsAreKeptByTheServer(t *testing.T) {
	holidays := api.Calendar{Name: "holidays", Title: "Days off", Dates: []string{"2026-11-01", "2026-12-25"}, UpdatedAt: testNow}
	var body api.CalendarBody
	s := newStage(t, map[string]http.HandlerFunc{
		"GET calendars":          answer(api.Page[api.Calendar]{Items: []api.Calendar{holidays}}),
		"GET calendars/holidays": answer(holidays),
		"PUT calendars/holidays": func(w http.ResponseWriter, r *http.Request) {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				panic(err)
			}
			answer(api.Calendar{Name: "holidays", Dates: body.Dates})(w, r)
		},
		"DELETE calendars/holidays": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	})
	sh := at(s.URL)
	require.Contains(t, sh.ax("calendars", "list").good(t), "holidays  2      2026-12-25  Days off")
	require.Equal(t, "2026-11-01\n2026-12-25\n", sh.ax("calendars", "show", "holidays").good(t))
	file := filepath.Join(t.TempDir(), "dates")
	require.NoError(t, os.WriteFile(file, []byte("# ours\n2026-12-25 # Christmas\n\n2026-12-26"), 0o644))
	require.Equal(t, "calendar holidays has 3 dates\n", sh.ax("calendars", "put", "holidays", "2027-01-01", "--file", file, "--title", "Off").good(t))
	require.Equal(t, api.CalendarBody{Title: "Off", Dates: []string{"2027-01-01", "2026-12-25", "2026-12-26"}}, body)
	sh.ax("calendars", "put", "holidays", "--file", file+"x").fails(t, exitUsage, "no file")
	sh.ax("calendars", "delete", "holidays").fails(t, exitDeclined, "delete calendar holidays with its 2 dates")
	require.Equal(t, "calendar holidays is deleted\n", sh.ax("calendars", "delete", "holidays", "--yes").good(t))
	sh.ax("calendars", "show", "none").fails(t, exitNotFound, "none")
	sh.ax("calendars", "nonsense").fails(t, exitUsage, "no verb")
}

func TestResumeSaysWhatWasMadeUp(t *testing.T) {
	var body api.ResumeBody
	s := newStage(t, map[string]http.HandlerFunc{"POST workflows/w/resume": func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			panic(err)
		}
		resumed := api.ResumedWorkflow{Filled: make([]api.Fire, 2)}
		resumed.Workflow.Workflow = "w"
		answer(resumed)(w, r)
	}})
	require.Equal(t, "w is resumed; 2 runs made up\n", at(s.URL).ax("resume", "w", "--catchup", "latest").good(t))
	require.Equal(t, "latest", body.Catchup)
}

func TestDelayedRunsAreListed(t *testing.T) {
	s := newStage(t, map[string]http.HandlerFunc{
		"GET delayed-runs": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("state") != "waiting" {
				panic("only what waits")
			}
			answer(api.Page[api.DelayedRun]{Items: []api.DelayedRun{{ID: "38h", Workflow: "w", RunAt: testNow, LogicalDate: "2026-11-30", Actor: "user:a"}}})(w, r)
		},
		"POST workflows/w/runs": func(w http.ResponseWriter, r *http.Request) {
			var body api.TriggerBody
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				panic(err)
			}
			answer(api.RunDetail{Run: api.Run{ID: "38h", Workflow: "w", RunAt: body.RunAt}})(w, r)
		},
	})
	require.Contains(t, at(s.URL).ax("runs", "w", "--delayed").good(t), "38h  w         2026-11-30 09:00:00 +00:00  2026-11-30  user:a")
	at(s.URL).ax("runs", "--delayed", "--state", "failed").fails(t, exitUsage, "--delayed")
	require.Equal(t, "run 38h of w starts at 2026-11-30 11:00:00 +00:00: `ax cancel 38h` calls it off\n", at(s.URL).ax("trigger", "w", "--run-at", "2h").good(t))
}

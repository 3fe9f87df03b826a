package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/internal/dbtest"
)

// Everything that people do by hand, against a server with a worker. The step "fix" fails until its file is there.
func TestByHand(t *testing.T) {
	t.Parallel()
	database := "AX_DATABASE_URL=" + dbtest.NewEmptyURL(t)
	server := start(t, []string{database}, readyLine, "server", "--listen", "127.0.0.1:0")
	start(t, []string{database}, "ax works", "worker", "--name", "one", "--allow-commands")
	sh, file := at(server.url), filepath.Join(t.TempDir(), "file")
	definition := `
workflow: test.hands
params: {file: {type: string}}
defaults: {retry: {max_attempts: 1}}
nodes:
  first: {command: [sh, -c, "echo '{\"n\": 1}' > $AX_OUTPUT"]}
  fix: {needs: [first], command: [test, -e, "${{ params.file }}"]}
  last: {needs: [fix], command: ["true"]}
`
	sh.ax("apply", "-f", write(t, definition)).good(t)
	fail := func() string {
		sh.ax("trigger", "test.hands", "-p", "file="+file, "--wait", "--timeout", "60s").fails(t, exitUnsuccess, "did not succeed")
		return sh.run(t).ID
	}
	id := fail()
	require.Contains(t, sh.ax("deadletters", "list", "--workflow", "test.hands").good(t), id+":fix:1")

	sh.ax("rerun", id).fails(t, exitDeclined, "add --yes")
	d := shell{env: sh.env, input: "n\n", person: true}.ax("rerun", id)
	d.fails(t, exitDeclined, "nothing was done")
	require.Regexp(t, `fix +failed +rerun`, d.err)
	require.Regexp(t, `last +upstream_failed +decide again`, d.err)
	var plan api.Plan
	require.NoError(t, json.Unmarshal([]byte(sh.ax("rerun", id, "--dry-run", "-o", "json").good(t)), &plan))
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	shell{env: sh.env, input: "y\n", person: true}.ax("rerun", id, "--wait", "--timeout", "60s").good(t)
	sh.ax("rerun", id, "--plan", plan.Token).fails(t, exitPlanChanged, "nothing was done")
	sh.ax("rerun", id, "--yes").fails(t, exitFailed, "there is nothing to do")
	sh.ax("rerun", id, "first", "--scope", "node", "--yes", "--wait", "--timeout", "60s").good(t)

	require.NoError(t, os.Remove(file))
	id = fail()
	require.Contains(t, sh.ax("mark", id+":fix", "succeeded", "--reason", "seen to", "--yes").good(t), "fix of run "+id+" is succeeded")
	sh.ax("run", id, "--wait", "--timeout", "60s").good(t)
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.Contains(t, sh.ax("replay", id, "first", "--yes", "--wait", "--timeout", "60s").good(t), "replay")
	require.NoError(t, os.Remove(file))
	id = fail()
	sh.ax("deadletters", "replay").fails(t, exitUsage, "--all")
	sh.ax("deadletters", "replay", "x", "--workflow", "y").fails(t, exitUsage, "--all")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.Contains(t, sh.ax("deadletters", "replay", "--all", "--workflow", "test.hands", "--yes").good(t), "rerun")
	sh.ax("run", id, "--wait", "--timeout", "60s").good(t)
	require.NoError(t, os.Remove(file))
	id = fail()
	sh.ax("deadletters", "dismiss", id+":fix:1", "--yes").fails(t, exitUsage, "say why")
	require.Contains(t, sh.ax("deadletters", "dismiss", id+":fix:1", "--reason", "known", "--yes").good(t), "dismissed")
	require.Contains(t, sh.ax("deadletters", "list", "--resolved").good(t), "dismissed")
	sh.ax("hold", id).fails(t, exitFailed, "nothing to do")
	sh.ax("release", id).fails(t, exitFailed, "nothing to do")

	require.Contains(t, sh.ax("trigger", "test.hands", "-p", "file=x", "--only", "last", "--wait", "--timeout", "60s").good(t), "test")
	require.Contains(t, sh.ax("diff", write(t, definition)).good(t), "no difference")
	changed := strings.Replace(definition, `"true"`, `"false"`, 1) + "  new: {command: [\"true\"]}\n"
	require.Contains(t, sh.ax("diff", write(t, changed)).good(t), "+  nodes.new")
	sh.ax("apply", "-f", write(t, changed)).good(t)
	require.Contains(t, sh.ax("diff", "test.hands", "--from", "1").good(t), `nodes.last.command`)
	server.signal(syscall.SIGTERM)
	require.Equal(t, exitDone, server.wait(), server.said())
}

func TestApproveAndHold(t *testing.T) {
	var bodies []string
	note := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(err)
			}
			bodies = append(bodies, string(body))
			answer(v)(w, r)
		}
	}
	node := api.NodeRunDetail{NodeRun: api.NodeRun{Run: "r", Node: "ask", State: "failed"}}
	s := newStage(t, map[string]http.HandlerFunc{"POST node-runs/r:ask/approve": note(node), "POST runs/r/hold": note(someRun()), "POST runs/r/release": note(someRun())})
	require.Equal(t, "ask of run r is failed\n", at(s.URL).ax("approve", "r:ask", "--refuse", "--reason", "no").good(t))
	require.Contains(t, at(s.URL).ax("hold", "r").good(t), "until `ax release 38hcj`")
	at(s.URL).ax("release", "r").good(t)
	require.Equal(t, []string{`{"approved":false,"reason":"no"}`, `{}`, `{}`}, bodies)
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const stepsYAML = `
workflow: test.steps
params:
  gate: {type: string, default: ""}
  code: {type: integer, default: 0}
defaults: {retry: {max_attempts: 1}}
nodes:
  greet:
    command: [sh, -c, "echo hello; echo oops >&2; echo '{\"n\": 1}' > $AX_OUTPUT"]
  gate:
    needs: [greet]
    command: [sh, -c, "test -z \"$1\" && exit 0; echo arrived > \"$1.seen\"; until test -e \"$1\"; do sleep 0.02; done", sh, "${{ params.gate }}"]
  end:
    needs: [gate]
    command: [sh, -c, "exit $1", sh, "${{ params.code }}"]
`

// await waits until a file is there.
func await(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, patience, 10*time.Millisecond, path)
}

func startDev(t *testing.T, data string, more ...string) *daemon {
	t.Helper()
	args := append([]string{"dev", "--data", data, "--listen", "127.0.0.1:0", "--allow-commands"}, more...)
	return start(t, nil, readyLine, args...)
}

// One life of `ax dev`, told by the command line: what it runs, what it shows, that kill -9 in the middle of a run costs
// nothing, and that it stops in order.
func TestDevFromStartToEnd(t *testing.T) {
	t.Parallel()
	data, gate := place(t), filepath.Join(t.TempDir(), "gate")
	dev := startDev(t, data, "--workflows", write(t, stepsYAML))
	sh := at(dev.url)
	require.Contains(t, dev.said(), "created")
	require.Regexp(t, `test\.steps +1 +unchanged`, sh.ax("apply", "-f", write(t, stepsYAML)).good(t))

	out := sh.ax("trigger", "test.steps", "--wait", "--timeout", "60s").good(t)
	require.Regexp(t, `(?m)^greet +succeeded +1 `, out)
	require.Equal(t, "test.steps", sh.run(t, "--state", "succeeded").Workflow)
	id := sh.run(t).ID
	require.Contains(t, sh.ax("logs", id).good(t), "greet | hello\n")
	require.Contains(t, sh.ax("logs", id, "greet", "-f").good(t), "oops\n")
	require.Contains(t, sh.ax("logs", id, "-f").good(t), "greet | hello\n")
	sh.ax("trigger", "test.steps", "--param", "code=3", "--wait", "--timeout", "60s").fails(t, exitUnsuccess, "did not succeed: it is failed")
	sh.ax("trigger", "test.steps", "--param", "code=x").fails(t, exitUsage, "it must be integer")
	sh.ax("trigger", "test.steps", "--param", "nope=1").fails(t, exitUsage, "nope")
	sh.ax("trigger", "nowhere").fails(t, exitNotFound, "nowhere")
	sh.ax("run", "38hcjr44p0002").fails(t, exitNotFound, "")

	sh.ax("trigger", "test.steps", "--param", "gate="+gate, "--wait", "--timeout", "100ms").fails(t, exitStillRuns, "has not ended")
	id = sh.run(t).ID
	await(t, gate+".seen")
	shell{}.ax("dev", "--data", data, "--listen", "127.0.0.1:0").fails(t, exitFailed, "another `ax dev` runs on the data folder")
	dev.signal(syscall.SIGKILL)
	dev.wait()

	dev = startDev(t, data)
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	sh = at(dev.url)
	require.Regexp(t, `(?m)^gate +succeeded +2 `, sh.ax("run", id, "--wait", "--timeout", "60s").good(t), "the attempt that was lost was made anew")
	var view runView
	require.NoError(t, json.Unmarshal([]byte(sh.ax("run", id, "-o", "json").good(t)), &view))
	require.Equal(t, "succeeded", view.State)
	require.JSONEq(t, `{"n": 1}`, string(view.Nodes[0].Output))

	dev.signal(syscall.SIGTERM)
	require.Equal(t, exitDone, dev.wait(), dev.said())
	socket, err := filepath.Glob(filepath.Join(data, "postgres", ".s.PGSQL*"))
	require.NoError(t, err)
	require.Empty(t, socket, "PostgreSQL has ended too")
}

// run is the newest run that a list shows.
func (s shell) run(t *testing.T, args ...string) (r runView) {
	t.Helper()
	var page struct{ Items []runView }
	require.NoError(t, json.Unmarshal([]byte(s.ax(append([]string{"runs", "-o", "json"}, args...)...).good(t)), &page))
	require.NotEmpty(t, page.Items)
	return page.Items[0]
}

// PostgreSQL that dies under `ax dev` is started again, and what ran goes on.
func TestDevOutlivesItsPostgres(t *testing.T) {
	t.Parallel()
	data, gate := place(t), filepath.Join(t.TempDir(), "gate")
	dev := startDev(t, data, "--workflows", write(t, stepsYAML), "--log-level", "error")
	sh := at(dev.url)
	id := strings.TrimSpace(sh.ax("trigger", "test.steps", "--param", "gate="+gate, "-q").good(t))
	await(t, gate+".seen")
	require.NoError(t, syscall.Kill(postgresOf(t, data), syscall.SIGKILL))
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	require.Eventually(t, func() bool { return sh.ax("run", id, "--wait", "--timeout", "60s").code == exitDone }, patience, 100*time.Millisecond)
	dev.signal(syscall.SIGINT)
	require.Equal(t, exitDone, dev.wait(), dev.said())
}

// postgresOf is the process id of the server on a data folder.
func postgresOf(t *testing.T, data string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, "postgres", "pg*", "postmaster.pid"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	var pid int
	require.NoError(t, json.Unmarshal([]byte(strings.SplitN(string(text), "\n", 2)[0]), &pid))
	return pid
}

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/dbtest"
)

// spawn starts a program in a folder, and kills it when the test ends.
func spawn(t *testing.T, dir string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		_ = cmd.Wait()
	})
	return cmd
}

const pythonFolder = "../../workers/python"

// TestPythonWorkerByItself runs its own tests.
func TestPythonWorkerByItself(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("python3", "-m", "unittest", "discover", "-s", "tests")
	cmd.Dir, cmd.Env = pythonFolder, append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// TestPythonWorkerConforms runs the conformance kit against it as a worker that polls, that is pushed to, and that is called.
func TestPythonWorkerConforms(t *testing.T) {
	t.Parallel()
	for name, listen := range map[string][]string{"polls": nil, "is pushed to": {"--listen", "127.0.0.1:0"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit := start(t, nil, "waiting for a worker to register at ", "worker", "conformance")
			spawn(t, pythonFolder, nil, append([]string{"python3", "-m", "ax_worker.conformance", "--server", kit.url}, listen...)...)
			require.Equal(t, exitDone, kit.wait(), kit.said())
		})
	}
	t.Run("is called", func(t *testing.T) {
		t.Parallel()
		cmd := exec.Command("python3", "-m", "ax_worker.conformance", "--listen", "127.0.0.1:0", "--key", "secret")
		cmd.Dir, cmd.Env = pythonFolder, append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
		})
		url, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		said := shell{}.ax("worker", "conformance", "--url", strings.TrimSpace(url), "--key", "secret").good(t)
		require.Equal(t, 10, strings.Count(said, " ok"), said)
		other := shell{}.ax("worker", "conformance", "--url", strings.TrimSpace(url), "--key", "other")
		other.fails(t, exitFailed, "6 of 10 checks failed")
		require.Contains(t, other.out, "it answered 401")
	})
}

// TestWorkersInOtherLanguages runs one run through a Python worker, which is killed in the middle of it, a second one that takes over, and a shell worker.
func TestWorkersInOtherLanguages(t *testing.T) {
	t.Parallel()
	database := "AX_DATABASE_URL=" + dbtest.NewEmptyURL(t)
	server := start(t, []string{database}, readyLine, "server", "--listen", "127.0.0.1:0", "--heartbeat", "300ms", "--misses", "3", "--probe-after", "600ms")
	sh := at(server.url)
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "handlers"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "handlers", "shout"), []byte("#!/bin/sh\necho shouting >&2\njq -c '{said: (.what | ascii_upcase)}'\n"), 0o700))
	file := filepath.Join(folder, "w.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
workflow: languages
nodes:
  slow: {handler: conformance.sleep, inputs: {seconds: "${{ params.seconds }}"}}
  echo: {handler: conformance.echo, needs: [slow], inputs: {what: "hello"}}
  shout: {handler: shout, needs: [echo], inputs: {what: "${{ nodes.echo.output.what }}"}}
params: {seconds: {type: number, default: 0}}
`), 0o600))
	sh.ax("apply", file).good(t)
	python := func(id string) *exec.Cmd {
		return spawn(t, pythonFolder, nil, "python3", "-m", "ax_worker.conformance", "--server", server.url, "--id", id)
	}
	first := python("py-1")
	spawn(t, folder, []string{"AX_SERVER=" + server.url}, "bash", abs(t, "../../workers/shell/worker.sh"), "sh-1", "handlers")
	sh.ax("trigger", "languages", "-p", "seconds=2").good(t)
	running := func(worker string, n int) func() bool {
		return func() bool { return strings.Contains(sh.ax("workers", "show", worker).out, fmt.Sprintf("%d of 4", n)) }
	}
	require.Eventually(t, running("py-1", 1), patience, 50*time.Millisecond)
	require.NoError(t, syscall.Kill(-first.Process.Pid, syscall.SIGKILL))
	python("py-2")
	id := strings.Fields(strings.Split(sh.ax("runs", "-o", "table").good(t), "\n")[1])[0]
	said := sh.ax("run", id, "--wait", "--timeout", "60s").good(t)
	require.Contains(t, said, "succeeded")
	require.Contains(t, sh.ax("run", id, "-o", "json").good(t), "HELLO")
	require.Contains(t, sh.ax("logs", id+":shout").good(t), "shouting")
	require.Eventually(t, func() bool { return !strings.Contains(sh.ax("workers", "list").good(t), "py-1") }, patience, 50*time.Millisecond)
}

func abs(t *testing.T, path string) string {
	t.Helper()
	whole, err := filepath.Abs(path)
	require.NoError(t, err)
	return whole
}

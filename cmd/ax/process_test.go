package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds each wait for a process; a slow machine needs a part of it.
const patience = time.Minute

// daemon is ax as a process of its own that serves or works.
type daemon struct {
	t   *testing.T
	cmd *exec.Cmd
	// url is where it serves; "" for a worker.
	url string
	// ended is closed once it has, in state.
	ended chan struct{}

	mu  sync.Mutex
	log strings.Builder // what it said to anybody
}

// readyLine begins the line that says that everything works.
const readyLine = "ax is ready at "

// endAtOnce keeps programs under the race detector from waiting a second before they end.
const endAtOnce = "GORACE=atexit_sleep_ms=0"

// start starts ax and returns when a line of what it says holds until; its URL is what follows there.
func start(t *testing.T, env []string, until string, args ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, ended: make(chan struct{})}
	self, err := os.Executable()
	require.NoError(t, err)
	d.cmd = exec.Command(self, args...)
	d.cmd.Env = append(os.Environ(), append(env, "BE_AX=1", "AX_CONFIG=/dev/null", endAtOnce)...)
	out, err := d.cmd.StdoutPipe()
	require.NoError(t, err)
	complaints, err := d.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, d.cmd.Start())
	seen := make(chan string, 1)
	var reading sync.WaitGroup
	for _, from := range []io.Reader{out, complaints} {
		reading.Go(func() { d.read(from, until, seen) })
	}
	go func() {
		reading.Wait()
		var status *exec.ExitError
		if err := d.cmd.Wait(); err != nil && !errors.As(err, &status) {
			t.Log(err)
		}
		close(d.ended)
	}()
	t.Cleanup(func() {
		d.signal(syscall.SIGKILL)
		d.wait()
		if t.Failed() {
			t.Logf("ax %v said:\n%s", args, d.said())
		}
	})
	select {
	case line := <-seen:
		_, d.url, _ = strings.Cut(line, until)
	case <-d.ended:
		t.Fatalf("ax %v ended:\n%s", args, d.said())
	case <-time.After(patience):
		t.Fatalf("ax %v never said %q:\n%s", args, until, d.said())
	}
	return d
}

func (d *daemon) read(from io.Reader, until string, seen chan<- string) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		d.mu.Lock()
		d.log.WriteString(lines.Text() + "\n")
		d.mu.Unlock()
		if strings.Contains(lines.Text(), until) {
			select {
			case seen <- lines.Text():
			default:
			}
		}
	}
}

func (d *daemon) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

func (d *daemon) signal(s syscall.Signal) {
	if err := d.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.t.Error(err)
	}
}

// wait returns the exit code of the process once it has ended.
func (d *daemon) wait() int {
	d.t.Helper()
	select {
	case <-d.ended:
		return d.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		d.t.Fatalf("ax did not end:\n%s", d.said())
		return 0
	}
}

// place is a folder that root's PostgreSQL, which runs as another user, can pass.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ax-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// write makes a file with a definition.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "workflow.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

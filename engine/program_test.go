package engine

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
)

// witness is a pipe with a name that programs of a test hold open: began is closed when one has opened and written to it, over
// when no process holds it any more.
type witness struct {
	path        string
	began, over chan struct{}
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	w := &witness{path: filepath.Join(t.TempDir(), "witness"), began: make(chan struct{}), over: make(chan struct{})}
	require.NoError(t, syscall.Mkfifo(w.path, 0o600))
	t.Setenv("WITNESS", w.path)
	go func() {
		defer close(w.over)
		f, err := os.Open(w.path)
		if err != nil {
			t.Errorf("open witness: %v", err)
			return
		}
		_, err = io.ReadFull(f, make([]byte, 1))
		close(w.began)
		if err == nil {
			_, err = io.Copy(io.Discard, f)
		}
		if err != nil {
			t.Errorf("read witness: %v", err)
		}
	}()
	return w
}

// grandchild begins a process that holds the witness and, deaf to requests to end, goes on for a minute.
const grandchild = `(trap "" TERM; exec 9>"$WITNESS"; echo x >&9; exec sleep 60) `

func stopping(t *testing.T, x CommandConfig, text string, w *witness, cause error) (Outcome, string) {
	t.Helper()
	x.Env = []string{"WITNESS"}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		<-w.began
		cancel(cause)
	}()
	return script(text).execute(t, ctx, NewCommand(x))
}

func TestCommandIsStoppedWithAllItStarted(t *testing.T) {
	for name, text := range map[string]string{
		"waiting for it":          grandchild + `& wait`,
		"ending after it began":   grandchild + `& exit 0`,
		"output elsewhere":        grandchild + `>/dev/null 2>&1 & wait`,
		"in the foreground":       grandchild,
		"deaf to requests itself": `trap "" TERM; ` + grandchild + `& while :; do wait; done`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWitness(t)
			out, _ := stopping(t, CommandConfig{Grace: 100 * time.Millisecond}, text, w, errFenced)
			within(t, "the end of the grandchild", w.over)
			if name != "ending after it began" {
				requireError(t, out, progress.System, "interrupted")
			}
		})
	}
}

func TestCommandMayEndByItself(t *testing.T) {
	w := newWitness(t)
	out, log := stopping(t, CommandConfig{Grace: time.Hour}, `trap 'echo "tidied up"; exit 0' TERM; exec 9>"$WITNESS"; echo x >&9; while :; do sleep 0.01; done`, w, errDrained)
	within(t, "the end of the program", w.over)
	requireError(t, out, progress.System, "interrupted")
	require.Contains(t, log, "stdout: tidied up")
}

func TestCommandHasNoGraceWhenOthersTakeOver(t *testing.T) {
	w := newWitness(t)
	out, _ := stopping(t, CommandConfig{Grace: time.Hour}, grandchild+`& wait`, w, errLeaseOver)
	within(t, "the end of the grandchild", w.over)
	requireError(t, out, progress.System, "interrupted")
}

func TestCommandTimesOut(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	out, _ := script("sleep 60").execute(t, ctx, NewCommand(CommandConfig{}))
	requireError(t, out, progress.Timeout, codeTimeout)
	require.Less(t, time.Since(began), 4*time.Second)
}

// What is left of the group holds the output and is killed after the grace; what left the group is given up on.
func TestCommandDoesNotWaitForWhatHoldsItsOutput(t *testing.T) {
	w := newWitness(t)
	x := NewCommand(CommandConfig{Grace: 50 * time.Millisecond, Env: []string{"WITNESS"}})
	out, _ := script(grandchild+`& echo '{"a":1}'`).execute(t, t.Context(), x)
	require.Nil(t, out.Err)
	require.Equal(t, `{"a":1}`, string(out.Output))
	within(t, "the end of what was left", w.over)

	out, log := script(`setsid sleep 3 & echo '{"a":2}'`).execute(t, t.Context(), x)
	require.Nil(t, out.Err)
	require.Equal(t, `{"a":2}`, string(out.Output))
	require.Contains(t, log, "left the command's group")
}

func TestProgramThatDoesNotStartLeavesNothing(t *testing.T) {
	var stdout, stderr bytes.Buffer
	p := &program{cmd: exec.Command("/no/such/program")}
	stopped, err := p.run(t.Context(), &stdout, &stderr)
	require.False(t, stopped)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Empty(t, p.complaints)
	require.Zero(t, stdout.Len()+stderr.Len())
}

package engine

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The test runs itself as a worker that is killed while its command is at work.
func TestCommandDiesWithItsWorker(t *testing.T) {
	if os.Getenv("AX_TEST_WORKER") != "" {
		script(`exec 9>"$WITNESS"; echo x >&9; exec sleep 60`).execute(t, t.Context(), NewCommand(CommandConfig{Env: []string{"WITNESS"}}))
		return
	}
	w := newWitness(t)
	t.Setenv("AX_TEST_WORKER", "yes")
	worker := exec.Command(os.Args[0], "-test.run=^TestCommandDiesWithItsWorker$")
	require.NoError(t, worker.Start())
	within(t, "the command's start", w.began)
	require.NoError(t, worker.Process.Kill())
	require.Error(t, worker.Wait())
	within(t, "the command's end", w.over)
}

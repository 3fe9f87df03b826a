package engine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ax-run/ax/dag/progress"
)

const codeBadCommand = "invalid_command"

// CommandConfig says how command nodes are run; the zero value is good.
type CommandConfig struct {
	// Dir is the folder that a relative program such as ./summarise is in. Zero: the process's working folder.
	Dir string
	// Env names variables of the worker that programs may see, besides PATH, HOME, LANG, LC_ALL, TZ and TMPDIR.
	Env []string
	// Grace is how long a program that was asked to end may take, and how long what it leaves behind may go on writing to its
	// output. Then its whole process group is killed. Zero: 5 s.
	Grace time.Duration
}

// visible are the worker's variables that every program may see.
var visible = []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"}

// NewCommand makes the executor of command nodes. Each attempt is a process group of its own in a folder of its own, without a
// shell in between; neither outlives it.
func NewCommand(config CommandConfig) Executor {
	config.Env = slices.Concat(visible, config.Env)
	if config.Grace == 0 {
		config.Grace = 5 * time.Second
	}
	return &commandExecutor{CommandConfig: config, room: &workroom{}}
}

type commandExecutor struct {
	CommandConfig
	room *workroom
}

// commandWork is dag.Command as it is run.
type commandWork struct {
	Run                []text          `json:"run"`
	Env                map[string]text `json:"env"`
	PermanentExitCodes []int           `json:"permanent_exit_codes"`
}

// Execute implements Executor.
func (x *commandExecutor) Execute(ctx context.Context, t *Task) Outcome {
	var w commandWork
	if err := decodeWork(t.Node.Command, t.Work, &w); err != nil {
		return Outcome{Err: permanent(codeBadCommand, "%v", err)}
	}
	if err := w.check(); err != nil {
		return Outcome{Err: err}
	}
	space, err := newWorkspace(x.room, t.Inputs)
	if err != nil {
		return Outcome{Err: system(codeInternal, "%v", err)}
	}
	out := x.run(ctx, t, &w, space)
	if err := space.remove(); err != nil {
		t.Log.Print("log", err.Error())
	}
	return out
}

// check refuses what no operating system can pass on.
func (w *commandWork) check() *progress.Error {
	if len(w.Run) == 0 || w.Run[0] == "" {
		return permanent(codeBadCommand, "the program to run is empty; look at what the expression in the node's command gives")
	}
	for i, argument := range w.Run {
		if strings.ContainsRune(string(argument), 0) {
			return permanent(codeBadCommand, "run[%d] of the node's command holds the character NUL", i)
		}
	}
	for name, value := range w.Env {
		if strings.ContainsRune(string(value), 0) {
			return permanent(codeBadCommand, "env.%s of the node's command holds the character NUL", name)
		}
	}
	return nil
}

func (x *commandExecutor) run(ctx context.Context, t *Task, w *commandWork, space *workspace) Outcome {
	env := x.environment(t, w, space)
	name := string(w.Run[0])
	path, err := x.find(name, env)
	if err != nil {
		return Outcome{Err: cannotStart(name, err)}
	}
	arguments := make([]string, len(w.Run))
	for i := range w.Run {
		arguments[i] = string(w.Run[i])
	}
	capture := newCapture(t.Log)
	p := &program{cmd: &exec.Cmd{Path: path, Args: arguments, Env: env, Dir: space.work}, grace: x.Grace}
	stopped, err := p.run(ctx, capture.stdout, capture.stderr)
	for _, complaint := range append(p.complaints, capture.close()...) {
		t.Log.Print("log", complaint.Error())
	}
	switch {
	case stopped:
		return Outcome{Err: interrupted(ctx)}
	case err != nil:
		return Outcome{Err: cannotStart(name, err)}
	}
	if failed := w.failure(p.cmd.ProcessState, capture.complaint()); failed != nil {
		return Outcome{Err: failed}
	}
	return output(space, capture)
}

// environment is what the program sees: some of the worker's variables, the node's, and ours, which win.
func (x *commandExecutor) environment(t *Task, w *commandWork, space *workspace) []string {
	var env []string
	for _, name := range x.Env {
		if value, found := os.LookupEnv(name); found {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range w.Env {
		env = append(env, name+"="+string(value))
	}
	shard := t.shardPlace()
	return append(env,
		"AX_EXECUTION_ID="+t.Attempt.ExecutionID(),
		"AX_RUN_ID="+t.Attempt.Run.String(),
		"AX_WORKFLOW="+t.Facts.Workflow,
		"AX_NODE="+t.Attempt.Node,
		"AX_ATTEMPT="+strconv.Itoa(t.Attempt.Number),
		"AX_SHARD_INDEX="+strconv.Itoa(shard.Index),
		"AX_SHARD_TOTAL="+strconv.Itoa(shard.Total),
		"AX_SCHEDULED_AT="+t.Facts.ScheduledAt.UTC().Format(time.RFC3339Nano),
		"AX_LOGICAL_DATE="+t.Facts.LogicalDate,
		"AX_INPUT="+space.input,
		"AX_OUTPUT="+space.output,
	)
}

// failure is the error that an end of the program means; nil is success. What it said last on stderr is its reason.
func (w *commandWork) failure(state *os.ProcessState, said string) *progress.Error {
	if said != "" {
		said = ": " + said
	}
	if sig, killed := signalOf(state); killed {
		return system(fmt.Sprintf("signal_%d", sig), "%s was ended by signal %d (%v)%s", w.Run[0], sig, sig, said)
	}
	exit := state.ExitCode()
	if exit == 0 {
		return nil
	}
	err := system(fmt.Sprintf("exit_%d", exit), "%s ended with exit code %d%s", w.Run[0], exit, said)
	if exit == notExecutable || exit == notFound || slices.Contains(w.PermanentExitCodes, exit) {
		err.Class = progress.Permanent
	}
	return err
}

// Command nightly runs one step of the nightly report as a process of its own: the body
// of a command node. It reads the step's inputs from the file AX_INPUT names, writes its
// output to the file AX_OUTPUT names, and logs to standard output.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/ax-run/ax/examples/nightly-report/report"
)

// The exit codes, by sysexits.h. The workflow declares usage and data as permanent:
// trying again cannot help. Everything else may be tried again.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 64
	exitData   = 65
)

const usage = `usage: nightly STEP
  extract | validate | aggregate REGION | worst | render | publish | cleanup
Inputs are read from the file that AX_INPUT names, the output goes to the file that AX_OUTPUT names.
`

func main() { os.Exit(launch()) }

func launch() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "nightly:", err)
		return exitCode(err)
	}
	return exitDone
}

// usageError is a call that can never work.
type usageError string

func (e usageError) Error() string { return string(e) }

func exitCode(err error) int {
	var bad usageError
	var dirty *report.DataError
	switch {
	case errors.As(err, &bad):
		return exitUsage
	case errors.As(err, &dirty):
		return exitData
	}
	return exitFailed
}

// run does one step, from the file of its inputs to the file of its output.
func run(ctx context.Context, args []string, env func(string) string, log io.Writer) error {
	if len(args) == 1 && (args[0] == "help" || args[0] == "-h" || args[0] == "--help") {
		_, err := io.WriteString(log, usage)
		return err
	}
	do, err := find(args)
	if err != nil {
		return err
	}
	in, out := env("AX_INPUT"), env("AX_OUTPUT")
	if in == "" || out == "" {
		return usageError("AX_INPUT and AX_OUTPUT must name files; ax sets them for a command node")
	}
	input, err := os.ReadFile(in)
	if err != nil {
		return fmt.Errorf("read inputs: %w", err)
	}
	output, err := do(ctx, input)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	fmt.Fprintf(log, "%s%s\n", attempt(env), output)
	return write(out, output)
}

// attempt says in the log which attempt this is, when ax tells.
func attempt(env func(string) string) string {
	if n := env("AX_ATTEMPT"); n != "" {
		return "attempt " + n + ": "
	}
	return ""
}

func write(path string, output any) error {
	text, err := json.Marshal(output)
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

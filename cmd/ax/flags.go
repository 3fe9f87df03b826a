package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// waitLimit is how long something may take, as a flag: never less than nothing, 0 is without end.
type waitLimit time.Duration

// String implements pflag.Value.
func (l *waitLimit) String() string {
	if *l == 0 {
		return "0"
	}
	return time.Duration(*l).String()
}

// Type implements pflag.Value.
func (l *waitLimit) Type() string { return "duration" }

// Set implements pflag.Value.
func (l *waitLimit) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	if d < 0 {
		return errors.New("it is negative: write how long to wait, or 0 for without end")
	}
	*l = waitLimit(d)
	return nil
}

// timeoutFlag is --timeout of the verbs that wait.
func timeoutFlag(cmd *cobra.Command, timeout *time.Duration) {
	cmd.Flags().Var((*waitLimit)(timeout), "timeout", "how long to wait at most; 0 is without end")
}

// versionNumber is the number of a version, as a flag; 0 while none is said.
type versionNumber int

// String implements pflag.Value.
func (v *versionNumber) String() string { return strconv.Itoa(int(*v)) }

// Type implements pflag.Value.
func (v *versionNumber) Type() string { return "int" }

// Set implements pflag.Value.
func (v *versionNumber) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("versions count from 1")
	}
	*v = versionNumber(n)
	return nil
}

// versionFlag is --version of the verbs that take a version's number.
func versionFlag(cmd *cobra.Command, version *int, usage string) {
	cmd.Flags().Var((*versionNumber)(version), "version", usage)
}

// unlessTold is the exit code of input that cannot be read: wrong usage, unless the error knows better.
func unlessTold(err error) int {
	var known *exitError
	if errors.As(err, &known) {
		return known.code
	}
	return exitUsage
}

// whileAllowed reads something that may never come, such as a pipe that nobody writes to, until it is there or the program is told to end.
func whileAllowed(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	var text []byte
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		text, err = read()
	}()
	select {
	case <-done:
		return text, err
	case <-ctx.Done():
		return nil, failure(exitInterrupted, "interrupted")
	}
}

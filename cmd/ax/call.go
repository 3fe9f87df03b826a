package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// terminal is what a call of ax reads and writes, and what it knows of the person there.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	// colour and person say whether out shows colours, and whether somebody sits at in and err.
	colour, person bool
	getenv         func(string) (string, bool)
	now            func() time.Time
	// zone is the one in which instants are shown. It decides nothing.
	zone *time.Location
}

func processTerminal() terminal {
	dumb := os.Getenv("TERM") == "dumb"
	_, plain := os.LookupEnv("NO_COLOR")
	return terminal{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		colour: isTerminal(os.Stdout) && !plain && !dumb,
		person: isTerminal(os.Stdin) && isTerminal(os.Stderr),
		getenv: os.LookupEnv, now: time.Now, zone: time.Local,
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// call is one call of ax.
type call struct {
	terminal
	// began says that the arguments were understood: an error after that is not one of usage.
	began  bool
	output string
	remote remote
}

func newCall(t terminal) *call { return &call{terminal: t} }

// sayf tells a person something that is not data.
func (c *call) sayf(format string, args ...any) {
	fmt.Fprintf(c.err, "ax: "+format+"\n", args...) // nobody is left to tell when it fails
}

// confirm asks before something that cannot be undone. Where nobody can be asked, --yes must have been given.
func (c *call) confirm(ctx context.Context, yes bool, what string) error {
	if yes {
		return nil
	}
	if !c.person {
		return failure(exitDeclined, "%s: nothing was done; add --yes to do it without being asked", what)
	}
	fmt.Fprintf(c.err, "%s? [y/N] ", what)
	answers := make(chan string, 1)
	go func() {
		line, err := bufio.NewReader(c.in).ReadString('\n')
		if err != nil {
			line = ""
		}
		answers <- line
	}()
	select {
	case answer := <-answers:
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return nil
		}
		return failure(exitDeclined, "nothing was done")
	case <-ctx.Done():
		return ctx.Err()
	}
}

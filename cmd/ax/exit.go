package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/ax-run/ax/api"
)

// The exit codes. They are part of the command line's contract.
const (
	exitDone        = 0 // also for an empty list
	exitFailed      = 1
	exitUsage       = 2 // or an invalid definition
	exitNotFound    = 3
	exitForbidden   = 4 // or not signed in
	exitPlanChanged = 5 // nothing was done
	exitUnreachable = 6 // or timed out
	exitDeclined    = 7 // or --yes is needed
	exitStillRuns   = 8 // when the wait ended
	exitUnsuccess   = 9 // finished, and not succeeded
	exitPartly      = 10
	exitInterrupted = 130
)

const exitHelp = `0    done (an empty list too)
1    failed
2    wrong usage, or an invalid definition
3    not found
4    not signed in, or forbidden
5    the plan changed: nothing was done
6    the server or the database cannot be reached, or timed out
7    declined, or --yes is needed
8    still running when the wait ended
9    finished, but not succeeded
10   partly done
130  interrupted
`

// exitError is an error that knows its exit code. Without err there is nothing more to say.
type exitError struct {
	code int
	err  error
}

// Error is what a person reads.
func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// Unwrap returns the error without the code.
func (e *exitError) Unwrap() error { return e.err }

// failure makes an error with an exit code.
func failure(code int, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

// silent ends with an exit code when everything was said already.
func silent(code int) error { return &exitError{code: code} }

// exitCode is the one place that gives errors their exit codes.
func exitCode(err error) int {
	var known *exitError
	var answered *api.Problem
	var away *unreachable
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &known):
		return known.code
	case errors.As(err, &answered) && planChanged(answered):
		return exitPlanChanged
	case errors.As(err, &answered):
		return codeOfStatus(answered.Status)
	case errors.As(err, &away):
		return exitUnreachable
	}
	return exitFailed
}

// planChanged tells whether a plan was not carried out because things are not as it says.
func planChanged(p *api.Problem) bool {
	return slices.ContainsFunc(p.Errors, func(d api.ProblemDetail) bool { return d.Code == "plan_changed" })
}

func codeOfStatus(status int) int {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return exitUsage
	case http.StatusNotFound, http.StatusGone:
		return exitNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return exitForbidden
	case http.StatusPreconditionFailed:
		return exitPlanChanged
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return exitUnreachable
	}
	return exitFailed
}

// finish says what went wrong, once, and returns the exit code.
func (c *call) finish(ctx context.Context, err error) int {
	code := exitCode(err)
	var known *exitError
	switch decided := errors.As(err, &known); {
	case err == nil, decided && known.err == nil:
		return code
	case ctx.Err() != nil && !decided:
		c.sayf("interrupted")
		return exitInterrupted
	}
	c.sayf("%s", explain(err))
	return code
}

// explain is an error in the words of a person: for what a server answered, all that it found wrong.
func explain(err error) string {
	var answered *api.Problem
	if !errors.As(err, &answered) {
		return err.Error()
	}
	text := answered.Detail
	for _, d := range answered.Errors {
		text += "\n  " + detailLine(d)
	}
	if answered.Status >= http.StatusInternalServerError && answered.RequestID != "" {
		text += " (request " + answered.RequestID + ")"
	}
	return text
}

func detailLine(d api.ProblemDetail) string {
	line := d.Message
	if d.Location != "" {
		line = d.Location + ": " + line
	}
	if d.Hint != "" {
		line += " (" + d.Hint + ")"
	}
	return line
}

package expr

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrTooCostly is wrapped when an evaluation exceeds what an expression may
	// cost, hold or give back. It is the same on every try.
	ErrTooCostly = errors.New("the expression does too much work or builds too large a value; do less of it, or do it in a handler")

	// ErrTooSlow is wrapped when an evaluation passes its deadline. A machine
	// under less load may be fast enough.
	ErrTooSlow = fmt.Errorf("the expression took longer than %v; do less of it, or do it in a handler", evalTimeout)
)

// Error is one reason why an expression cannot be compiled. Line and Column
// count from 1, in characters, within Source: the whole string where the
// expression is one of a template's.
type Error struct {
	Source       string
	Line, Column int
	Msg          string
}

// Error says where and why, for people.
func (e *Error) Error() string {
	if strings.Contains(e.Source, "\n") {
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Msg)
	}
	return fmt.Sprintf("%s (column %d of `%s`)", e.Msg, e.Column, clip(e.Source))
}

// EvalError says that an expression failed on the values it met: a node's
// permanent expression_error (S15). ErrTooCostly or ErrTooSlow may be inside;
// an evaluation stopped by its caller's context is not an EvalError.
type EvalError struct {
	Source string
	Err    error
}

// Error names the expression and the reason.
func (e *EvalError) Error() string {
	return fmt.Sprintf("evaluate `%s`: %v", clip(e.Source), e.Err)
}

// Unwrap gives the reason.
func (e *EvalError) Unwrap() error { return e.Err }

// join makes one error of a compilation's problems: nil, the problem itself, or
// all of them, each found by errors.As.
func join(problems []*Error) error {
	if len(problems) == 1 {
		return problems[0]
	}
	all := make([]error, len(problems))
	for i, p := range problems {
		all[i] = p
	}
	return errors.Join(all...)
}

// clip shortens source text for a message.
func clip(s string) string {
	const most = 80
	s = strings.Join(strings.Fields(s), " ")
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

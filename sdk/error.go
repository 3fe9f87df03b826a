package sdk

import "time"

// Error says what to do about a failed attempt (S16). Any other error of a function is a fault that may pass, and the
// node is tried again as its policy says.
type Error struct {
	// Permanent errors are final at once: trying again cannot help.
	Permanent bool
	// Code tells programs what happened; policies and alerts can name it. Empty is "handler_error".
	Code string
	// RetryAfter is the least delay before the next attempt; 0 leaves it to the policy.
	RetryAfter time.Duration
	// Err is what happened.
	Err error
}

// Error is the text of the error inside.
func (e *Error) Error() string {
	if e.Err == nil {
		return "failed"
	}
	return e.Err.Error()
}

// Unwrap returns the error inside.
func (e *Error) Unwrap() error { return e.Err }

// Permanent marks an error as final; nil stays nil.
func Permanent(err error) error { return PermanentCode("", err) }

// PermanentCode is Permanent with a code for programs.
func PermanentCode(code string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Permanent: true, Code: code, Err: err}
}

// RetryAfter asks that the next attempt begin no sooner than d from now, as a server's Retry-After does; nil stays nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &Error{RetryAfter: d, Err: err}
}

// SkipError ends a node as skipped.
type SkipError struct{ Reason string }

// Error says why.
func (e *SkipError) Error() string { return "skipped: " + e.Reason }

// Skip, returned by a function as its error, ends the node as skipped: there was nothing to do. What follows is
// skipped too, unless its trigger rule says otherwise.
func Skip(reason string) error { return &SkipError{Reason: reason} }

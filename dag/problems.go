package dag

import (
	"fmt"
	"slices"
	"strings"
)

// Severity tells what stops a registration from what only deserves a look.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Problem is one thing wrong with a definition, where it stands, and what to do about it.
type Problem struct {
	// Path names the place, such as nodes.clean.retry.delays[2]; empty for the document as a whole.
	Path string `json:"path"`
	// Line and Column count from 1, in characters; 0 where the definition has no text.
	Line     int      `json:"line,omitempty"`
	Column   int      `json:"column,omitempty"`
	Severity Severity `json:"severity"`
	// Code is stable, for programs; the constants of type string named Code… list them.
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Value is the offending scalar, where there is one.
	Value any `json:"value,omitempty"`
}

// String is one line for a person: place, message, hint.
func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d: ", p.Line, p.Column)
	}
	if p.Severity == SeverityWarning {
		b.WriteString("warning: ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

// Problems is everything wrong with one definition, in the order of the text.
type Problems []Problem

// Error lists all problems, one a line. Problems is an error only when Failed.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns the problems as an error, or nil when there is nothing worse than a warning.
func (ps Problems) Err() error {
	if !ps.Failed() {
		return nil
	}
	return ps
}

// Failed reports whether the definition is refused: some problem is more than a warning.
func (ps Problems) Failed() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Severity == SeverityError })
}

// Unparsable reports whether the document could not be read at all, so that nothing is known of the
// definition in it (API 400, where all else is 422).
func (ps Problems) Unparsable() bool { return ps.has(CodeUnparsable) || ps.TooLarge() }

// TooLarge reports whether the document exceeds MaxBytes (API 413).
func (ps Problems) TooLarge() bool { return ps.has(CodeTooLarge) }

func (ps Problems) has(code string) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Code == code })
}

// sorted orders by place in the text, then by path; the order of finding breaks ties, and the note
// that a list was cut short comes last.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if cut := a.Code == CodeTooManyProblems; cut != (b.Code == CodeTooManyProblems) {
			if cut {
				return 1
			}
			return -1
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		if a.Column != b.Column {
			return a.Column - b.Column
		}
		return strings.Compare(a.Path, b.Path)
	})
	return ps
}

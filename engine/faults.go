package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ax-run/ax/dag/progress"
)

// permanent is a fault that the same attempt would meet again.
func permanent(code, format string, args ...any) *progress.Error {
	return &progress.Error{Class: progress.Permanent, Code: code, Message: fmt.Sprintf(format, args...)}
}

// system is a fault of the surroundings: another attempt may go well.
func system(code, format string, args ...any) *progress.Error {
	return &progress.Error{Class: progress.System, Code: code, Message: fmt.Sprintf(format, args...)}
}

// interrupted is the error of a body that stopped because its context ended.
func interrupted(ctx context.Context) *progress.Error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
		return system("interrupted", "interrupted: %v", cause)
	}
	return &progress.Error{Class: progress.Timeout, Code: codeTimeout, Message: "did not end in time"}
}

// text is a string that an expression may have given as any value: then it is the value's JSON, as inside of a longer string.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '"' {
		*t = text(b)
		return nil
	}
	var s string
	err := json.Unmarshal(b, &s)
	*t = text(s)
	return err
}

// decodeWork reads a node's work: as it is written, and over that what its expressions gave.
func decodeWork(written any, evaluated json.RawMessage, into any) error {
	b, err := encodeJSON(written)
	if err != nil {
		return fmt.Errorf("write the node's work: %w", err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("read the node's work: %w", err)
	}
	if len(evaluated) == 0 {
		return nil
	}
	if err := json.Unmarshal(evaluated, into); err != nil {
		return fmt.Errorf("read what the node's expressions gave: %w", err)
	}
	return nil
}

package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
)

// Outcome is how an attempt ended: with Err nil it succeeded, unless Skipped or Accepted says otherwise.
type Outcome struct {
	// Output is one JSON value; empty is null.
	Output json.RawMessage
	// Skipped means the body decided that there was nothing to do; Reason says why.
	Skipped bool
	Reason  string
	Err     *progress.Error
	// Accepted means the attempt goes on elsewhere and its result comes later.
	Accepted *Accepted
}

// Accepted is an attempt that a remote worker has taken on.
type Accepted struct {
	Worker string
	// Left is how long it may still take.
	Left time.Duration
}

// The codes of errors that the engine itself makes.
const (
	codeInvalidOutput = "invalid_output"
	codeTimeout       = "timeout"
	codeQueueTimeout  = "queue_timeout"
	codePanic         = "panic"
	codeExpression    = "expression_error"
	codeLost          = "worker_lost"
	codeDrained       = "worker_stopped"
	codeInternal      = "internal"
	codePoolFull      = "pool_full"
	codeQueueFull     = "queue_full"
)

const (
	// maxOutput is the largest output a node may have (S20).
	maxOutput = 1 << 20
	// maxErrorText is how much of an error's text is kept; the rest is cut and said to be.
	maxErrorText = 16 << 10
)

func invalidOutput(why string) *progress.Error {
	return &progress.Error{Class: progress.Permanent, Code: codeInvalidOutput, Message: "invalid output: " + why}
}

// checked makes an outcome storable: an output that is too large, no JSON or no valid text becomes a clear failure, an
// error text is cut and its unprintable bytes are escaped (S20).
func (o Outcome) checked() Outcome {
	if o.Err != nil {
		err := *o.Err
		err.Message = cleanText(err.Message)
		err.Code = cleanText(err.Code)
		o.Err, o.Output = &err, nil
		return o
	}
	o.Reason = cleanText(o.Reason)
	o.Output = bytes.TrimSpace(o.Output)
	if bytes.Equal(o.Output, []byte("null")) {
		o.Output = nil
	}
	if why := badOutput(o.Output); why != "" {
		return Outcome{Err: invalidOutput(why)}
	}
	return o
}

func badOutput(b []byte) string {
	switch {
	case len(b) == 0:
		return ""
	case len(b) > maxOutput:
		return fmt.Sprintf("%d bytes, at most %d are kept; write it to a file or table and return its place", len(b), maxOutput)
	}
	if err := dag.CheckValue(b); err != nil {
		return err.Error()
	}
	return ""
}

// cleanText cuts a text and escapes what the database or a terminal cannot take.
func cleanText(s string) string {
	cut := ""
	if len(s) > maxErrorText {
		cut = fmt.Sprintf(" … (%d bytes cut)", len(s)-maxErrorText)
		s = s[:maxErrorText]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", `\x00`) + cut
}
